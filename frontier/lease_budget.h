// LeaseBudget: how many leases may be open over all shards.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace trawl {

// Thread-safe. Relaxed: the numbers say nothing of anything else.
class LeaseBudget {
 public:
  explicit LeaseBudget(std::size_t max) : room_(max) {}

  // Takes up to `wanted`; returns how many.
  std::size_t take(std::size_t wanted) {
    std::size_t room = room_.load(std::memory_order_relaxed);
    std::size_t taken = 0;
    do {
      taken = std::min(room, wanted);
    } while (!room_.compare_exchange_weak(room, room - taken, std::memory_order_relaxed));
    return taken;
  }
  void give_back(std::size_t n) { room_.fetch_add(n, std::memory_order_relaxed); }
  bool has_room() const { return room_.load(std::memory_order_relaxed) > 0; }

 private:
  std::atomic<std::size_t> room_;
};

}  // namespace trawl
