// BlockSample: statistics of a blocked filter from a sample of its bits.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "trawl/filter.h"

#include "base/mix.h"
#include "filter/blocked/block_layout.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

// Exact if all blocks were sampled.
struct BlockSample {
  double fill = 0;  // share of bits set
  double rate = 0;  // probability that an absent key is found
};

// Accumulates blocks, for keys of `hashes` bits each.
class BlockSampler {
 public:
  explicit BlockSampler(unsigned hashes)
      : rounds_(hashes / kWordsPerBlock), extra_(hashes % kWordsPerBlock) {}
  // Adds a block of kWordsPerBlock words; null: all zero.
  void add(const std::atomic<std::uint64_t>* block) noexcept;
  BlockSample result() const noexcept;

 private:
  unsigned rounds_;  // bits of a key in every word
  unsigned extra_;   // words with one more bit
  std::uint64_t blocks_ = 0;
  std::uint64_t set_ = 0;
  double rates_ = 0;
};

// A sample of up to `most` of `all` blocks, evenly spaced; `block_at(i)` returns the argument of
// add().
template <class BlockAt>
BlockSample sample_blocks(unsigned hashes, std::uint64_t all, std::uint64_t most,
                          const BlockAt& block_at) {
  const std::uint64_t sampled = std::min(all, most);
  BlockSampler sampler(hashes);
  for (std::uint64_t i = 0; i < sampled; ++i) {
    // 128 bits, so that the product cannot overflow.
    sampler.add(block_at(static_cast<std::uint64_t>(static_cast<Uint128>(i) * all / sampled)));
  }
  return sampler.result();
}

// The share of the bits that the section's `inserted` keys set, and the number of keys that would
// set this share.
double blocked_fill_with_keys(const SnapshotSection& section);
double blocked_keys_with_fill(const SnapshotSection& section, double filled);

// The statistics of a blocked filter, or of a layer.
//
// Up to the capacity, and beyond it while the rate is low, they follow from the number of admitted
// keys. At a high rate a filter admits few of the offered keys, so that their number says little:
// then the statistics follow from the sample.
FilterStats blocked_stats(const SnapshotSection& section, const BlockSample& sample);

}  // namespace trawl
