#include "crawler/status/call_thread.h"

#include <system_error>
#include <utility>

namespace trawl {

bool CallThread::submit(std::function<void()> call) {
  const MutexLock lock(mutex_);
  if (stopped_ || waiting_.size() >= limit_) return false;
  if (!started_) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      return false;
    }
    started_ = true;
  }
  waiting_.push_back(std::move(call));
  changed_.notify_one();
  return true;
}

void CallThread::stop() {
  std::deque<std::function<void()>> dropped;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    dropped.swap(waiting_);
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void CallThread::run() {
  for (;;) {
    std::function<void()> call;
    {
      const MutexLock lock(mutex_);
      while (!stopped_ && waiting_.empty())
        changed_.wait(mutex_);
      if (stopped_) return;
      call = std::move(waiting_.front());
      waiting_.pop_front();
    }
    call();
  }
}

}  // namespace trawl
