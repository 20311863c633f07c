#include <numeric>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "trawl/fingerprint.h"

#include "filter/siphash.h"

namespace trawl {
namespace {

// The key 00 01 .. 0f and inputs 00 01 .. of the authors' published test vectors
// (SipHash-2-4 with 128-bit output, `vectors_sip128` of the reference implementation).
constexpr std::uint64_t kVectorKey0 = 0x0706050403020100;
constexpr std::uint64_t kVectorKey1 = 0x0f0e0d0c0b0a0908;

std::string counting_bytes(std::size_t n) {
  std::string bytes(n, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  return bytes;
}

TEST(SipHash128, PublishedVectorsOfTwoFourRounds) {
  const auto hash = [](std::size_t n) {
    return SipHash128<2, 4>(kVectorKey0, kVectorKey1)(counting_bytes(n));
  };
  // a3817f04ba25a8e66df67214c7550293 and da87c1d86b99af44347659119b22fc45, byte by byte.
  EXPECT_EQ(hash(0), (Fingerprint{.high = 0x930255c71472f66d, .low = 0xe6a825ba047f81a3}));
  EXPECT_EQ(hash(1), (Fingerprint{.high = 0x45fc229b11597634, .low = 0x44af996bd8c187da}));
}

TEST(KeyedHash, KeyRoundTripsAndDecidesTheValue) {
  const KeyedHash first = KeyedHash::from_seed(1);
  const KeyedHash again = KeyedHash::from_key(first.key());
  const KeyedHash other = KeyedHash::from_seed(2);
  EXPECT_EQ(first("http://example.com/"), again("http://example.com/"));
  EXPECT_NE(first("http://example.com/"), other("http://example.com/"));
  EXPECT_NE(KeyedHash::random().key(), KeyedHash::random().key());
}

TEST(KeyedHash, EveryLengthAndEveryBitCounts) {
  const KeyedHash hash = KeyedHash::from_seed(7);
  std::set<Fingerprint> seen;
  for (std::size_t n = 0; n <= 64; ++n)
    EXPECT_TRUE(seen.insert(hash(std::string(n, 'a'))).second);
  const std::string text = "http://example.com/path";
  seen.insert(hash(text));
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_TRUE(seen.insert(hash(flipped)).second) << bit;
  }
}

}  // namespace
}  // namespace trawl
