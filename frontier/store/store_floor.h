// DeferredFloor: below which time nothing is deferred.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "base/mutex.h"
#include "frontier/store/store_records.h"

namespace trawl {

// What was deferred and is due is deleted from the front, again and again; looking for the next one
// from the very beginning would pass all that was deleted since the last compaction. Thread-safe.
//
// Nothing is passed over. A writer lowers the floor before its URLs can be seen, and nobody raises
// it until they can. So a reader whose view of the store has them, and who asks for the floor after
// that, does not begin above them. It raises the floor to the first that it saw only if nothing was
// written since before its view: one that it could not see is not passed by.
class DeferredFloor {
 public:
  std::uint64_t changes() const {
    const MutexLock lock(mutex_);
    return changes_;
  }
  // Nothing is below.
  DeferredKey floor() const {
    const MutexLock lock(mutex_);
    return floor_;
  }
  // `first` was the first there is, in a view as old as the count of changes.
  void raise(std::uint64_t changes, const DeferredKey& first) {
    const MutexLock lock(mutex_);
    if (changes == changes_ && writing_ == 0) floor_ = first;
  }

  // Something at `key` is being written, as long as this lives.
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
