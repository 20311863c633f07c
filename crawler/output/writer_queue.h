// WriterQueue: what waits for the output's writer thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "trawl/frontier.h"
#include "trawl/result.h"

#include "crawler/output/page_output.h"

namespace trawl {

// What commit() waits for; lives on its stack.
struct CommitJob {
  std::span<const Completion> completions;
  Result<void> result;
  bool done = false;  // under the mutex of whoever waits
};

struct PageJob {
  std::shared_ptr<PageOutput> page;
  std::uint64_t bytes = 0;  // as counted when it was queued
};

// Records without a page.
struct RecordJob {
  WarcRecords records;
  BodyCharge charge;
  std::uint64_t bytes = 0;
};

using WriterJob = std::variant<PageJob, RecordJob, CommitJob*>;

// First in, first out. Any thread pushes, one takes; nobody waits but who takes.
//
// Pages alone do not wake the writer until some hundred KiB have come together: a commit follows
// them soon, and a thread that wakes for each page costs more than writing it. None waits longer
// than kPatience.
class WriterQueue {
 public:
  static constexpr std::uint64_t kWakeBytes = 256u << 10;
  static constexpr std::chrono::milliseconds kPatience{100};

  // False, and `job` is left alone, if the queue is closed.
  bool push(WriterJob&& job, std::uint64_t bytes);
  // Replaces `jobs` by all there are; none after `longest` without any. False: the queue is closed
  // and empty.
  bool take(std::vector<WriterJob>& jobs, std::chrono::milliseconds longest);
  // Whoever takes gets what is left, then false.
  void close();

 private:
  bool ready() const { return urgent_ || closed_ || bytes_ >= kWakeBytes; }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<WriterJob> jobs_;
  std::uint64_t bytes_ = 0;
  bool urgent_ = false;  // someone waits for one of them
  bool asleep_ = false;  // the writer, until anything comes
  bool closed_ = false;
};

}  // namespace trawl
