// GroupLocks: locks with versions, that groups of buckets share.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/patience.h"

namespace trawl {

// A lock is a number, odd while it is held, that grows with each change made under it. A reader
// needs no lock: it takes the version, reads the words with acquire, and asks whether the version
// is the same still; if so, no change happened in between. It is safe since writers store with
// release: whoever has read a word of a change under way sees the odd version before it, too.
class GroupLocks {
 public:
  static constexpr std::size_t kStripes = 2048;
  static std::size_t stripe_of(std::uint64_t group) noexcept { return group % kStripes; }

  // The version of a stripe, an even number, when nobody holds it.
  std::uint64_t version(std::size_t stripe) const noexcept {
    for (Patience patience;; patience.wait()) {
      // acquire: pairs with the release in unlock(), so that all of that holder's words are seen.
      const std::uint64_t version = stripes_[stripe].load(std::memory_order_acquire);
      if (version % 2 == 0) return version;
    }
  }
  bool unchanged(std::size_t stripe, std::uint64_t version) const noexcept {
    return stripes_[stripe].load(std::memory_order_relaxed) == version;
  }

  // Holds the stripes of two groups, which may be the same one.
  class Guard {
   public:
    Guard(GroupLocks& locks, std::uint64_t group1, std::uint64_t group2) noexcept
        : first_(locks.stripes_[std::min(stripe_of(group1), stripe_of(group2))]),
          second_(locks.stripes_[std::max(stripe_of(group1), stripe_of(group2))]) {
      lock(first_);  // the lower one first, so that no two threads wait for each other
      if (&first_ != &second_) lock(second_);
    }
    ~Guard() {
      unlock(first_);
      if (&first_ != &second_) unlock(second_);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    // To be called if something was changed: readers meanwhile must then read again.
    void set_changed() noexcept { changed_ = true; }

   private:
    void lock(std::atomic<std::uint64_t>& stripe) noexcept {
      for (Patience patience;; patience.wait()) {
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
      // release: publishes what was changed; pairs with the acquire in lock() and version().
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
