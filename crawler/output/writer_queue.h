// WriterQueue: what waits for the output's writer thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "crawler/output/page_output.h"

namespace trawl {

struct PageJob {
  std::shared_ptr<PageOutput> page;
  std::function<void()> written;  // Output::submit()
  std::uint64_t bytes = 0;        // as counted when it was queued
};

// Records without a page.
struct RecordJob {
  WarcRecords records;
  BodyCharge charge;
  std::uint64_t bytes = 0;
};

using WriterJob = std::variant<PageJob, RecordJob>;

// First in, first out. Any thread pushes; nobody waits but who takes.
//
// Pages do not wake the writer until some hundred KiB have come together: whoever queued them
// writes them soon, as a thread that wakes for each page costs more than writing it. None waits
// longer than kPatience.
class WriterQueue {
 public:
  static constexpr std::uint64_t kWakeBytes = 256u << 10;
  static constexpr std::chrono::milliseconds kPatience{100};

  // False, and `job` is left alone, if the queue is closed.
  bool push(WriterJob&& job, std::uint64_t bytes);
  // Waits until there are enough, or some that waited long enough, or for `longest` if there are
  // none. False: the queue is closed.
  bool wait(std::chrono::milliseconds longest);
  // The writer is to take what there is, now.
  void wake();
  // When the oldest of what waits was pushed; nothing: nothing waits.
  std::optional<std::chrono::steady_clock::time_point> waits_since() const;
  // Replaces `jobs` by all there are.
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
  bool asleep_ TRAWL_GUARDED_BY(mutex_) = false;  // the writer, until anything comes
  bool hurry_ TRAWL_GUARDED_BY(mutex_) = false;   // wake() was called
  bool closed_ TRAWL_GUARDED_BY(mutex_) = false;
};

}  // namespace trawl
