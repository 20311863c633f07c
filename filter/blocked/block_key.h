// BlockKey: a key's bits in their block, for exactly_once_insert(), word by word.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

#include "filter/bits/stripe_locks.h"
#include "filter/blocked/block_masks.h"

namespace trawl {

// The words of a block and its lock. All bits of a key are in one block, and one lock covers all
// bits of the block.
class LockedBlock {
 public:
  LockedBlock(std::atomic<std::uint64_t>* words, StripeLock& lock) : words_(words), lock_(lock) {}

  std::uint64_t load(unsigned w) const noexcept {
    // acquire: pairs with the release in store(), so that a thread that sees a key's bit also sees
    // what its inserter did before, such as its entry into a gate.
    return words_[w].load(std::memory_order_acquire);
  }
  // The caller must hold the lock. Bits are never cleared (A2).
  void store(unsigned w, std::uint64_t bits) noexcept {
    lock_.assert_held();
    assert((words_[w].load(std::memory_order_relaxed) & ~bits) == 0);
    // release: pairs with the acquire in load(), and in WordArray::copy().
    words_[w].store(bits, std::memory_order_release);
  }
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

 private:
  std::atomic<std::uint64_t>* words_;
  StripeLock& lock_;
};

// `Block` is LockedBlock, or a test's replacement.
template <class Block>
class BlockKey {
 public:
  BlockKey(Block block, const BlockMasks& masks) : block_(block), masks_(masks) {}

  bool is_in() const {
    std::uint64_t missing = 0;
    for (unsigned w = 0; w < kWordsPerBlock; ++w)
      missing |= masks_[w] & ~block_.load(w);
    return missing == 0;
  }
  bool lock_and_ask() {
    block_.lock();
    return is_in();
  }
  void add_and_unlock() {
    for (unsigned w = 0; w < kWordsPerBlock; ++w)
      block_.store(w, block_.load(w) | masks_[w]);
    block_.unlock();
  }

 private:
  Block block_;
  const BlockMasks& masks_;
};

}  // namespace trawl
