// What a site can do that crafts URLs to fill chosen bits ("The power of evil choices in Bloom
// filters", Gerbet, Kumar, Lauradoux, 2015), and what the keyed hash does about it.
#include <bit>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/blocked_bloom_filter.h"
#include "trawl/sizing.h"

#include "base/mix.h"
#include "filter/blocked/block_masks.h"

namespace trawl {
namespace {

constexpr std::uint64_t kCapacity = 2'000;
constexpr double kRate = 1e-3;
constexpr std::size_t kCrafted = 300;

std::string nth_url(std::uint64_t n) {
  return "http://evil.example/" + std::to_string(n);
}

// URLs that, under `hash`, fall on the first quarter of the blocks and add many bits to them: what
// an attacker who knows the hash can find by trying.
std::vector<std::string> craft(const KeyedHash& hash, const BloomSize& size) {
  const std::uint64_t blocks = size.bits / kBitsPerBlock;
  std::vector<BlockMasks> filled(blocks);
  std::vector<std::string> urls;
  for (std::uint64_t n = 0; urls.size() < kCrafted; ++n) {
    const Fingerprint key = hash(nth_url(n));
    const std::uint64_t block = scale_to(key.high, blocks);
    if (block >= blocks / 4) continue;
    const BlockMasks masks = block_masks(key.low, MaskShape(size.hashes));
    unsigned fresh = 0;
    for (unsigned w = 0; w < kWordsPerBlock; ++w)
      fresh += static_cast<unsigned>(std::popcount(masks[w] & ~filled[block][w]));
    if (fresh + 1 < size.hashes && n < 100'000) continue;  // nearly every bit must be a new one
    for (unsigned w = 0; w < kWordsPerBlock; ++w)
      filled[block][w] |= masks[w];
    urls.push_back(nth_url(n));
  }
  return urls;
}

// How often URLs that nobody inserted are called seen in a filter of `hash` that holds `urls`.
double rate_of(const KeyedHash& hash, const std::vector<std::string>& urls) {
  auto filter = BlockedBloomFilter::create(
                    {.capacity = kCapacity, .false_positive_rate = kRate, .hash = hash})
                    .value();
  for (const auto& url : urls)
    filter.insert(filter.hash()(url));
  constexpr std::uint64_t kProbes = 400'000;
  std::uint64_t found = 0;
  for (std::uint64_t n = 0; n < kProbes; ++n)
    found += filter.contains(filter.hash()("http://good.example/" + std::to_string(n))) ? 1 : 0;
  return static_cast<double>(found) / kProbes;
}

TEST(CraftedKeys, AgainstAnotherKeyTheyDoNoBetterThanChance) {
  constexpr std::uint64_t kSeed = 20261121;
  SCOPED_TRACE(kSeed);
  const BloomSize size = blocked_bloom_size(kCapacity, kRate).value();
  const KeyedHash known = KeyedHash::from_seed(kSeed);
  const std::vector<std::string> crafted = craft(known, size);
  std::vector<std::string> ordinary;
  for (std::uint64_t n = 0; n < kCrafted; ++n)
    ordinary.push_back("http://ordinary.example/" + std::to_string(n));

  const double by_chance = rate_of(known, ordinary);
  const double against_known = rate_of(known, crafted);
  EXPECT_GT(against_known, 10 * by_chance) << "the attack must work where the key is known";
  for (std::uint64_t other = 1; other <= 5; ++other) {
    const KeyedHash secret = KeyedHash::from_seed(kSeed + other);
    const double chance = rate_of(secret, ordinary);
    // Rates of 1e-5 or less over 400,000 probes: a few hits. Ten times a handful is the bound.
    EXPECT_LE(rate_of(secret, crafted), std::max(3 * chance, 3e-5)) << other;
  }
}

TEST(CraftedKeys, TheKeyIsRandomPerFilterAndKept) {
  const auto one = BlockedBloomFilter::create({.capacity = 10}).value();
  const auto another = BlockedBloomFilter::create({.capacity = 10}).value();
  EXPECT_NE(one.hash().key(), another.hash().key());
  const KeyedHash chosen = KeyedHash::from_seed(7);
  const auto mine = BlockedBloomFilter::create({.capacity = 10, .hash = chosen}).value();
  EXPECT_EQ(mine.hash().key(), chosen.key());
}

}  // namespace
}  // namespace trawl
