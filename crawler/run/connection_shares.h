// ConnectionShares: how the threads of a crawl divide its connections.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include "base/striped_counter.h"

namespace trawl {

// Each thread has a share of its own, and what the others leave of theirs: hosts are not spread
// evenly over the threads. A thread that finds its share lent out gets it back as the connections
// of others end. Thread-safe; `i` is the caller's thread.
class ConnectionShares {
 public:
  // `wake(i)`: connections that thread `i` waits for may have become free.
  ConnectionShares(std::size_t connections, std::size_t threads,
                   std::function<void(std::size_t)> wake);

  // Takes as many connections as thread `i`, which holds `held`, may have beyond these.
  std::size_t take(std::size_t i, std::size_t held);
  // Gives back `n` connections that have ended.
  void give_back(std::size_t i, std::size_t n);
  // Gives back `n` that were taken for nothing: the thread wants no more for now.
  void give_back_unused(std::size_t i, std::size_t n);

 private:
  struct alignas(kCacheLine) Thread {
    std::size_t share = 0;
    std::atomic<bool> wants{false};  // a part of its share that others have
  };
  bool others_want(std::size_t i) const;

  std::vector<Thread> threads_;
  std::atomic<std::size_t> free_;
  const std::function<void(std::size_t)> wake_;
};

}  // namespace trawl
