#include "crawler/output/writer_queue.h"

#include <algorithm>
#include <utility>

namespace trawl {

bool WriterQueue::push(WriterJob&& job, std::uint64_t bytes) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
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
  std::unique_lock lock(mutex_);
  const bool enough = wake_.wait_for(lock, std::min(kPatience, longest), [&] { return ready(); });
  if (!enough && jobs_.empty()) {
    asleep_ = true;
    wake_.wait_for(lock, longest, [&] { return ready() || !jobs_.empty(); });
    asleep_ = false;
  }
  return !closed_;
}

void WriterQueue::wake() {
  {
    const std::lock_guard lock(mutex_);
    hurry_ = true;
  }
  wake_.notify_one();
}

std::optional<std::chrono::steady_clock::time_point> WriterQueue::waits_since() const {
  const std::lock_guard lock(mutex_);
  return jobs_.empty() ? std::nullopt : std::optional(since_);
}

void WriterQueue::take(std::vector<WriterJob>& jobs) {
  jobs.clear();
  const std::lock_guard lock(mutex_);
  std::swap(jobs, jobs_);
  bytes_ = 0;
  hurry_ = false;
}

void WriterQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  wake_.notify_all();
}

}  // namespace trawl
