// Quota: a bounded number of units, which threads take and return.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace trawl {

// Thread-safe. Relaxed: the counter orders no other data.
class Quota {
 public:
  explicit Quota(std::uint64_t all) : left_(all) {}

  // Takes up to `wanted` units; returns the number taken.
  std::uint64_t take(std::uint64_t wanted) {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    std::uint64_t taken = 0;
    do {
      taken = std::min(left, wanted);
    } while (!left_.compare_exchange_weak(left, left - taken, std::memory_order_relaxed));
    return taken;
  }
  void give_back(std::uint64_t n) { left_.fetch_add(n, std::memory_order_relaxed); }
  bool has_any() const { return left_.load(std::memory_order_relaxed) > 0; }

 private:
  std::atomic<std::uint64_t> left_;
};

}  // namespace trawl
