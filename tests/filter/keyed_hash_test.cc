#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/fingerprint.h"

#include "base/mix.h"
#include "filter/hash/siphash.h"

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

KeyedHash::Key counting_key() {
  KeyedHash::Key key;
  std::iota(key.begin(), key.end(), std::uint8_t{0});
  return key;
}

std::string random_bytes(std::size_t n, std::uint64_t seed) {
  std::string bytes(n, '\0');
  for (std::size_t i = 0; i < n; ++i)
    bytes[i] = static_cast<char>(mix64(mix64(seed) + i));
  return bytes;
}

TEST(SipHash128, PublishedVectorsOfTwoFourRounds) {
  const auto hash = [](std::size_t n) {
    return SipHash128<2, 4>(kVectorKey0, kVectorKey1)(counting_bytes(n));
  };
  // a3817f04ba25a8e66df67214c7550293 and so on, byte by byte.
  EXPECT_EQ(hash(0), (Fingerprint{.high = 0x930255c71472f66d, .low = 0xe6a825ba047f81a3}));
  EXPECT_EQ(hash(1), (Fingerprint{.high = 0x45fc229b11597634, .low = 0x44af996bd8c187da}));
  EXPECT_EQ(hash(2), (Fingerprint{.high = 0xe4ff0af6de8ba3fc, .low = 0xc75da4a48d227781}));
  EXPECT_EQ(hash(3), (Fingerprint{.high = 0x51ed8529b0b6335f, .low = 0x4ea967520cb6709c}));
  EXPECT_EQ(hash(15), (Fingerprint{.high = 0xd9c3cf970fec087e, .low = 0x11a8b03399e99354}));
  EXPECT_EQ(hash(63), (Fingerprint{.high = 0x7cbd3f979a063e50, .low = 0x4a83502f77d15051}));
}

// The same function, a byte at a time: the fast one reads the last bytes as a word.
TEST(SipHash128, EveryLengthAgreesWithReadingByteByByte) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  for (std::size_t n = 0; n <= 300; ++n) {
    const std::string bytes = random_bytes(n, kSeed + n);
    std::string padded = bytes + std::string(7 - n % 8, '\0') + static_cast<char>(n);
    SipState state{1 ^ 0x736f6d6570736575, 2 ^ 0x646f72616e646f6d ^ 0xee, 1 ^ 0x6c7967656e657261,
                   2 ^ 0x7465646279746573};
    for (std::size_t at = 0; at < padded.size(); at += 8) {
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < 8; ++i)
        word |= std::uint64_t{static_cast<std::uint8_t>(padded[at + i])} << (8 * i);
      state.v3 ^= word;
      state.rounds<1>();
      state.v0 ^= word;
    }
    state.v2 ^= 0xee;
    state.rounds<3>();
    // On the heap and no byte longer, so that a sanitizer sees every read beyond the end.
    const auto exact = std::make_unique<char[]>(n);
    std::copy(bytes.begin(), bytes.end(), exact.get());
    EXPECT_EQ((SipHash128<1, 3>(1, 2)({exact.get(), n}).low),
              state.v0 ^ state.v1 ^ state.v2 ^ state.v3)
        << n;
  }
}

std::string hex(const Fingerprint& value) {
  std::string text;
  for (const std::uint64_t half : {value.low, value.high})
    for (unsigned i = 0; i < 8; ++i)
      text += fmt::format("{:02x}", static_cast<std::uint8_t>(half >> (8 * i)));
  return text;
}

// As OpenSSL 3.0 has it: `openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f
// -macopt size:16 -macopt c-rounds:1 -macopt d-rounds:3 -in FILE SIPHASH`. Files name the
// algorithm, and are readable as long as these hold.
TEST(KeyedHash, IsSipHash13With128BitsAsOpenSslHasIt) {
  static_assert(KeyedHash::kAlgorithm == 1);
  const KeyedHash hash = KeyedHash::from_key(counting_key());
  const std::pair<std::size_t, const char*> counting[] = {
      {0, "e77ebcb22788a5befd62db6add303001"},  {1, "fc6f370460d3eda85e0573cc2b2ff063"},
      {2, "75787f090569839b855bc9548c6aea95"},  {3, "6bc5ccfa1edcf79f4823187712ebd743"},
      {7, "1084b923f2aae0c3a62f2ec80848ab77"},  {8, "aa12fee1d5e3dab4724f16ab35f9c799"},
      {9, "81ddb8042cf33994f4720e0094137c42"},  {15, "c17e5505b2bd526c2921cdec1e7e0109"},
      {16, "d0a8d95715518eebb513b0f83d9e1793"}, {44, "cd91396c44af4f5185578d9dd9803f0a"},
      {63, "4c5800e34efe426f079f6b0aa75260ad"},
  };
  for (const auto& [length, value] : counting)
    EXPECT_EQ(hex(hash(counting_bytes(length))), value) << length;

  EXPECT_EQ(hex(hash("a")), "083c37de637c4fa8492fd75d37ae8a67");
  EXPECT_EQ(hex(hash("http://example.com/")), "020621a1741cbe728dcf0d5cbdbffb01");
  EXPECT_EQ(hex(hash("https://en.wikipedia.org/wiki/Bloom_filter")),
            "5329e25f5d70671bb1b3da8711ee2539");

  // The length counts modulo 256 in the last word.
  const std::pair<std::size_t, const char*> longer[] = {
      {255, "de4874848b000e1ff4e6b2132a93506d"},     {256, "0d56a2901b3cf9c35d801ed8397d8d0c"},
      {1025, "a2a66c6821c09092008cac8aa0d55ce6"},    {2083, "99867412343255f6a4017c94cabae1dd"},
      {100'000, "10501155bc9eab5a9252c5475e5ac226"},
  };
  for (const auto& [length, value] : longer) {
    std::string bytes(length, '\0');
    for (std::size_t i = 0; i < length; ++i)
      bytes[i] = static_cast<char>(7 * i + (i >> 8));
    EXPECT_EQ(hex(hash(bytes)), value) << length;
  }
}

TEST(KeyedHash, KeyRoundTripsAndDecidesTheValue) {
  const KeyedHash first = KeyedHash::from_seed(1);
  const KeyedHash again = KeyedHash::from_key(first.key());
  const KeyedHash other = KeyedHash::from_seed(2);
  EXPECT_EQ(KeyedHash::from_key(counting_key()).key(), counting_key());
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_EQ(first("http://example.com/"), again("http://example.com/"));
  EXPECT_NE(first("http://example.com/"), other("http://example.com/"));
  EXPECT_NE(KeyedHash::random(), KeyedHash::random());
}

TEST(KeyedHash, EveryBitOfTheKeyCounts) {
  std::set<Fingerprint> seen{KeyedHash::from_key(counting_key())("http://example.com/")};
  for (std::size_t bit = 0; bit < 128; ++bit) {
    KeyedHash::Key key = counting_key();
    key[bit / 8] = static_cast<std::uint8_t>(key[bit / 8] ^ (1u << (bit % 8)));
    EXPECT_TRUE(seen.insert(KeyedHash::from_key(key)("http://example.com/")).second) << bit;
  }
}

TEST(KeyedHash, ASeedGivesTheSameKeyEverywhere) {
  EXPECT_EQ(KeyedHash::from_seed(1), KeyedHash::from_seed(1));
  const auto key = KeyedHash::from_seed(1).key();
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(key[i], static_cast<std::uint8_t>(mix64(1) >> (8 * i))) << i;
    EXPECT_EQ(key[8 + i], static_cast<std::uint8_t>(mix64(0x9e3779b97f4a7c16) >> (8 * i))) << i;
  }
}

TEST(KeyedHash, ACopyStaysWhatItWas) {
  KeyedHash hash = KeyedHash::from_seed(3);
  const Fingerprint value = hash("x");
  const KeyedHash copy = hash;
  hash = KeyedHash::from_seed(4);
  EXPECT_NE(hash("x"), value);
  EXPECT_EQ(copy("x"), value);
}

TEST(KeyedHash, WhereTheBytesLieDoesNotMatter) {
  const KeyedHash hash = KeyedHash::from_seed(6);
  const std::string bytes = random_bytes(3'000, 1);
  for (const std::size_t n : {1u, 9u, 40u, 1'024u, 3'000u}) {
    const Fingerprint value = hash(std::string_view(bytes).substr(0, n));
    for (std::size_t shift = 0; shift < 16; ++shift) {
      const std::string moved = std::string(shift, '#') + bytes;
      EXPECT_EQ(hash(std::string_view(moved).substr(shift, n)), value) << n << ' ' << shift;
    }
  }
}

TEST(KeyedHash, EveryLengthAndEveryBitCounts) {
  const KeyedHash hash = KeyedHash::from_seed(7);
  std::set<Fingerprint> seen;
  for (std::size_t n = 0; n <= 3'000; ++n)
    EXPECT_TRUE(seen.insert(hash(std::string(n, 'a'))).second) << n;
  for (const std::size_t n : {1u, 3u, 5u, 8u, 12u, 16u, 23u, 44u, 130u, 1'024u, 1'030u, 2'083u}) {
    std::string text = random_bytes(n, n);
    EXPECT_TRUE(seen.insert(hash(text)).second) << n;
    for (std::size_t bit = 0; bit < n * 8; ++bit) {
      const char kept = text[bit / 8];
      text[bit / 8] = static_cast<char>(kept ^ (1 << (bit % 8)));
      EXPECT_TRUE(seen.insert(hash(text)).second) << n << ' ' << bit;
      text[bit / 8] = kept;
    }
  }
}

TEST(KeyedHash, MegabytesDifferByOneByteAnywhere) {
  const KeyedHash hash = KeyedHash::from_seed(8);
  std::string bytes((1 << 20) + 5, '\0');
  std::set<Fingerprint> seen{hash(bytes)};
  for (std::size_t at = 0; at < bytes.size(); at += 51'237) {
    bytes[at] = 1;
    EXPECT_TRUE(seen.insert(hash(bytes)).second) << at;
    bytes[at] = 0;
  }
  bytes.push_back('\0');
  EXPECT_TRUE(seen.insert(hash(bytes)).second);
}
}  // namespace
}  // namespace trawl
