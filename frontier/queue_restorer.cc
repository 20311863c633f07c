#include "frontier/queue_restorer.h"

#include <system_error>
#include <utility>

#include "frontier/schedule/queue_head_cache.h"

namespace trawl {

// Hosts whose records are read together.
struct QueueRestorer::Chunk {
  static constexpr std::size_t kHosts = 4096;
  std::vector<std::pair<HostId, QueueBeginning>> hosts;
};

Result<void> QueueRestorer::start(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  try {
    thread_ = std::thread([this] {
      auto done = run();
      const MutexLock lock(mutex_);
      if (!done && !waited_for_) calls_.failed(done.error());
      ended_ = std::move(done);
      changed_.notify_all();
    });
  } catch (const std::system_error&) {
    return run();  // no further thread may be started
  }
  const MutexLock lock(mutex_);
  // Its view of the queues must be from before the first operation.
  while (!ended_ && !begun_)
    changed_.wait(mutex_);
  while (!ended_ && changed_.wait_until(mutex_, until)) {
  }
  waited_for_ = false;
  return ended_.value_or(Result<void>());
}

void QueueRestorer::stop() {
  // Relaxed: publishes no other data.
  stopping_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void QueueRestorer::note_begun() {
  const MutexLock lock(mutex_);
  if (std::exchange(begun_, true)) return;
  changed_.notify_all();
}

Result<void> QueueRestorer::run() {
  Chunk chunk;
  Result<void> done;
  auto read = store_.visit_queues(
      0, QueueHeadCache::kFewUrls, [&](HostId host, const QueueBeginning& queue) {
        if (chunk.hosts.empty()) note_begun();
        chunk.hosts.emplace_back(host, queue);
        if (chunk.hosts.size() < Chunk::kHosts) return true;
        done = restore_chunk(chunk);
        return done.has_value() && !stopping_.load(std::memory_order_relaxed);
      });
  if (!read) return read;
  if (done) done = restore_chunk(chunk);
  if (!done || stopping_.load(std::memory_order_relaxed)) return done;
  calls_.finished(std::move(uncounted_));
  // release: pairs with is_done().
  done_.store(true, std::memory_order_release);
  calls_.restored_some();
  return done;
}

Result<void> QueueRestorer::restore_chunk(Chunk& chunk) {
  if (chunk.hosts.empty()) return {};
  auto next = chunk.hosts.begin();
  // Hosts before this one have their records, or none.
  const auto restore_before = [&](HostId host) {
    for (; next != chunk.hosts.end() && next->first < host; ++next)
      calls_.restore(next->first, std::nullopt, next->second);
  };
  const HostId last = chunk.hosts.back().first;
  auto read = store_.visit_hosts(chunk.hosts.front().first, [&](HostId host, HostRecord record) {
    if (host > last) return false;
    restore_before(host);
    if (next != chunk.hosts.end() && next->first == host) {
      calls_.restore(host, record, next->second);
      ++next;
    }
    return true;
  });
  if (!read) return read;
  restore_before(last);
  if (next != chunk.hosts.end()) calls_.restore(next->first, std::nullopt, next->second);
  for (const auto& [host, queue] : chunk.hosts) {
    if (!queue.whole) uncounted_.push_back(host);
  }
  chunk.hosts.clear();
  calls_.restored_some();
  return {};
}

}  // namespace trawl
