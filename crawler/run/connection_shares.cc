#include "crawler/run/connection_shares.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace trawl {

ConnectionShares::ConnectionShares(std::size_t connections, std::size_t threads,
                                   std::function<void(std::size_t)> wake)
    : threads_(threads), free_(connections), wake_(std::move(wake)) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_[i].share = connections / threads + (i < connections % threads ? 1 : 0);
}

bool ConnectionShares::others_want(std::size_t i) const {
  for (std::size_t other = 0; other < threads_.size(); ++other) {
    // seq_cst: pairs with the store in take(), as said there.
    if (other != i && threads_[other].wants.load(std::memory_order_seq_cst)) return true;
  }
  return false;
}

std::size_t ConnectionShares::take(std::size_t i, std::size_t held) {
  assert(i < threads_.size());
  Thread& thread = threads_[i];
  const std::size_t own = thread.share - std::min(thread.share, held);
  // Pairs with give_back(): `wants` is set before `free_` is read; give_back() adds to `free_`
  // before it reads `wants`. All four are seq_cst, so no wake-up is lost: either this thread sees
  // the returned connections, or the thread that returns them sees that they are wanted.
  if (own > 0) thread.wants.store(true, std::memory_order_seq_cst);
  std::size_t free = free_.load(std::memory_order_seq_cst);
  std::size_t taken = 0;
  do {
    taken = others_want(i) ? std::min(free, own) : free;
  } while (taken > 0 &&
           !free_.compare_exchange_weak(free, free - taken, std::memory_order_seq_cst));
  if (own > 0 && taken >= own) thread.wants.store(false, std::memory_order_relaxed);
  return taken;
}

void ConnectionShares::give_back_unused(std::size_t i, std::size_t n) {
  assert(i < threads_.size());
  threads_[i].wants.store(false, std::memory_order_relaxed);
  give_back(i, n);
}

void ConnectionShares::give_back(std::size_t i, std::size_t n) {
  if (n == 0) return;
  // seq_cst, both: pairs with take(), as said there.
  free_.fetch_add(n, std::memory_order_seq_cst);
  for (std::size_t other = 0; other < threads_.size(); ++other) {
    if (other != i && threads_[other].wants.load(std::memory_order_seq_cst)) wake_(other);
  }
}

}  // namespace trawl
