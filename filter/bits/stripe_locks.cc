#include "filter/bits/stripe_locks.h"

#include "base/spin_wait.h"

namespace trawl {

void StripeLock::wait_and_lock() noexcept {
  for (SpinWait spin;; spin.wait()) {
    // A relaxed load first, so that waiting threads do not take the cache line from the holder.
    // acquire: as in lock().
    if (!held_.test(std::memory_order_relaxed) && !held_.test_and_set(std::memory_order_acquire))
      return;
  }
}

}  // namespace trawl
