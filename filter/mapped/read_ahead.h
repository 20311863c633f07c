// ReadAhead: whether the lookups in a mapped file wait for the disk.
//
// A page that is not in memory costs a look-up some 0.1 ms, one after the other. If all pages of
// a batch are asked for first, the disk reads many of them at once; but to ask costs 0.5 us for a
// page that is there. So it is asked for those of the next batch if this one was slow.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace trawl {

class ReadAhead {
 public:
  // Calls find(ahead) for a batch of so many keys: with `ahead` it is to ask for pages first.
  template <class Find>
  void time(std::size_t keys, Find find) {
    if (keys < kLeastKeys) return find(false);
    // relaxed, twice: a guess that several threads may make at once.
    const auto start = std::chrono::steady_clock::now();
    find(slow_.load(std::memory_order_relaxed));
    const auto spent = std::chrono::steady_clock::now() - start;
    const bool slow = spent > keys * kSlow;
    if (slow != slow_.load(std::memory_order_relaxed)) slow_.store(slow, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kLeastKeys = 16;
  // A key: more than in memory with asking, less than a page from the disk.
  static constexpr std::chrono::microseconds kSlow{3};
  std::atomic<bool> slow_ = false;
};

}  // namespace trawl
