// The inner loops of the blocked filter: a portable set and one for AVX2. Both compute the same
// bits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trawl/fingerprint.h"

#include "filter/bits/stripe_locks.h"
#include "filter/blocked/block_masks.h"

namespace trawl {

// The bits of a filter and the shape of its keys.
struct BlockSpan {
  std::atomic<std::uint64_t>* words;  // aligned to cache lines
  std::uint64_t blocks;
  MaskShape shape;
  StripeLocks::View locks;  // of the blocks, for inserts

  std::atomic<std::uint64_t>* block_of(Fingerprint key) const noexcept {
    return words + scale_to(key.high, blocks) * kWordsPerBlock;
  }
  StripeLock& lock_of(Fingerprint key) const noexcept {
    return locks.of(scale_to(key.high, blocks));
  }
};

// insert: inserts a key and returns whether it was new. contains: whether a key is present, given
// its block and the low half of its fingerprint. insert_batch, contains_batch: the same for each
// keys[i] in order, with the result in answers[i]; they return the number of true results. All are
// thread-safe, also with each other.
struct BlockKernels {
  const char* name;
  bool (*insert)(const BlockSpan& filter, Fingerprint key) noexcept;
  bool (*contains)(std::atomic<std::uint64_t>* block, std::uint64_t low, MaskShape shape) noexcept;
  std::size_t (*insert_batch)(const BlockSpan& filter, std::span<const Fingerprint> keys,
                              bool* answers) noexcept;
  std::size_t (*contains_batch)(const BlockSpan& filter, std::span<const Fingerprint> keys,
                                bool* answers) noexcept;
};

// For any shape.
const BlockKernels& portable_block_kernels() noexcept;
// For this shape only; k must be at most kMaxHashes. Null if the machine, or the compiler's target,
// has no AVX2.
const BlockKernels* avx2_block_kernels(MaskShape shape) noexcept;
// The fastest kernels that run on this machine.
const BlockKernels& best_block_kernels(MaskShape shape) noexcept;

}  // namespace trawl
