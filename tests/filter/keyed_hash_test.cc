#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/fingerprint.h"

#include "base/mix.h"
#include "filter/hash/mersenne127.h"
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

std::string word_bytes(const std::vector<std::uint64_t>& words) {
  std::string bytes;
  for (const std::uint64_t word : words)
    for (unsigned i = 0; i < 8; ++i)
      bytes.push_back(static_cast<char>(word >> (8 * i)));
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
    EXPECT_EQ((SipHash128<1, 3>(1, 2)(bytes).low), state.v0 ^ state.v1 ^ state.v2 ^ state.v3) << n;
  }
}

// filter/hash/keyed_hash.cc in the plainest arithmetic there is.
class SlowHash {
 public:
  explicit SlowHash(const KeyedHash::Key& key) {
    std::array<std::uint64_t, 2> halves{};
    for (std::size_t i = 0; i < key.size(); ++i)
      halves[i / 8] |= std::uint64_t{key[i]} << (8 * (i % 8));
    for (std::uint64_t counter = 0; counter < 69; ++counter) {
      const Fingerprint block = SipHash128<2, 4>(halves[0], halves[1])(word_bytes({counter}));
      stream_.push_back(block.low);
      stream_.push_back(block.high);
    }
  }

  Fingerprint operator()(const std::string& bytes) const {
    const Uint128 first = chain(bytes, 0) + number(65) + bytes.size();
    const Uint128 second = chain(bytes, 1) + number(66);
    SipState state{low(first), high(first), low(second), high(second)};
    for (int i = 0; i < 4; ++i)
      state.round();
    return {.high = state.v0 ^ state.v1, .low = state.v2 ^ state.v3};
  }

  static Uint128 times(Uint128 a, Uint128 b) {
    Uint128 product = 0;
    for (int bit = 127; bit >= 0; --bit) {
      product = (product + product) % kMersenne127;
      if ((b >> bit & 1) != 0) product = (product + a) % kMersenne127;
    }
    return product;
  }

 private:
  static std::uint64_t low(Uint128 value) { return static_cast<std::uint64_t>(value); }
  static std::uint64_t high(Uint128 value) { return static_cast<std::uint64_t>(value >> 64); }

  Uint128 number(std::size_t block) const {
    return static_cast<Uint128>(stream_[2 * block + 1]) << 64 | stream_[2 * block];
  }

  static std::uint64_t word(const std::string& bytes, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i > 0; --i)
      value = value * 256 + static_cast<std::uint8_t>(bytes[at + i - 1]);
    return value;
  }

  static std::vector<std::uint64_t> words(const std::string& bytes) {
    const std::size_t n = bytes.size();
    if (n == 0) return {0, 0};
    if (n < 4)
      return {word(bytes, 0, 1) + 256 * word(bytes, n / 2, 1) + 65536 * word(bytes, n - 1, 1), 0};
    if (n < 8) return {word(bytes, 0, 4), word(bytes, n - 4, 4)};
    if (n < 16) return {word(bytes, 0, 8), word(bytes, n - 8, 8)};
    std::vector<std::uint64_t> found = {word(bytes, n - 16, 8), word(bytes, n - 8, 8)};
    for (std::size_t at = 0; at + 16 < n; at += 16) {
      found.push_back(word(bytes, at, 8));
      found.push_back(word(bytes, at + 8, 8));
    }
    return found;
  }

  Uint128 nh(const std::string& bytes, std::size_t chain) const {
    Uint128 sum = 0;
    const auto all = words(bytes);
    for (std::size_t i = 0; i < all.size(); i += 2) {
      const std::uint64_t x = all[i] + stream_[i + 2 * chain];
      const std::uint64_t y = all[i + 1] + stream_[i + 1 + 2 * chain];
      sum += static_cast<Uint128>(x) * y;
    }
    return sum;
  }

  Uint128 chain(const std::string& bytes, std::size_t which) const {
    if (bytes.size() <= 1024) return nh(bytes, which);
    const Uint128 multiplier = number(67 + which) / 4;
    Uint128 sum = 1;
    for (std::size_t at = 0; at < bytes.size(); at += 1024) {
      const Uint128 block = nh(bytes.substr(at, 1024), which);
      sum = (times(sum, multiplier) + low(block)) % kMersenne127;
      sum = (times(sum, multiplier) + high(block)) % kMersenne127;
    }
    return sum;
  }

  std::vector<std::uint64_t> stream_;
};

TEST(Mersenne127, AgreesWithDoublingAndAdding) {
  const Uint128 top = kMersenne127;
  const Uint128 limit = static_cast<Uint128>(1) << 126;
  std::vector<std::pair<Uint128, Uint128>> cases = {
      {0, 0}, {top - 1, limit - 1}, {1, limit - 1}, {top - 1, 1}, {top - 1, 0}, {2, limit - 1}};
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    const Uint128 a = static_cast<Uint128>(mix64(4 * i)) << 64 | mix64(4 * i + 1);
    const Uint128 b = static_cast<Uint128>(mix64(4 * i + 2)) << 64 | mix64(4 * i + 3);
    cases.emplace_back(a % top, b >> (2 + i % 100));
  }
  for (const auto& [a, b] : cases)
    for (const std::uint64_t c : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
      EXPECT_TRUE(multiply_add_127(a, b, c) == (SlowHash::times(a, b) + c) % top);
}

TEST(KeyedHash, AgreesWithTheSlowReferenceAtEveryLength) {
  constexpr std::uint64_t kSeed = 20261121;
  SCOPED_TRACE(kSeed);
  std::vector<std::size_t> lengths(301);
  std::iota(lengths.begin(), lengths.end(), 0);
  for (const std::size_t block : {1024u, 2048u, 3072u})
    for (std::size_t n = block - 17; n <= block + 17; ++n)
      lengths.push_back(n);
  for (std::uint64_t round = 0; round < 3; ++round) {
    const KeyedHash hash = KeyedHash::from_seed(kSeed + round);
    const SlowHash slow(hash.key());
    for (const std::size_t n : lengths) {
      // On the heap and no byte longer, so that a sanitizer sees every read beyond the end.
      const std::string bytes = random_bytes(n, kSeed * 3 + round * 10'000 + n);
      const auto exact = std::make_unique<char[]>(n);
      std::copy(bytes.begin(), bytes.end(), exact.get());
      ASSERT_EQ(hash({exact.get(), n}), slow(bytes)) << n;
    }
    for (const unsigned char fill : {0x00, 0xff}) {
      const std::string same(5'000, static_cast<char>(fill));
      ASSERT_EQ(hash(same), slow(same));
    }
  }
}

// Made by a third implementation, with numbers of any size: files name the algorithm, and are
// readable as long as these hold.
TEST(KeyedHash, KnownAnswersOfAlgorithm2) {
  static_assert(KeyedHash::kAlgorithm == 2);
  const KeyedHash hash = KeyedHash::from_key(counting_key());
  EXPECT_EQ(hash({}), (Fingerprint{.high = 0xb766aaaa95ff52ef, .low = 0x1adceaf76b4c06c1}));
  EXPECT_EQ(hash("a"), (Fingerprint{.high = 0x7c3f33431c3dbae3, .low = 0x835a4b286fe17f2a}));
  EXPECT_EQ(hash("http://example.com/"),
            (Fingerprint{.high = 0xb9fc44db73c39bea, .low = 0x1725eee851cd9cb9}));
  EXPECT_EQ(hash("https://en.wikipedia.org/wiki/Bloom_filter"),
            (Fingerprint{.high = 0xf27805efe73af1af, .low = 0x2308950df4cb56a9}));

  const auto message = [](std::size_t n) {
    std::string bytes(n, '\0');
    for (std::size_t i = 0; i < n; ++i)
      bytes[i] = static_cast<char>(7 * i + (i >> 8));
    return bytes;
  };
  EXPECT_EQ(hash(message(1025)),
            (Fingerprint{.high = 0x7004eacd46e2d2bc, .low = 0x696229cfe7bb20ac}));
  EXPECT_EQ(hash(message(2083)),
            (Fingerprint{.high = 0xa318821dab03415b, .low = 0xa3383241b51c5f81}));
  EXPECT_EQ(hash(message(100'000)),
            (Fingerprint{.high = 0x80db327f738a6443, .low = 0x01cf5ce12d5b164b}));

  std::vector<std::size_t> lengths(131);
  std::iota(lengths.begin(), lengths.end(), 0);
  lengths.insert(lengths.end(), {1000, 1024, 1025, 2083, 100'000});
  std::uint64_t checksum = 0;
  for (const std::size_t n : lengths) {
    const Fingerprint value = hash(message(n));
    checksum = checksum * 0x9e3779b97f4a7c15 + value.high;
    checksum = checksum * 0x9e3779b97f4a7c15 + value.low;
  }
  EXPECT_EQ(checksum, 0xd31f838baf8ffe50);
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

TEST(KeyedHash, CopiesAndWhatWasMovedFromStayUsable) {
  KeyedHash hash = KeyedHash::from_seed(3);
  const Fingerprint value = hash("x");
  const KeyedHash copy = hash;
  const KeyedHash moved = std::move(hash);
  EXPECT_EQ(hash("x"), value);  // NOLINT(bugprone-use-after-move): moving is copying
  EXPECT_EQ(copy("x"), value);
  EXPECT_EQ(moved("x"), value);
  hash = KeyedHash::from_seed(4);
  EXPECT_NE(hash("x"), value);
  EXPECT_EQ(copy("x"), value);
}

TEST(KeyedHash, ThreadsMayShareOneAndCopyIt) {
  const KeyedHash hash = KeyedHash::from_seed(5);
  std::array<Fingerprint, 4> values;
  std::vector<std::thread> threads;
  for (auto& value : values)
    threads.emplace_back([&hash, &value] {
      for (int i = 0; i < 1'000; ++i) {
        const KeyedHash own = hash;
        value = i % 2 == 0 ? own("http://example.com/") : hash("http://example.com/");
      }
    });
  for (auto& thread : threads)
    thread.join();
  for (const auto& value : values)
    EXPECT_EQ(value, hash("http://example.com/"));
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
