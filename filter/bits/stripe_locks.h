// StripeLocks: locks of one byte that the parts of a filter share.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace trawl {

// Held for a few instructions, in which nothing is waited for but the next of its locks. Whoever
// finds it held spins, yields, and then sleeps a little at a time.
class StripeLock {
 public:
  void lock() noexcept {
    // acquire: pairs with the release in unlock(), so that what the last holder wrote is seen.
    if (held_.test_and_set(std::memory_order_acquire)) wait_and_lock();
  }
  bool try_lock() noexcept {
    // acquire: as in lock().
    return !held_.test_and_set(std::memory_order_acquire);
  }
  void unlock() noexcept {
    // release: publishes what was written; pairs with the acquires in lock() and wait_and_lock().
    held_.clear(std::memory_order_release);
  }

 private:
  void wait_and_lock() noexcept;

  std::atomic_flag held_;
};

// As many locks as there are parts, up to kMost; beyond, parts share them.
class StripeLocks {
 public:
  // Enough that threads seldom meet, not even in a cache line, and few enough for a cache.
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 16;

  explicit StripeLocks(std::uint64_t parts)
      : mask_(std::bit_ceil(std::clamp<std::uint64_t>(parts, 1, kMost)) - 1),
        locks_(std::make_unique<StripeLock[]>(mask_ + 1)) {}

  // Which locks there are; valid as long as they are.
  class View {
   public:
    View() = default;
    std::uint64_t stripe_of(std::uint64_t part) const noexcept { return part & mask_; }
    StripeLock& operator[](std::uint64_t stripe) const noexcept { return locks_[stripe]; }
    StripeLock& of(std::uint64_t part) const noexcept { return locks_[stripe_of(part)]; }

   private:
    friend class StripeLocks;
    View(StripeLock* locks, std::uint64_t mask) : locks_(locks), mask_(mask) {}
    StripeLock* locks_ = nullptr;
    std::uint64_t mask_ = 0;
  };
  View view() const noexcept { return {locks_.get(), mask_}; }

 private:
  std::uint64_t mask_;
  std::unique_ptr<StripeLock[]> locks_;
};

}  // namespace trawl
