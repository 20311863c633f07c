// Whether the keyed hash's values look random in every part that filters use of them, over inputs
// as alike as an attacker could choose them without the key. All keys and inputs come from seeds,
// so that a run repeats; the bounds are so wide that a random function fails one in 10^8 times.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/fingerprint.h"

#include "base/mix.h"

namespace trawl {
namespace {

std::string bytes_of_words(const std::vector<std::uint64_t>& words) {
  std::string bytes;
  for (const std::uint64_t word : words)
    for (unsigned i = 0; i < 8; ++i)
      bytes.push_back(static_cast<char>(word >> (8 * i)));
  return bytes;
}

// How often each of the 128 bits of the value flips as bit `bit` of `text` does, over keys.
std::array<unsigned, 128> count_flips(const std::vector<KeyedHash>& keys, std::string text,
                                      std::size_t bit) {
  std::array<unsigned, 128> flips{};
  std::string flipped = text;
  flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
  for (const KeyedHash& hash : keys) {
    const Fingerprint before = hash(text), after = hash(flipped);
    for (unsigned i = 0; i < 64; ++i) {
      flips[i] += static_cast<unsigned>((before.low ^ after.low) >> i & 1);
      flips[64 + i] += static_cast<unsigned>((before.high ^ after.high) >> i & 1);
    }
  }
  return flips;
}

TEST(KeyedHashSpread, EachInputBitFlipsEachOutputBitHalfTheTime) {
  constexpr std::uint64_t kSeed = 20261121;
  constexpr unsigned kKeys = 2'048;
  SCOPED_TRACE(kSeed);
  std::vector<KeyedHash> keys;
  for (std::uint64_t n = 0; n < kKeys; ++n)
    keys.push_back(KeyedHash::from_seed(kSeed + n));
  const double deviation = std::sqrt(kKeys * 0.25);
  for (const std::size_t length : {1u, 3u, 6u, 11u, 16u, 25u, 40u}) {
    double squares = 0;
    for (std::size_t bit = 0; bit < 8 * length; ++bit) {
      for (const unsigned count : count_flips(keys, std::string(length, 'a'), bit)) {
        const double z = (count - kKeys * 0.5) / deviation;
        EXPECT_LT(std::abs(z), 6.5) << length << " bytes, bit " << bit;
        squares += z * z;
      }
    }
    const double cells = static_cast<double>(8 * length * 128);
    EXPECT_NEAR(squares / cells, 1.0, 6 * std::sqrt(2 / cells)) << length;
  }
}

// Input that spans blocks goes another way.
TEST(KeyedHashSpread, BitsOfLongInputFlipHalfOfTheOutput) {
  constexpr std::uint64_t kSeed = 31;
  constexpr unsigned kKeys = 1'024;
  SCOPED_TRACE(kSeed);
  std::vector<KeyedHash> keys;
  for (std::uint64_t n = 0; n < kKeys; ++n)
    keys.push_back(KeyedHash::from_seed(kSeed + n));
  const double deviation = std::sqrt(kKeys * 0.25);
  for (const std::size_t bit : {0u, 63u, 8191u, 8192u, 8255u, 12'000u, 16'383u, 16'391u, 16'663u})
    for (const unsigned count : count_flips(keys, std::string(2'083, 'a'), bit))
      EXPECT_LT(std::abs(count - kKeys * 0.5) / deviation, 6.5) << bit;
}

struct Family {
  const char* name;
  std::vector<std::string> members;
};

std::vector<Family> words_families() {
  std::vector<Family> families;
  for (const std::size_t word : {0u, 1u, 3u, 6u, 7u}) {
    Family counter{"a counter in one word", {}};
    Family top{"a counter in a word's highest bits", {}};
    for (std::uint64_t n = 0; n < 20'000; ++n) {
      std::vector<std::uint64_t> words(8, 0x2f2f2f2f2f2f2f2f);
      words[word] = n;
      counter.members.push_back(bytes_of_words(words));
      words[word] = n << 49;
      top.members.push_back(bytes_of_words(words));
    }
    families.push_back(std::move(counter));
    families.push_back(std::move(top));
  }

  Family swapped{"every order of eight words", {}};
  std::vector<std::uint64_t> order(8);
  std::iota(order.begin(), order.end(), std::uint64_t{1});
  do
    swapped.members.push_back(bytes_of_words(order));
  while (std::next_permutation(order.begin(), order.end()));
  families.push_back(std::move(swapped));

  Family signs{"any of the highest bits of 14 words", {}};
  Family scaled{"pairs of words (n, -n) and (n, n + 1)", {}};
  for (std::uint64_t n = 0; n < 1 << 14; ++n) {
    std::vector<std::uint64_t> words(14, 0);
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = (n >> i & 1) << 63;
    signs.members.push_back(bytes_of_words(words));
    scaled.members.push_back(bytes_of_words({n, ~n, 5, 7}));
    scaled.members.push_back(bytes_of_words({n, n + 1, 5, 7}));
  }
  families.push_back(std::move(signs));
  families.push_back(std::move(scaled));
  return families;
}

std::vector<Family> text_families() {
  std::vector<Family> families;
  Family zeros{"runs of zero bytes", {}};
  Family repeated{"one text again and again", {}};
  Family prefix{"the same end after more and more", {}};
  Family suffix{"the same start before one byte's run", {}};
  Family halves{"a run of one byte, then of another", {}};
  const std::string unit = "0123456789abcdef";
  for (std::size_t n = 0; n < 4'096; ++n) {
    zeros.members.emplace_back(n, '\0');
    std::string text;
    for (std::size_t i = 0; i <= n / 8; ++i)
      text += unit;
    repeated.members.push_back(text + std::string(n % 8, '0'));
    prefix.members.push_back(std::string(n, '/') + "http://example.com/");
    suffix.members.push_back("http://example.com/" + std::string(n, '/'));
    halves.members.push_back(std::string(n, 'a') + std::string(4'096 - n, 'b'));
  }
  families.push_back(std::move(zeros));
  families.push_back(std::move(repeated));
  families.push_back(std::move(prefix));
  families.push_back(std::move(suffix));
  families.push_back(std::move(halves));

  Family urls{"numbered pages", {}};
  Family blocks{"orders of blocks of 1,024 bytes", {}};
  for (std::size_t n = 0; n < 40'000; ++n)
    urls.members.push_back("https://evil.example/page/" + std::to_string(n) + ".html");
  std::string order = "aaabbcd";
  do {
    std::string text;
    for (const char letter : order)
      text += std::string(1'024, letter);
    blocks.members.push_back(std::move(text));
  } while (std::next_permutation(order.begin(), order.end()));
  families.push_back(std::move(urls));
  families.push_back(std::move(blocks));
  return families;
}

std::size_t equal_pairs(std::vector<std::uint32_t>& values) {
  std::sort(values.begin(), values.end());
  std::size_t pairs = 0;
  for (std::size_t i = 1, run = 0; i < values.size(); ++i) {
    run = values[i] == values[i - 1] ? run + 1 : 0;
    pairs += run;
  }
  return pairs;
}

void expect_no_more_collisions_than_chance(const Family& family, std::uint64_t seed) {
  SCOPED_TRACE(family.name);
  SCOPED_TRACE(seed);
  const KeyedHash hash = KeyedHash::from_seed(seed);
  std::vector<Fingerprint> values;
  for (const std::string& member : family.members)
    values.push_back(hash(member));
  using Part = std::uint32_t (*)(const Fingerprint&);
  const Part parts[] = {
      [](const Fingerprint& value) { return static_cast<std::uint32_t>(value.low); },
      [](const Fingerprint& value) { return static_cast<std::uint32_t>(value.low >> 32); },
      [](const Fingerprint& value) { return static_cast<std::uint32_t>(value.high); },
      [](const Fingerprint& value) { return static_cast<std::uint32_t>(value.high >> 32); },
      [](const Fingerprint& value) { return static_cast<std::uint32_t>(value.high ^ value.low); },
  };
  // At most 0.2 pairs are to be expected, so that five come by chance once in 10^6 times.
  for (std::size_t i = 0; i < std::size(parts); ++i) {
    std::vector<std::uint32_t> cut;
    for (const Fingerprint& value : values)
      cut.push_back(parts[i](value));
    EXPECT_LE(equal_pairs(cut), 5u) << "part " << i;
  }
  std::sort(values.begin(), values.end());
  EXPECT_EQ(std::adjacent_find(values.begin(), values.end()), values.end());
}

TEST(KeyedHashSpread, AlikeWordsCollideNoMoreThanChance) {
  for (const Family& family : words_families())
    for (const std::uint64_t seed : {1u, 2u, 3u})
      expect_no_more_collisions_than_chance(family, seed);
}

TEST(KeyedHashSpread, AlikeTextsCollideNoMoreThanChance) {
  for (const Family& family : text_families())
    for (const std::uint64_t seed : {1u, 2u, 3u})
      expect_no_more_collisions_than_chance(family, seed);
}

// Pearson's statistic of counts that should be equal, in deviations from what is expected of it.
double chi_square_excess(const std::vector<std::uint64_t>& counts) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), 0ull));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (sum - freedom) / std::sqrt(2 * freedom);
}

// Too even is as wrong as too uneven; 14 leaves room for the long tail of few degrees of freedom.
void expect_even(const std::vector<std::uint64_t>& counts) {
  const double excess = chi_square_excess(counts);
  EXPECT_LT(excess, counts.size() > 50 ? 7.0 : 14.0);
  EXPECT_GT(excess, -6.0);
}

// What a filter makes of a fingerprint: a block from the high half, places from the low one.
TEST(KeyedHashSpread, BlocksAndPlacesAreEvenForNumberedUrls) {
  constexpr std::uint64_t kUrls = 100'000;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    const KeyedHash hash = KeyedHash::from_seed(seed);
    std::vector<Fingerprint> values;
    for (std::uint64_t n = 0; n < kUrls; ++n)
      values.push_back(hash("http://evil.example/" + std::to_string(n)));
    for (const std::uint64_t blocks : {2u, 3u, 7u, 10u, 64u, 100u, 1'000u, 1'021u}) {
      SCOPED_TRACE(blocks);
      std::vector<std::uint64_t> counts(blocks);
      for (const Fingerprint& value : values)
        ++counts[scale_to(value.high, blocks)];
      expect_even(counts);
    }
    for (unsigned shift = 0; shift <= 58; ++shift) {
      SCOPED_TRACE(shift);
      std::vector<std::uint64_t> places(64), beside_block(16 * 16);
      for (const Fingerprint& value : values) {
        ++places[value.low >> shift & 63];
        ++beside_block[scale_to(value.high, 16) * 16 + (value.low >> shift & 15)];
      }
      expect_even(places);
      expect_even(beside_block);
    }
  }
}

}  // namespace
}  // namespace trawl
