#include "filter/mapped/mapped_blocks.h"

#include <algorithm>
#include <bit>

#include "filter/blocked/block_batch.h"

namespace trawl {

Result<MappedBlocks> MappedBlocks::of_section(const MappedSnapshot& snapshot, std::size_t number) {
  const SnapshotSection& parameters = snapshot.header().sections[number];
  if (parameters.hashes == 0 || parameters.hashes > kMaxHashes ||
      parameters.words % kWordsPerBlock != 0) {
    return damaged_snapshot(snapshot.path(), "its parameters are impossible");
  }
  return MappedBlocks(snapshot.section(number), parameters,
                      snapshot.header().kind == FilterKind::kGrowing);
}

bool MappedBlocks::contains(Fingerprint key) const noexcept {
  const MappedSection::Word* const block = block_of(key);
  if (block == nullptr) return false;
  // Kernels take blocks that may be written to; this one only reads.
  return kernels_->contains(const_cast<MappedSection::Word*>(block), key.low, shape_);
}

void MappedBlocks::find(std::span<const Fingerprint> keys, std::span<bool> found) const noexcept {
  const std::size_t n = keys.size();
  // Fetching from a page that is not in memory does nothing, and costs no fault.
  for (std::size_t i = 0; i < std::min(kPrefetchDistance, n); ++i)
    __builtin_prefetch(block_of(keys[i]));
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kPrefetchDistance < n) __builtin_prefetch(block_of(keys[i + kPrefetchDistance]));
    if (!found[i]) found[i] = contains(keys[i]);
  }
}

double MappedBlocks::fill() const noexcept {
  constexpr std::uint64_t kSampledBlocks = 1 << 12;  // each may be a page to read
  const std::uint64_t sampled = std::min(blocks(), kSampledBlocks);
  std::uint64_t set = 0;
  for (std::uint64_t i = 0; i < sampled; ++i) {
    // Evenly spread, in 128 bits so that a large filter does not overflow.
    const auto at = static_cast<std::uint64_t>(static_cast<Uint128>(i) * blocks() / sampled);
    const MappedSection::Word* const block = section_.find(at * kWordsPerBlock);
    if (block == nullptr) continue;
    for (unsigned w = 0; w < kWordsPerBlock; ++w) {
      set += static_cast<std::uint64_t>(std::popcount(block[w].load(std::memory_order_relaxed)));
    }
  }
  return static_cast<double>(set) / (static_cast<double>(sampled) * kBitsPerBlock);
}

FilterStats MappedBlocks::stats_without_fill() const {
  const auto blocks_in_all = static_cast<double>(blocks());
  const double load = static_cast<double>(parameters_.inserted) / blocks_in_all;
  const auto [rate, lost] = BlockRate::of(parameters_.hashes).after_admitting(load);
  return {.capacity = parameters_.capacity,
          .target_rate = parameters_.target_rate,
          .inserted = parameters_.inserted,
          .memory_bytes = parameters_.words * sizeof(std::uint64_t),
          .hashes = parameters_.hashes,
          .current_rate = rate,
          .expected_false_positives = lost * blocks_in_all};
}

}  // namespace trawl
