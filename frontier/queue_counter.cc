#include "frontier/queue_counter.h"

#include <system_error>

namespace trawl {

namespace {

using std::chrono::steady_clock;

// URLs that are read without a rest: some ten milliseconds.
constexpr std::uint64_t kUrlsAtOnce = 50'000;

}  // namespace

bool QueueCounter::is_stopping() const {
  const MutexLock lock(mutex_);
  return stopping_;
}

void QueueCounter::rest(steady_clock::duration time) {
  const auto until = steady_clock::now() + time;
  const MutexLock lock(mutex_);
  while (!stopping_ && stopped_.wait_until(mutex_, until)) {
  }
}

void QueueCounter::run() {
  auto began = steady_clock::now();
  std::uint64_t since_rest = 0;
  for (const HostId host : hosts_) {
    std::uint64_t urls = 0;
    bool stops = false;
    const auto read = view_->visit(host, [&] {
      ++urls;
      if (++since_rest < kUrlsAtOnce) return true;
      since_rest = 0;
      if (rests_) rest(steady_clock::now() - began);
      began = steady_clock::now();
      stops = is_stopping();
      return !stops;
    });
    if (stops) break;
    if (read) counted_(host, urls);
  }
  view_.reset();
  hosts_ = std::vector<HostId>();  // "= {}" would keep its memory
}

void QueueCounter::start() {
  rests_ = true;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    run();  // no further thread may be started
  }
}

void QueueCounter::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace trawl
