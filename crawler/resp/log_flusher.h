// LogFlusher: the thread that makes the log durable at intervals.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/mutex.h"
#include "crawler/resp/filter_log.h"

namespace trawl::resp {

class LogFlusher {
 public:
  using Note = std::function<void(std::string_view)>;

  // Commits every half interval, so that a record waits for at most an interval if the disk takes
  // less than the other half. It calls `note` when it begins and ends to fail.
  LogFlusher(FilterLog& log, std::chrono::milliseconds interval, Note note);
  ~LogFlusher();
  // Commits at once: much waits.
  void hurry();
  LogFlusher(const LogFlusher&) = delete;
  LogFlusher& operator=(const LogFlusher&) = delete;

 private:
  void run();

  FilterLog& log_;
  const std::chrono::milliseconds interval_;
  const Note note_;
  Mutex mutex_;
  Condition changed_;
  bool stopping_ TRAWL_GUARDED_BY(mutex_) = false;
  bool hurry_ TRAWL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace trawl::resp
