// QueueRestorer: gives the shards, after a restart, the hosts that have URLs in the store.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "trawl/result.h"

#include "base/mutex.h"
#include "frontier/store/store.h"

namespace trawl {

// With very many hosts the frontier is in use before all are restored. The queues are read as they
// were when open() began, on one thread and in the order of hosts. What was queued since reaches
// the shards by way of the commits, so that a shard learns of each URL by one of the two.
//
// A host's stored record may be newer than its queue here. It is right: only a host in memory
// changes its record, and restore() leaves a host that is in memory its own.
class QueueRestorer {
 public:
  struct Calls {
    // For each host, in ascending order.
    std::function<void(HostId, const std::optional<HostRecord>&, const QueueBeginning&)> restore;
    // After some hundred of them: their URLs may be leased.
    std::function<void()> restored_some;
    // After all, unless it was stopped: with the hosts whose queues were not read to their end.
    std::function<void(std::vector<HostId> uncounted)> finished;
    // The store cannot be read, after open() has returned.
    std::function<void(const Error&)> failed;
  };

  QueueRestorer(const Store& store, Calls calls) : store_(store), calls_(std::move(calls)) {}
  ~QueueRestorer() { stop(); }
  QueueRestorer(const QueueRestorer&) = delete;
  QueueRestorer& operator=(const QueueRestorer&) = delete;

  // Restores the hosts on a thread of its own; returns when all are restored, or after `patience`,
  // or when the store cannot be read.
  Result<void> start(std::chrono::milliseconds patience);
  // On the caller's thread.
  Result<void> run();
  // Ends the thread.
  void stop();
  // acquire: pairs with the release when all are restored, so that the caller sees the shards'
  // hosts.
  bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }

 private:
  struct Chunk;
  Result<void> restore_chunk(Chunk& chunk);
  void note_begun();

  const Store& store_;
  const Calls calls_;
  std::vector<HostId> uncounted_;
  std::atomic<bool> done_{false};
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  Condition changed_;
  bool begun_ TRAWL_GUARDED_BY(mutex_) = false;
  // Once it has ended; taken by start(), or else given to `failed`.
  std::optional<Result<void>> ended_ TRAWL_GUARDED_BY(mutex_);
  bool waited_for_ TRAWL_GUARDED_BY(mutex_) = true;
  std::thread thread_;
};

}  // namespace trawl
