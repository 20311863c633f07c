// StripeLocks: an array of one-byte locks, shared by the parts of a filter.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace trawl {

// Held for a few instructions, during which the holder waits for nothing except its next lock. A
// thread that finds it held spins, then yields, then sleeps for short times.
class StripeLock {
 public:
  void lock() noexcept {
    // acquire: pairs with the release in unlock(), so that the last holder's writes are seen.
    if (held_.test_and_set(std::memory_order_acquire)) wait_and_lock();
  }
  bool try_lock() noexcept {
    // acquire: as in lock().
    return !held_.test_and_set(std::memory_order_acquire);
  }
  void unlock() noexcept {
    assert_held();
    // release: publishes what was written; pairs with the acquires in lock() and wait_and_lock().
    held_.clear(std::memory_order_release);
  }
  // Asserts that the lock is held. A byte has no room to record the holder.
  void assert_held() const noexcept { assert(held_.test(std::memory_order_relaxed)); }

 private:
  void wait_and_lock() noexcept;

  std::atomic_flag held_;
};

// Holds the lock as long as it lives.
class StripeGuard {
 public:
  explicit StripeGuard(StripeLock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~StripeGuard() { lock_.unlock(); }
  StripeGuard(const StripeGuard&) = delete;
  StripeGuard& operator=(const StripeGuard&) = delete;

 private:
  StripeLock& lock_;
};

// One lock for each part, up to kMost; with more parts, several share a lock.
class StripeLocks {
 public:
  // Enough that threads rarely need the same lock or cache line, and few enough to stay in a cache.
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 16;

  explicit StripeLocks(std::uint64_t parts)
      : mask_(std::bit_ceil(std::clamp<std::uint64_t>(parts, 1, kMost)) - 1),
        locks_(std::make_unique<StripeLock[]>(mask_ + 1)) {}

  // A view of the locks, valid while they exist.
  class View {
   public:
    View() = default;
    std::uint64_t stripe_of(std::uint64_t part) const noexcept { return part & mask_; }
    StripeLock& operator[](std::uint64_t stripe) const noexcept {
      assert(stripe <= mask_);
      return locks_[stripe];
    }
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
