// ReadAhead: decides whether lookups in a mapped file should request their pages first.
//
// A lookup in a page that is not in memory takes some 0.1 ms, and a batch has one after the other.
// If all pages of a batch are requested first, the disk reads many of them in parallel; but a
// request costs 0.5 us even for a page in memory. So the next batch's pages are requested only if
// this batch was slow.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

namespace trawl {

class ReadAhead {
 public:
  // Calls find(ahead) for a batch of `keys` keys; with `ahead` it must request the pages first.
  template <class Find>
  void time(std::size_t keys, Find find) {
    if (keys < kLeastKeys) return find(false);
    // relaxed, here and below: a heuristic that several threads may update.
    const auto start = std::chrono::steady_clock::now();
    find(slow_.load(std::memory_order_relaxed));
    const auto spent = std::chrono::steady_clock::now() - start;
    const bool slow = spent > keys * kSlow;
    if (slow != slow_.load(std::memory_order_relaxed)) slow_.store(slow, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kLeastKeys = 16;
  // Time per key: above that of a page in memory with a request, below that of a page from disk.
  static constexpr std::chrono::microseconds kSlow{3};
  std::atomic<bool> slow_ = false;
};

}  // namespace trawl
