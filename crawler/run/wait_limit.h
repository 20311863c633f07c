// WaitLimit: ends waits for a service that is away, for a crawl that is to end.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "base/mutex.h"

namespace trawl {

// Calls `end` once when `waits` has been true for a while, or at once if `hurries`. On a thread of
// its own, since those who wait cannot look.
class WaitLimit {
 public:
  static constexpr std::chrono::seconds kPatience{5};

  WaitLimit(std::function<bool()> waits, std::function<bool()> hurries, std::function<void()> end)
      : waits_(std::move(waits)),
        hurries_(std::move(hurries)),
        end_(std::move(end)),
        thread_([this] { run(); }) {}
  ~WaitLimit() {
    {
      const MutexLock lock(mutex_);
      stops_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  WaitLimit(const WaitLimit&) = delete;
  WaitLimit& operator=(const WaitLimit&) = delete;

 private:
  void run() {
    using Clock = std::chrono::steady_clock;
    auto since = Clock::now();
    const MutexLock lock(mutex_);
    while (!stops_) {
      const auto now = Clock::now();
      if (!waits_()) since = now;
      if (now > since && (hurries_() || now >= since + kPatience)) return end_();
      changed_.wait_until(mutex_, now + std::chrono::milliseconds(100));
    }
  }

  const std::function<bool()> waits_, hurries_;
  const std::function<void()> end_;
  Mutex mutex_;
  Condition changed_;
  bool stops_ TRAWL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace trawl
