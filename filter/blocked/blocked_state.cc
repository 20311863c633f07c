#include "filter/blocked/blocked_state.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "filter/bit_merge.h"
#include "filter/mix.h"

namespace trawl {

Result<std::unique_ptr<BlockedBloomFilter::State>> BlockedBloomFilter::State::of_section(
    const SnapshotHeader& header, std::size_t index, const std::string& path) {
  const SnapshotSection& section = header.sections[index];
  if (section.hashes == 0 || section.hashes > kMaxHashes || section.words % kWordsPerBlock != 0)
    return damaged_snapshot(path, "its parameters are impossible");
  auto words = WordArray::allocate(section.words, path);
  if (!words) return tl::unexpected(words.error());
  auto state = std::make_unique<State>(std::move(*words), section.hashes, section.capacity,
                                       section.target_rate, KeyedHash::from_key(header.hash_key));
  state->inserted.add(section.inserted);
  return state;
}

SnapshotSection BlockedBloomFilter::State::section() const {
  return {.words = words.size(),
          .capacity = capacity,
          .target_rate = target_rate,
          .inserted = inserted.sum(),
          .hashes = hashes};
}

Result<void> BlockedBloomFilter::State::merge(const State& other) {
  if (auto same = check_mergeable(*this, other); !same) return same;
  inserted.reset(keys_with_fill(merge_bits(words, other.words, locks.view(), kWordsPerBlock)));
  return {};
}

std::uint64_t BlockedBloomFilter::State::keys_with_fill(double filled) const {
  // A key leaves a given bit of its block unset with probability `unset`, so that of keys that fall
  // on blocks with mean load x a share of exp(-x (1 - unset)) of the bits remains unset.
  const MaskShape shape(hashes);
  const double unset = std::pow(1 - 1.0 / kBitsPerWord, shape.rounds) *
                       (1 - static_cast<double>(shape.extra) / kBitsPerBlock);
  const double blocks_in_all = static_cast<double>(words.size()) / kWordsPerBlock;
  const double bits = static_cast<double>(words.size()) * kBitsPerWord;
  const double rest = std::max(1 - filled, 1 / bits);
  return static_cast<std::uint64_t>(std::round(-std::log(rest) / (1 - unset) * blocks_in_all));
}

BlockRate::Admission BlockedBloomFilter::State::after_admitting(double keys) const {
  auto [now, lost] = rate.after_admitting(load_of(keys));
  return {.rate = now, .lost = lost * static_cast<double>(words.size()) / kWordsPerBlock};
}

double BlockedBloomFilter::State::fill() const noexcept {
  constexpr std::uint64_t kSampledBlocks = 1 << 13;
  const std::uint64_t all = words.size() / kWordsPerBlock;
  const std::uint64_t sampled = std::min(all, kSampledBlocks);
  std::uint64_t set = 0;
  for (std::uint64_t i = 0; i < sampled; ++i) {
    // Evenly spread, in 128 bits so that a large filter does not overflow.
    const auto at = static_cast<std::uint64_t>(static_cast<Uint128>(i) * all / sampled);
    for (unsigned w = 0; w < kWordsPerBlock; ++w) {
      set += static_cast<std::uint64_t>(
          std::popcount(words[at * kWordsPerBlock + w].load(std::memory_order_relaxed)));
    }
  }
  return static_cast<double>(set) / (static_cast<double>(sampled) * kBitsPerBlock);
}

FilterStats BlockedBloomFilter::State::stats() const {
  const std::uint64_t keys = inserted.sum();
  const auto [now, lost] = after_admitting(static_cast<double>(keys));
  return {.capacity = capacity,
          .target_rate = target_rate,
          .inserted = keys,
          .memory_bytes = words.bytes(),
          .hashes = hashes,
          .fill = fill(),
          .current_rate = now,
          .expected_false_positives = lost};
}

}  // namespace trawl
