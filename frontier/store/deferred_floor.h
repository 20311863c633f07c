// DeferredFloor: a key below which there are no deferred URLs.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "base/mutex.h"
#include "frontier/store/store_records.h"

namespace trawl {

// Due URLs are deleted from the front of kDeferred. A search for the next one from the very
// beginning would pass over everything deleted since the last compaction, so it starts at the
// floor. Thread-safe.
//
// No URL is missed. A writer lowers the floor before its URLs become visible, and the floor cannot
// be raised until they are. So a reader whose view of the store has them, and which reads the floor
// after taking the view, does not start above them. A reader raises the floor to the first URL that
// it saw only if nothing was written since before its view, so that it cannot pass over a URL that
// it could not see.
class DeferredFloor {
 public:
  std::uint64_t changes() const {
    const MutexLock lock(mutex_);
    return changes_;
  }
  // There are no deferred URLs below it.
  DeferredKey floor() const {
    const MutexLock lock(mutex_);
    return floor_;
  }
  // `first` was the first deferred URL in a view that was taken when changes() was `changes`.
  void raise(std::uint64_t changes, const DeferredKey& first) {
    const MutexLock lock(mutex_);
    if (changes == changes_ && writing_ == 0) floor_ = first;
  }

  // Exists while a URL at `key` is being written.
  class Writing {
   public:
    Writing(DeferredFloor& floor, const DeferredKey& key) : floor_(floor) { floor_.begin(key); }
    ~Writing() { floor_.end(); }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

   private:
    DeferredFloor& floor_;
  };

 private:
  void begin(const DeferredKey& key) {
    const MutexLock lock(mutex_);
    ++writing_;
    ++changes_;
    if (view(key) < view(floor_)) floor_ = key;
  }
  void end() {
    const MutexLock lock(mutex_);
    assert(writing_ > 0);
    --writing_;
    ++changes_;
  }

  mutable Mutex mutex_;
  DeferredKey floor_ TRAWL_GUARDED_BY(mutex_){};
  std::uint64_t changes_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::uint32_t writing_ TRAWL_GUARDED_BY(mutex_) = 0;
};

}  // namespace trawl
