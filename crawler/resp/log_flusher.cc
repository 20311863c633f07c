#include "crawler/resp/log_flusher.h"

#include <algorithm>
#include <utility>

namespace trawl::resp {

LogFlusher::LogFlusher(FilterLog& log, std::chrono::milliseconds interval, Note note)
    : log_(log), interval_(interval), note_(std::move(note)), thread_([this] { run(); }) {}

LogFlusher::~LogFlusher() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LogFlusher::hurry() {
  {
    const MutexLock lock(mutex_);
    if (hurry_) return;
    hurry_ = true;
  }
  changed_.notify_all();
}

void LogFlusher::run() {
  const auto pause = std::max(interval_ / 2, std::chrono::milliseconds(1));
  bool failing = false;
  // The pause counts from the begin of a commit: what is appended while one goes on waits for its
  // end and the next one's.
  auto next = std::chrono::steady_clock::now() + pause;
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!stopping_ && !(hurry_ && !failing) && std::chrono::steady_clock::now() < next)
        changed_.wait_until(mutex_, next);
      if (stopping_) return;
      hurry_ = false;
    }
    next = std::chrono::steady_clock::now() + pause;
    const auto committed = log_.commit();
    if (!committed && !failing) note_(committed.error().message + "; changes are refused");
    if (committed && failing) note_("the log is written again");
    failing = !committed;
  }
}

}  // namespace trawl::resp
