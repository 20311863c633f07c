// The kernels' loop over a batch of keys: it prefetches the block of a later key while it works on
// a key whose block has arrived.
//
// A file may define TRAWL_KERNEL_TARGET, the instruction set of its kernels, before it includes
// this: the loop must be compiled for the same instruction set, or the kernel cannot be inlined
// into it. Each kernel's type must be in its file's anonymous namespace, so that no other file's
// code can get these instructions.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>

#include "filter/blocked/block_kernels.h"

#ifndef TRAWL_KERNEL_TARGET
#define TRAWL_KERNEL_TARGET
#endif

namespace trawl {

// The number of keys that prefetching is ahead: enough to cover a cache miss.
inline constexpr std::size_t kPrefetchDistance = 16;

// Answers each key with Kernel::answer(filter, key, shape), where shape is a Kernel::Shape made
// from the filter's. Returns the number of true answers. kWrites: prefetch the blocks for writing.
template <class Kernel, bool kWrites>
TRAWL_KERNEL_TARGET std::size_t for_each_key(const BlockSpan& filter,
                                             std::span<const Fingerprint> keys,
                                             bool* answers) noexcept {
  const BlockSpan local = filter;  // a local copy, since the compiler reloads `filter` after each
                                   // atomic operation
  const typename Kernel::Shape shape(filter.shape);
  const std::size_t n = keys.size();
  for (std::size_t i = 0; i < std::min(kPrefetchDistance, n); ++i)
    __builtin_prefetch(local.block_of(keys[i]), kWrites);
  std::size_t yes = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kPrefetchDistance < n)
      __builtin_prefetch(local.block_of(keys[i + kPrefetchDistance]), kWrites);
    const bool answer = Kernel::answer(local, keys[i], shape);
    answers[i] = answer;
    yes += answer ? 1 : 0;
  }
  return yes;
}

template <class Insert>
TRAWL_KERNEL_TARGET bool insert_one_key(const BlockSpan& filter, Fingerprint key) noexcept {
  return Insert::answer(filter, key, typename Insert::Shape(filter.shape));
}

template <class Contains>
TRAWL_KERNEL_TARGET bool find_one_key(std::atomic<std::uint64_t>* block, std::uint64_t low,
                                      MaskShape shape) noexcept {
  return Contains::find(block, low, typename Contains::Shape(shape));
}

// A kernel's function table.
template <class Insert, class Contains>
constexpr BlockKernels block_kernels(const char* name) {
  return {.name = name,
          .insert = insert_one_key<Insert>,
          .contains = find_one_key<Contains>,
          .insert_batch = for_each_key<Insert, true>,
          .contains_batch = for_each_key<Contains, false>};
}

}  // namespace trawl
