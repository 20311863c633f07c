// WriterQueue: pages that wait to be written.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "crawler/output/page_output.h"

namespace trawl {

struct WriterJob {
  std::shared_ptr<PageOutput> page;
  std::function<void()> written;  // see Output::submit(); may be empty
};

// First in, first out. Any thread pushes, without waiting; the writer waits.
//
// Pages do not wake the writer until there are kWakeBytes of them, because waking a thread for each
// page costs more than writing the page: the threads that push write soon. No page waits longer
// than kMaxDelay.
class WriterQueue {
 public:
  static constexpr std::uint64_t kWakeBytes = 256u << 10;
  static constexpr std::chrono::milliseconds kMaxDelay{100};

  // `bytes`: the memory of the job. Returns false, and leaves `job` as it is, if the queue is
  // closed.
  [[nodiscard]] bool push(WriterJob&& job, std::uint64_t bytes);
  // Waits until there are kWakeBytes, or some jobs and kMaxDelay is over, or for `longest` if there
  // are none. False: the queue is closed.
  bool wait(std::chrono::milliseconds longest);
  // Makes the writer take what is queued now.
  void wake();
  // When the oldest job was pushed; none: the queue is empty.
  std::optional<std::chrono::steady_clock::time_point> waits_since() const;
  // Replaces `jobs` by everything that is queued.
  void take(std::vector<WriterJob>& jobs);
  void close();

 private:
  bool ready() const TRAWL_REQUIRES(mutex_) { return closed_ || hurry_ || bytes_ >= kWakeBytes; }

  mutable Mutex mutex_;
  Condition wake_;
  std::vector<WriterJob> jobs_ TRAWL_GUARDED_BY(mutex_);
  // When the first of these was pushed.
  std::chrono::steady_clock::time_point since_ TRAWL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ TRAWL_GUARDED_BY(mutex_) = 0;
  bool asleep_ TRAWL_GUARDED_BY(mutex_) = false;  // the writer, until there is a job
  bool hurry_ TRAWL_GUARDED_BY(mutex_) = false;   // wake() was called
  bool closed_ TRAWL_GUARDED_BY(mutex_) = false;
};

}  // namespace trawl
