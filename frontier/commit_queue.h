// CommitQueue: makes operations durable in groups, so that what is durable is always consistent.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <concurrentqueue/blockingconcurrentqueue.h>

#include "trawl/frontier.h"

#include "filter/operation_gate.h"
#include "frontier/queued_url.h"
#include "frontier/store.h"

namespace trawl {

// What one offer(), complete() or set_host_delay() changes.
struct Operation {
  struct Ended {
    QueueOrder order;
    Lease lease;
    Outcome outcome;
    std::size_t links = 0;
  };
  std::vector<QueuedUrl> admitted;        // their sequences are given when they are committed
  std::vector<Fingerprint> fingerprints;  // of `admitted`
  std::optional<Ended> ended;
  std::optional<std::pair<std::string, std::chrono::milliseconds>> host_delay;
  std::uint64_t seen = 0;
  std::uint64_t invalid = 0;
  std::optional<std::promise<Result<void>>> durable;  // set if somebody waits
  bool stop = false;
};

// One thread commits. It collects a group at a moment when no operation is under way (see
// OperationGate), and writes it as one batch. An operation answers "seen" only from filter bits
// that another one set after entering the gate; that one has left by then, so it is in this group
// or an earlier one: an admission and every "seen" that relied on it become durable together, or
// the admission first (N4). Each operation is in one group, so it is durable whole or not at all
// (N3).
class CommitQueue {
 public:
  using BeforeCommit = std::function<Result<void>(std::span<const Completion>)>;
  // Called after a group became durable, before anybody waiting for it is told.
  using AfterCommit = std::function<void(std::vector<std::unique_ptr<Operation>>& group)>;

  CommitQueue(Store& store, const Counters& counters, BeforeCommit before, AfterCommit after);
  ~CommitQueue() { close(); }

  // Commits what was submitted, then refuses further operations with kClosed and ends the thread.
  void close();

  // Runs `fill(operation)`, which may insert into the filter and sets what the operation changes,
  // as one operation, and queues it. Waits first if the committer is far behind.
  template <class Fill>
  Result<void> submit(Fill&& fill) {
    wait_for_room();
    auto operation = std::make_unique<Operation>();
    const OperationGate::Pass pass(gate_);
    // Inside the gate: an operation that passes this is collected by the committer.
    if (auto open = check(); !open) return open;
    // Once bits are set their URLs must be queued: if memory runs out in between, ending the
    // process loses nothing, going on would lose them.
    [&]() noexcept {
      fill(*operation);
      enqueue(std::move(operation));
    }();
    return {};
  }
  // The same, returning when the operation is durable.
  template <class Fill>
  Result<void> submit_and_wait(Fill&& fill) {
    std::future<Result<void>> durable;
    auto submitted = submit([&](Operation& operation) {
      durable = operation.durable.emplace().get_future();
      fill(operation);
    });
    return submitted ? durable.get() : submitted;
  }
  // Returns when every operation that began before is durable.
  Result<void> flush() {
    return submit_and_wait([](Operation&) {});
  }

  // The totals of what is durable.
  Counters counters() const;
  // The error that stopped the queue, if one did: nothing is committed after it.
  Result<void> check() const;
  // As if a write had failed with `error`.
  void stop_with(Error error);

 private:
  using Group = std::vector<std::unique_ptr<Operation>>;

  void wait_for_room();
  void enqueue(std::unique_ptr<Operation> operation);
  void run();
  void collect(Group& group);
  void finish(Group& group, const Result<void>& result);
  Result<void> commit_unless_stopped(Group& group);
  Result<void> commit(Group& group);
  Result<void> announce(const Group& group) const;

  Store& store_;
  const BeforeCommit before_;
  const AfterCommit after_;
  OperationGate gate_;
  moodycamel::BlockingConcurrentQueue<std::unique_ptr<Operation>> queue_;
  std::atomic<std::uint32_t> queued_{0};
  mutable std::mutex mutex_;  // guards the two below
  Counters counters_;
  std::optional<Error> failure_;
  std::atomic<bool> stopped_{false};  // failure_ is set; spares the mutex until then
  std::thread committer_;
};

}  // namespace trawl
