// SafePoint: moments at which no fetcher thread works, for changes of what they all read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

#include "base/mutex.h"

namespace trawl {

// The fetchers read the config and the rules at every page, in many places, and without a lock.
// They are changed in place, when every fetcher waits here. A fetcher comes by between two rounds
// of its event loop; transfers stay open meanwhile, and what they keep of the rules (references to
// whole members) is valid after the change. Everything that a fetcher did before it came by is
// visible to the change, and the change is visible to every fetcher that goes on, since both happen
// under the mutex. Thread-safe.
class SafePoint {
 public:
  // A fetcher thread begins and ends. It must come by as long as it runs.
  void join() {
    const MutexLock lock(mutex_);
    while (changing_)
      changed_.wait(mutex_);
    ++members_;
  }
  void leave() {
    const MutexLock lock(mutex_);
    --members_;
    arrived_.notify_all();
  }
  // Returns immediately unless a change is wanted.
  void come_by() {
    // Relaxed: a thread that misses the wish is waited for until its next round.
    if (!wanted_.load(std::memory_order_relaxed)) return;
    const MutexLock lock(mutex_);
    if (!changing_) return;
    ++waiting_;
    arrived_.notify_all();
    while (changing_)
      changed_.wait(mutex_);
    --waiting_;
  }

  // Calls `change` when all fetchers wait; `wake` makes them come by. Returns false, and changes
  // nothing, if they have not come by within `patience`. For one thread at a time.
  template <class Wake, class Change>
  bool change(std::chrono::steady_clock::duration patience, Wake&& wake, Change&& change) {
    const auto until = std::chrono::steady_clock::now() + patience;
    {
      const MutexLock lock(mutex_);
      changing_ = true;
      wanted_.store(true, std::memory_order_relaxed);
    }
    wake();
    const MutexLock lock(mutex_);
    bool in_time = true;
    while (waiting_ < members_ && in_time)
      in_time = arrived_.wait_until(mutex_, until);
    const bool all_wait = waiting_ >= members_;
    if (all_wait) change();
    wanted_.store(false, std::memory_order_relaxed);
    changing_ = false;
    changed_.notify_all();
    return all_wait;
  }

 private:
  std::atomic<bool> wanted_{false};  // as changing_, to be read without the mutex
  Mutex mutex_;
  Condition arrived_;
  Condition changed_;
  bool changing_ TRAWL_GUARDED_BY(mutex_) = false;
  std::size_t members_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ TRAWL_GUARDED_BY(mutex_) = 0;
};

}  // namespace trawl
