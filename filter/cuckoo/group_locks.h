// GroupLocks: sequence locks shared by groups of buckets.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/spin_wait.h"

namespace trawl {

// A lock is a number that is odd while the lock is held and grows with each change made under it. A
// reader takes no lock: it reads the version, reads the words with acquire, and checks that the
// version is still the same; then no change happened in between. This is safe because writers store
// with release: a reader that has read a word of a running change also sees the odd version before
// it.
class GroupLocks {
 public:
  static constexpr std::size_t kStripes = 2048;
  static std::size_t stripe_of(std::uint64_t group) noexcept { return group % kStripes; }

  // Waits until the stripe is free and returns its version, an even number.
  std::uint64_t version(std::size_t stripe) const noexcept {
    for (SpinWait spin;; spin.wait()) {
      // acquire: pairs with the release in unlock(), so that all of the last holder's writes are
      // seen.
      const std::uint64_t version = stripes_[stripe].load(std::memory_order_acquire);
      if (version % 2 == 0) return version;
    }
  }
  bool unchanged(std::size_t stripe, std::uint64_t version) const noexcept {
    return stripes_[stripe].load(std::memory_order_relaxed) == version;
  }

  // Whether a thread holds the stripe.
  bool is_held(std::size_t stripe) const noexcept {
    return stripes_[stripe].load(std::memory_order_relaxed) % 2 == 1;
  }

  // Holds the stripes of two groups, which may be equal.
  class Guard {
   public:
    Guard(GroupLocks& locks, std::uint64_t group1, std::uint64_t group2) noexcept
        : first_(locks.stripes_[std::min(stripe_of(group1), stripe_of(group2))]),
          second_(locks.stripes_[std::max(stripe_of(group1), stripe_of(group2))]) {
      lock(first_);  // the lower one first, to avoid deadlock
      if (&first_ != &second_) lock(second_);
    }
    ~Guard() {
      unlock(first_);
      if (&first_ != &second_) unlock(second_);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    // Must be called if something was changed: concurrent readers must then read again.
    void set_changed() noexcept { changed_ = true; }

   private:
    void lock(std::atomic<std::uint64_t>& stripe) noexcept {
      for (SpinWait spin;; spin.wait()) {
        std::uint64_t version = stripe.load(std::memory_order_relaxed);
        // acquire: pairs with the release in unlock().
        if (version % 2 == 0 &&
            stripe.compare_exchange_weak(version, version + 1, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
          return;
        }
      }
    }
    void unlock(std::atomic<std::uint64_t>& stripe) const noexcept {
      const std::uint64_t held = stripe.load(std::memory_order_relaxed);
      assert(held % 2 == 1);
      // release: publishes the changes; pairs with the acquire in lock() and version().
      stripe.store(changed_ ? held + 1 : held - 1, std::memory_order_release);
    }

    std::atomic<std::uint64_t>& first_;
    std::atomic<std::uint64_t>& second_;
    bool changed_ = false;
  };

 private:
  std::array<std::atomic<std::uint64_t>, kStripes> stripes_{};
};

}  // namespace trawl
