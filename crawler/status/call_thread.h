// CallThread: a thread that runs calls one after the other. It is started by the first call.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace trawl {

class CallThread {
 public:
  // At most `limit` calls wait.
  explicit CallThread(std::size_t limit) : limit_(limit) {}
  ~CallThread() { stop(); }

  // Returns false if too many calls wait, no thread can be started, or after stop(). `call` must
  // not throw.
  bool submit(std::function<void()> call);
  // Waits for the call that runs; the others are dropped.
  void stop();

 private:
  void run();

  const std::size_t limit_;
  Mutex mutex_;
  Condition changed_;
  std::deque<std::function<void()>> waiting_ TRAWL_GUARDED_BY(mutex_);
  bool stopped_ TRAWL_GUARDED_BY(mutex_) = false;
  bool started_ TRAWL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace trawl
