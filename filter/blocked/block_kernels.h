// The inner loops of the blocked filter: one set that runs anywhere, one for AVX2. All compute the
// same bits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trawl/fingerprint.h"

#include "filter/bits/stripe_locks.h"
#include "filter/blocked/block_masks.h"

namespace trawl {

// The bits of a filter and how keys lie in them.
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

// insert: inserts a key and reports whether it was new; contains: whether a key is there, given its
// block and the low half of its fingerprint. insert_batch, contains_batch: the same for keys[i], in
// order, told in answers[i]; they return how many were true. Thread-safe, with each other too.
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
// For that shape only; its k is at most kMaxHashes. Null where the machine, or the compiler's
// target, has no AVX2.
const BlockKernels* avx2_block_kernels(MaskShape shape) noexcept;
// The fastest of those that run here.
const BlockKernels& best_block_kernels(MaskShape shape) noexcept;

}  // namespace trawl
