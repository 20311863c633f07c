#include "filter/blocked/block_sample.h"

#include <bit>
#include <cassert>
#include <cmath>

#include "filter/blocked/block_masks.h"

namespace trawl {

// A bit of a key is at a random place of its word, so the probability that it is set is the word's
// share of set bits. The words with one more bit begin at each word equally often.
void BlockSampler::add(const std::atomic<std::uint64_t>* block) noexcept {
  ++blocks_;
  if (block == nullptr) return;
  std::array<double, kWordsPerBlock> filled;
  double all_rounds = 1;
  for (unsigned w = 0; w < kWordsPerBlock; ++w) {
    const int set = std::popcount(block[w].load(std::memory_order_relaxed));
    set_ += static_cast<std::uint64_t>(set);
    filled[w] = static_cast<double>(set) / kBitsPerWord;
    for (unsigned r = 0; r < rounds_; ++r)
      all_rounds *= filled[w];
  }
  double last_round = 0;
  for (unsigned r = 0; r < kWordsPerBlock; ++r) {
    double chance = 1;
    for (unsigned i = 0; i < extra_; ++i)
      chance *= filled[(r + i) % kWordsPerBlock];
    last_round += chance / kWordsPerBlock;
  }
  rates_ += all_rounds * last_round;
}

BlockSample BlockSampler::result() const noexcept {
  if (blocks_ == 0) return {};
  assert(set_ <= blocks_ * kBitsPerBlock);
  const auto blocks = static_cast<double>(blocks_);
  return {.fill = static_cast<double>(set_) / (blocks * kBitsPerBlock), .rate = rates_ / blocks};
}

namespace {

// The probability that a key sets a given bit of its block.
double chance_to_set(unsigned hashes) {
  const MaskShape shape(hashes);
  return 1 - std::pow(1 - 1.0 / kBitsPerWord, shape.rounds) *
                 (1 - static_cast<double>(shape.extra) / kBitsPerBlock);
}

}  // namespace

double blocked_fill_with_keys(const SnapshotSection& section) {
  const double blocks = static_cast<double>(section.words) / kWordsPerBlock;
  const double load = static_cast<double>(section.inserted) / blocks;
  return 1 - std::exp(-load * chance_to_set(section.hashes));
}

double blocked_keys_with_fill(const SnapshotSection& section, double filled) {
  assert(filled >= 0 && filled <= 1 && section.hashes > 0);
  // With a mean load of x keys a block, the share exp(-x chance_to_set) of the bits remains unset.
  const double blocks_in_all = static_cast<double>(section.words) / kWordsPerBlock;
  const double bits = static_cast<double>(section.words) * kBitsPerWord;
  const double rest = std::max(1 - filled, 1 / bits);
  return -std::log(rest) / chance_to_set(section.hashes) * blocks_in_all;
}

FilterStats blocked_stats(const SnapshotSection& section, const BlockSample& sample) {
  const auto blocks = static_cast<double>(section.words) / kWordsPerBlock;
  const auto keys = static_cast<double>(section.inserted);
  const auto [rate, lost] = BlockRate::of(section.hashes).after_admitting(keys / blocks);
  FilterStats stats{.capacity = section.capacity,
                    .target_rate = section.target_rate,
                    .inserted = section.inserted,
                    .memory_bytes = section.words * sizeof(std::uint64_t),
                    .hashes = section.hashes,
                    .fill = sample.fill,
                    .current_rate = rate,
                    .expected_false_positives = lost * blocks};
  // A small rate comes from a few blocks, which a sample may miss; there the model is accurate.
  constexpr double kHigh = 0.01;
  if (section.inserted <= section.capacity || std::max(rate, sample.rate) < kHigh) return stats;
  stats.current_rate = sample.rate;
  // A smaller loss would be a small difference of large numbers.
  constexpr double kManyLost = 0.5;
  if (std::max(rate, sample.rate) > kManyLost) {
    stats.expected_false_positives =
        std::max(0.0, blocked_keys_with_fill(section, sample.fill) - keys);
  }
  return stats;
}

}  // namespace trawl
