#include "filter/mapped/mapped_blocks.h"

#include <algorithm>
#include <cassert>

#include "filter/blocked/block_batch.h"
#include "filter/blocked/block_sample.h"

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
  // The kernels' type is for writable blocks; contains() only reads.
  return kernels_->contains(const_cast<MappedSection::Word*>(block), key.low, shape_);
}

void MappedBlocks::find(std::span<const Fingerprint> keys, std::span<bool> found) const noexcept {
  assert(keys.size() == found.size());
  const std::size_t n = keys.size();
  // Prefetching from a page that is not in memory does nothing, and causes no page fault.
  for (std::size_t i = 0; i < std::min(kPrefetchDistance, n); ++i)
    __builtin_prefetch(block_of(keys[i]));
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kPrefetchDistance < n) __builtin_prefetch(block_of(keys[i + kPrefetchDistance]));
    if (!found[i]) found[i] = contains(keys[i]);
  }
}

void MappedBlocks::ask_for(std::span<const Fingerprint> keys) const noexcept {
  for (const Fingerprint key : keys)
    section_.ask_for(place_of(key));
}

FilterStats MappedBlocks::stats() const {
  constexpr std::uint64_t kSampledBlocks = 1 << 12;  // each may be a page to read
  return blocked_stats(parameters_, sample_blocks(parameters_.hashes, blocks(), kSampledBlocks,
                                                  [this](std::uint64_t i) {
                                                    return section_.find(i * kWordsPerBlock);
                                                  }));
}

}  // namespace trawl
