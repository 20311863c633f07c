#include "crawler/output/writer_queue.h"

#include <algorithm>
#include <utility>

namespace trawl {

bool WriterQueue::push(WriterJob&& job, std::uint64_t bytes) {
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    if (closed_) return false;
    const bool was_ready = ready();
    bytes_ += bytes;
    if (jobs_.empty()) since_ = std::chrono::steady_clock::now();
    jobs_.push_back(std::move(job));
    wake = asleep_ || (ready() && !was_ready);
  }
  if (wake) wake_.notify_one();
  return true;
}

bool WriterQueue::wait(std::chrono::milliseconds longest) {
  const MutexLock lock(mutex_);
  const auto patience = std::chrono::steady_clock::now() + std::min(kMaxDelay, longest);
  while (!ready() && wake_.wait_until(mutex_, patience)) {
  }
  if (!ready() && jobs_.empty()) {
    asleep_ = true;
    const auto end = std::chrono::steady_clock::now() + longest;
    while (!ready() && jobs_.empty() && wake_.wait_until(mutex_, end)) {
    }
    asleep_ = false;
  }
  return !closed_;
}

void WriterQueue::wake() {
  {
    const MutexLock lock(mutex_);
    hurry_ = true;
  }
  wake_.notify_one();
}

std::optional<std::chrono::steady_clock::time_point> WriterQueue::waits_since() const {
  const MutexLock lock(mutex_);
  return jobs_.empty() ? std::nullopt : std::optional(since_);
}

void WriterQueue::take(std::vector<WriterJob>& jobs) {
  jobs.clear();
  const MutexLock lock(mutex_);
  std::swap(jobs, jobs_);
  bytes_ = 0;
  hurry_ = false;
}

void WriterQueue::close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  wake_.notify_all();
}

}  // namespace trawl
