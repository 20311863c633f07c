#include "filter/blocked/blocked_bloom_filter_state.h"

#include <cmath>

#include "filter/bits/bit_merge.h"
#include "filter/blocked/block_sample.h"

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
  return static_cast<std::uint64_t>(std::round(blocked_keys_with_fill(section(), filled)));
}

BlockRate::Admission BlockedBloomFilter::State::after_admitting(double keys) const {
  auto [now, lost] = rate.after_admitting(load_of(keys));
  return {.rate = now, .lost = lost * static_cast<double>(words.size()) / kWordsPerBlock};
}

FilterStats BlockedBloomFilter::State::stats() const {
  constexpr std::uint64_t kSampledBlocks = 1 << 11;
  const SnapshotSection now = section();
  // A sample would touch each page of a filter that is nearly empty, and find less than the model.
  if (now.inserted < kSampledBlocks && now.inserted <= now.capacity)
    return blocked_stats(now, {.fill = blocked_fill_with_keys(now)});
  return blocked_stats(
      now, sample_blocks(hashes, words.size() / kWordsPerBlock, kSampledBlocks,
                         [this](std::uint64_t i) { return &words[i * kWordsPerBlock]; }));
}

}  // namespace trawl
