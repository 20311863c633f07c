// The inner loops of the blocked filter: one set that runs anywhere, one for AVX2. All compute the
// same bits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trawl/fingerprint.h"

#include "filter/blocked/block_masks.h"

namespace trawl {

// The bits of a filter and how keys lie in them.
struct BlockSpan {
  std::atomic<std::uint64_t>* words;  // aligned to cache lines
  std::uint64_t blocks;
  MaskShape shape;

  std::atomic<std::uint64_t>* block_of(Fingerprint key) const noexcept {
    return words + scale_to(key.high, blocks) * kWordsPerBlock;
  }
};

// insert_batch: inserts the keys in order, tells in answers[i] whether keys[i] was new, returns how
// many were. contains_batch: likewise, whether it was found. Thread-safe, with each other too.
struct BlockKernels {
  const char* name;
  std::size_t (*insert_batch)(const BlockSpan& filter, std::span<const Fingerprint> keys,
                              bool* answers) noexcept;
  std::size_t (*contains_batch)(const BlockSpan& filter, std::span<const Fingerprint> keys,
                                bool* answers) noexcept;
};

const BlockKernels& portable_block_kernels() noexcept;
// Null where the machine, or the compiler's target, has no AVX2.
const BlockKernels* avx2_block_kernels() noexcept;
// The fastest of those that run here.
const BlockKernels& best_block_kernels() noexcept;

}  // namespace trawl
