// The state of a blocked filter, also for the filters built on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/blocked_bloom_filter.h"

#include "base/striped_counter.h"
#include "filter/bits/stripe_locks.h"
#include "filter/bits/word_array.h"
#include "filter/blocked/block_kernels.h"
#include "filter/blocked/block_layout.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

struct BlockedBloomFilter::State {
  State(WordArray array, unsigned k, std::uint64_t planned, double rate_asked, KeyedHash keyed)
      : words(std::move(array)),
        hashes(k),
        capacity(planned),
        target_rate(rate_asked),
        hash(keyed),
        rate(BlockRate::of(k)) {}

  // An empty filter with the parameters of a section. Errors: kCorrupt if they are not possible for
  // a blocked filter, kNoSpace.
  static Result<std::unique_ptr<State>> of_section(const SnapshotHeader& header, std::size_t index,
                                                   const std::string& path);
  SnapshotSection section() const;
  Result<void> merge(const State& other);
  FilterStats stats() const;

  BlockSpan blocks() const noexcept {
    return {words.data(), words.size() / kWordsPerBlock, MaskShape(hashes), locks.view()};
  }
  double load_of(double keys) const noexcept {
    return keys * kWordsPerBlock / static_cast<double>(words.size());
  }
  // The state after `keys` keys were called new; `lost` is for the whole filter.
  BlockRate::Admission after_admitting(double keys) const;
  // The number of keys that would set this share of the bits.
  std::uint64_t keys_with_fill(double filled) const;

  WordArray words;
  unsigned hashes;
  std::uint64_t capacity;
  double target_rate;
  KeyedHash hash;
  const BlockRate& rate;
  const BlockKernels& kernels = best_block_kernels(MaskShape(hashes));
  StripeLocks locks{words.size() / kWordsPerBlock};  // one for each block, or for several
  StripedCounter inserted;
};

}  // namespace trawl
