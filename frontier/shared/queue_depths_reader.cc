#include "frontier/shared/queue_depths_reader.h"

#include <chrono>
#include <utility>

namespace trawl {

namespace {

using std::chrono::steady_clock;

}  // namespace

QueueDepthsReader::QueueDepthsReader(const SharedStore& store, Found found)
    : store_(store), found_(std::move(found)), thread_([this] { run(); }) {}

void QueueDepthsReader::add(std::span<const HostId> hosts) {
  const MutexLock lock(mutex_);
  hosts_.insert(hosts_.end(), hosts.begin(), hosts.end());
  changed_.notify_all();
}

std::size_t QueueDepthsReader::waiting() const {
  const MutexLock lock(mutex_);
  return hosts_.size();
}

void QueueDepthsReader::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool QueueDepthsReader::is_stopping() const {
  const MutexLock lock(mutex_);
  return stopping_;
}

void QueueDepthsReader::rest(steady_clock::duration time) {
  const auto until = steady_clock::now() + time;
  const MutexLock lock(mutex_);
  while (!stopping_ && changed_.wait_until(mutex_, until)) {
  }
}

// An error is that of a bucket that was lost, or of a queue, which is reported when it is leased
// from.
void QueueDepthsReader::run() {
  for (;;) {
    HostId host = 0;
    {
      const MutexLock lock(mutex_);
      while (hosts_.empty() && !stopping_)
        changed_.wait(mutex_);
      if (stopping_) return;
      host = hosts_.front();
    }
    auto began = steady_clock::now();
    static_cast<void>(store_.visit_queue(host, [&](std::span<const QueuedUrl> urls) {
      for (const QueuedUrl& url : urls)
        if (!found_(url.record)) return false;
      rest(steady_clock::now() - began);
      began = steady_clock::now();
      return !is_stopping();
    }));
    const MutexLock lock(mutex_);
    hosts_.pop_front();
  }
}

}  // namespace trawl
