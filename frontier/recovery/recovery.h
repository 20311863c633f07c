// Recovery: what a frontier saves outside its store, so that its next opening takes less time.
#pragma once

#include <cstdint>

#include "trawl/growing_bloom_filter.h"
#include "trawl/result.h"

#include "frontier/commit/commit_queue.h"
#include "frontier/store/store.h"

namespace trawl {

// A frontier whose filter is always rebuilt from its store has none. Thread-safe, except for
// begin() and release().
class Recovery {
 public:
  virtual ~Recovery() = default;

  // Begins to save `filter` whenever that is due. All must exist until close() or stop().
  virtual void begin(const GrowingBloomFilter& filter, CommitQueue& commits, Store& store) = 0;
  // Reports that there are `total` durable admissions. Cheap; called by the committer.
  virtual void admitted(std::uint64_t total) noexcept = 0;
  // Saves what is new now; or soon. Not after close().
  virtual Result<void> save() = 0;
  virtual void request() = 0;
  // How often it has saved something.
  virtual std::uint64_t saved() const noexcept = 0;

  // Has a save that is under way go as fast as it can.
  virtual void hurry() noexcept = 0;
  // Saves what is due, and ends.
  virtual Result<void> close() = 0;
  // Ends at once.
  virtual void stop() = 0;
  // The store is closed: other processes may have it.
  virtual void release() = 0;
};

}  // namespace trawl
