// The loop over a batch of keys, for the kernels: it prefetches the block of a key that comes
// later while it works on one whose block has arrived.
//
// A file may define TRAWL_KERNEL_TARGET, the instruction set of its kernels, before it includes
// this: the loop must be compiled for the same one, or the kernel could not be inlined into it.
// Each kernel's type lives in its file's own anonymous namespace, so that no other file's code can
// end up with its instructions.
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

// How many keys ahead of the current one a batch fetches: enough to cover a cache miss.
inline constexpr std::size_t kPrefetchDistance = 16;

// Answers each key by Kernel::answer(filter, key, shape), where shape is a Kernel::Shape made of
// the filter's; returns how many were answered true. kWrites: whether the blocks are fetched to be
// written.
template <class Kernel, bool kWrites>
TRAWL_KERNEL_TARGET std::size_t for_each_key(const BlockSpan& filter,
                                             std::span<const Fingerprint> keys,
                                             bool* answers) noexcept {
  const BlockSpan local = filter;  // else the compiler reloads it after each atomic operation
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

// A kernel's entry in the table of those that can be chosen.
template <class Insert, class Contains>
constexpr BlockKernels block_kernels(const char* name) {
  return {.name = name,
          .insert = insert_one_key<Insert>,
          .contains = find_one_key<Contains>,
          .insert_batch = for_each_key<Insert, true>,
          .contains_batch = for_each_key<Contains, false>};
}

}  // namespace trawl
