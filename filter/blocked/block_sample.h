// BlockSample: what the bits of a blocked filter say of it.
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

// Exact where all blocks are looked at.
struct BlockSample {
  double fill = 0;  // the share of the bits set
  double rate = 0;  // the chance that an absent key is found
};

// Adds up blocks, for keys of `hashes` bits each.
class BlockSampler {
 public:
  explicit BlockSampler(unsigned hashes)
      : rounds_(hashes / kWordsPerBlock), extra_(hashes % kWordsPerBlock) {}
  // A block of kWordsPerBlock words; null: all zero.
  void add(const std::atomic<std::uint64_t>* block) noexcept;
  BlockSample result() const noexcept;

 private:
  unsigned rounds_;  // bits of a key in each word
  unsigned extra_;   // words with one more
  std::uint64_t blocks_ = 0;
  std::uint64_t set_ = 0;
  double rates_ = 0;
};

// A sample of up to `most` of `all` blocks, evenly spread; `block_at(i)` is what add() takes.
template <class BlockAt>
BlockSample sample_blocks(unsigned hashes, std::uint64_t all, std::uint64_t most,
                          const BlockAt& block_at) {
  const std::uint64_t sampled = std::min(all, most);
  BlockSampler sampler(hashes);
  for (std::uint64_t i = 0; i < sampled; ++i) {
    // In 128 bits so that a large filter does not overflow.
    sampler.add(block_at(static_cast<std::uint64_t>(static_cast<Uint128>(i) * all / sampled)));
  }
  return sampler.result();
}

// How many keys would leave this share of the bits set.
double blocked_keys_with_fill(const SnapshotSection& section, double filled);

// The statistics of a blocked filter, or of a layer.
//
// Up to the capacity, and beyond it while the rate is low, they follow from the number of keys that
// were admitted. Where the rate is high a filter admits few of the keys that are offered, and their
// number says little: then the bits are asked.
FilterStats blocked_stats(const SnapshotSection& section, const BlockSample& sample);

}  // namespace trawl
