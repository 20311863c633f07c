// CommitQueue: makes operations durable in groups, so that what is durable is always consistent.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <concurrentqueue/concurrentqueue.h>

#include "trawl/result.h"

#include "base/mutex.h"
#include "base/operation_gate.h"
#include "frontier/commit/group_writer.h"
#include "frontier/commit/operation.h"

namespace trawl {

// One thread commits. It collects a group at a moment when no operation is under way (see
// OperationGate), and writes it as one batch. An operation answers "seen" only from filter bits
// that another one set after entering the gate; that one has left by then, so it is in this group
// or an earlier one: an admission and every "seen" that relied on it become durable together, or
// the admission first (N4). Each operation is in one group, so it is durable whole or not at all
// (N3).
//
// A group costs about as much as several operations, and so does waking the committer. So it takes
// its time: what comes in is committed within kPatience, sooner if somebody waits for it or calls
// hurry(), and at once if there was nothing to commit for a while.
class CommitQueue {
 public:
  static constexpr std::chrono::milliseconds kPatience{1};

  // `max_bytes`: of the operations that may wait before new ones have to.
  CommitQueue(GroupWriter& writer, std::uint64_t max_bytes);
  // Without a close() before it, nobody learns of an error.
  ~CommitQueue() { static_cast<void>(close()); }

  // Commits what was submitted, then refuses further operations with kClosed and ends the thread.
  // The error that stopped it before, if one did.
  Result<void> close();

  // Runs `fill(operation)`, which may insert into the filter and sets what the operation changes,
  // as one operation, and queues it. Waits first if the committer is far behind.
  template <class Fill>
  Result<void> submit(Fill&& fill) {
    wait_for_room();
    auto operation = std::make_unique<Operation>();
    const OperationGate::Pass pass(gate_);
    begin();
    // Inside the gate: an operation that passes this is collected by the committer.
    if (auto open = check(); !open) {
      end(1);
      return open;
    }
    // Once bits are set their URLs must be queued: if memory runs out in between, ending the
    // process loses nothing, going on would lose them.
    [&]() noexcept {
      fill(*operation);
      enqueue(std::move(operation));
    }();
    return {};
  }
  // The same, returning when the operation, and all that it relied on, is durable.
  template <class Fill>
  Result<void> submit_and_wait(Fill&& fill) {
    std::future<Result<void>> durable;
    bool settled = false;
    auto submitted = submit([&](Operation& operation) {
      fill(operation);
      settled = operation.changes_nothing() && is_alone();
      operation.durable_already = settled;
      if (!settled) durable = operation.durable.emplace().get_future();
    });
    if (!submitted) return submitted;
    // Nothing is under way, perhaps because it failed.
    return settled ? check() : durable.get();
  }
  // Returns when every operation that began before is durable, and all counts are.
  Result<void> flush() {
    return submit_and_wait([](Operation& operation) { operation.flush = true; });
  }

  // What was submitted is to be committed now: whoever calls has nothing to do until it is.
  void hurry() noexcept;
  // Operations that wait for that.
  std::uint64_t queued() const noexcept { return queued_.load(std::memory_order_relaxed); }

  // The totals of what is durable.
  Counters counters() const { return writer_.counters(); }
  // Odd while a group is being committed and its shards are told, another one after each.
  std::uint64_t commit_number() const noexcept {
    // acquire: pairs with write(), so that who sees a number sees what was done before it.
    return commit_number_.load(std::memory_order_acquire);
  }
  // Bytes of the operations that wait or are being committed.
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  // The error that stopped the queue, if one did: nothing is committed after it.
  Result<void> check() const;
  // As if a write had failed with `error`.
  void stop_with(Error error);

 private:
  // From before an operation does anything until it is durable.
  void begin() noexcept {
    // release: see is_alone().
    unsettled_.fetch_add(1, std::memory_order_acq_rel);
  }
  void end(std::uint32_t operations) noexcept {
    // release: who sees them ended sees them durable, or the queue stopped; pairs with is_alone().
    unsettled_.fetch_sub(operations, std::memory_order_release);
  }
  // Asked by an operation inside the gate, after it looked at the filter: true if all others that
  // it may have relied on have ended. One whose bits it saw began before it set them, so that its
  // beginning is seen here too.
  bool is_alone() const noexcept {
    // acquire: pairs with the filter's writes of bits, which release.
    std::atomic_thread_fence(std::memory_order_acquire);
    // acquire: pairs with end().
    return unsettled_.load(std::memory_order_acquire) == 1;
  }
  // What the committer does when it does nothing.
  enum class Rest : std::uint8_t {
    kNone,
    kDozing,  // looks by itself before long
    kAsleep,  // until something comes
  };
  void wait_for_room();
  void enqueue(std::unique_ptr<Operation> operation);
  void add_to_queue(std::unique_ptr<Operation> operation);
  // Wakes the committer from such a rest.
  void wake() noexcept;
  void run();
  void wait_for_operations();
  void rest(Rest how);
  OperationGroup collect();
  void finish(OperationGroup& group, const Result<void>& result, bool last);
  Result<void> commit_unless_stopped(OperationGroup& group);
  Result<void> write(OperationGroup& group);

  GroupWriter& writer_;
  const std::uint64_t max_bytes_;
  OperationGate gate_;
  moodycamel::ConcurrentQueue<std::unique_ptr<Operation>> queue_;
  std::atomic<std::uint64_t> queued_{0};  // operations in it, or about to be taken out
  std::atomic<bool> hurry_{false};
  std::atomic<Rest> rest_{Rest::kNone};  // changed under resting_
  Mutex resting_;
  Condition woken_;
  bool may_wait_ TRAWL_GUARDED_BY(resting_) = false;  // for woken_
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> commit_number_{0};
  std::atomic<std::uint32_t> unsettled_{0};  // operations that began and have not ended
  mutable Mutex mutex_;
  std::optional<Error> failure_ TRAWL_GUARDED_BY(mutex_);
  std::atomic<bool> stopped_{false};  // failure_ is set; spares the mutex until then
  Result<void> end_;                  // how it went until the thread ended
  std::thread committer_;
};

}  // namespace trawl
