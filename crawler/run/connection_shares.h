// ConnectionShares: divides the connections of a crawl among its threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/striped_counter.h"

namespace trawl {

// Each thread has a share, and may also use the connections that other threads leave idle, since
// hosts are not spread evenly over threads. A thread whose share is in use by others gets it back
// as their connections end. Thread-safe; `i` is the caller's thread.
class ConnectionShares {
 public:
  // `wake(i)` is called when connections that thread `i` waits for may have become free.
  ConnectionShares(std::size_t connections, std::size_t threads,
                   std::function<void(std::size_t)> wake);

  // Thread `i`, which holds `held` connections, takes as many more as it may have. Returns how
  // many.
  std::size_t take(std::size_t i, std::size_t held);
  // Returns `n` connections that have ended.
  void give_back(std::size_t i, std::size_t n);
  // Returns `n` connections that were taken but not used: the thread needs no more for now.
  void give_back_unused(std::size_t i, std::size_t n);

 private:
  struct alignas(kCacheLine) Thread {
    std::size_t share = 0;
    std::atomic<bool> wants{false};  // waits for connections of its share
  };
  bool others_want(std::size_t i) const;

  std::vector<Thread> threads_;
  std::atomic<std::size_t> free_;
  const std::function<void(std::size_t)> wake_;
};

}  // namespace trawl
