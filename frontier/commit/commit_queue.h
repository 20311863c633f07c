// CommitQueue: makes operations durable in groups, so that what is durable is always consistent.
#pragma once

#include <atomic>
#include <cassert>
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

// One thread at a time commits: the committer, or a caller in its place (see help()). It collects a
// group at a quiescence, a moment when no operation is inside the gate (see OperationGate), and
// writes it as one batch. committing_ is held from before the quiescence until the group is durable
// and its callers are answered, so that groups are written one by one in the order in which they
// were collected, by whichever thread; N3 and N4 rest on that order alone.
//
// N4: suppose operation B answers "seen" because of bits that operation A set. A set them inside
// the gate. When B's group is collected, no operation is inside the gate, so A has left it: A is in
// B's group or in an earlier one. So an admission is durable no later than every "seen" answer that
// relied on it.
//
// N3: each operation is in exactly one group, so it is durable as a whole or not at all.
//
// A store on several machines may lose one part of a batch and keep another. There an operation has
// its end of a lease follow it (Operation::then): it is queued when the group is durable, which
// keeps N3 and N4 without their being one batch, since all that was answered before is in this
// group or an earlier one.
//
// All this is the work of one thread at a time, so it is little for a URL: a thread that admits
// URLs encodes them (QueueRun) and, if they are many, writes them to a file, so that the committer
// only writes their fingerprints and a reference to them. Their order in memory is made by those
// who read it, and the shards' inboxes are processed by threads that lease or offer.
// bench/serial_parts.py measures what is left.
//
// Writing a group costs about as much as several operations, and so does waking the committer. So
// operations are committed within `max_delay`, sooner if a caller waits or calls hurry(), and
// immediately after an idle time. A caller that waits commits the group itself unless another
// thread is committing or the group is large: a switch between threads costs more than a small
// group.
class CommitQueue {
 public:
  static constexpr std::chrono::milliseconds kMaxDelay{1};

  // `max_bytes`: when the queued operations take this much memory, new ones wait. `max_delay`: how
  // long operations that nobody waits for are collected.
  CommitQueue(GroupWriter& writer, std::uint64_t max_bytes,
              std::chrono::milliseconds max_delay = kMaxDelay);
  // Without a close() before, an error is lost.
  ~CommitQueue() { static_cast<void>(close()); }

  // Commits everything submitted, then refuses further operations with kClosed and ends the thread.
  // Returns the error that stopped the queue before, if any.
  Result<void> close();

  // Runs `fill(operation)` inside the gate and queues the operation. `fill` may insert into the
  // filter and sets what the operation changes. Waits first if the queue is full.
  template <class Fill>
  Result<void> submit(Fill&& fill) {
    wait_for_room();
    auto operation = std::make_unique<Operation>();
    std::shared_ptr<QueueRun> run;
    {
      const OperationGate::Pass pass(gate_);
      begin();
      // Inside the gate: an operation that passes this check is collected by the committer.
      if (auto open = check(); !open) {
        end(1);
        return open;
      }
      // noexcept: once bits are set their URLs must be queued. If memory runs out in between,
      // ending the process loses nothing, whereas continuing would lose the URLs.
      [&]() noexcept {
        fill(*operation);
        run = operation->queued;
        if (run) run->begin_writing();
        enqueue(std::move(operation));
      }();
    }
    // Outside the gate, which others may be waiting to pass; the committer waits for it.
    if (run) writer_.write_ahead(*run);
    return {};
  }
  // The same, but returns when the operation, and all that it relied on, is durable.
  template <class Fill>
  Result<void> submit_and_wait(Fill&& fill) {
    std::future<Result<void>> durable;
    bool settled = false;
    auto submitted = submit([&](Operation& operation) {
      fill(operation);
      settled = operation.changes_nothing() && is_alone();
      operation.durable_already = settled;
      operation.hurries = false;
      if (!settled) durable = operation.durable.emplace().get_future();
    });
    if (!submitted) return submitted;
    // No operation is unsettled, or the queue has stopped.
    if (settled) return check();
    help();
    return durable.get();
  }
  // The same as submit(); the future is set when the operation, and all that it relied on, is
  // durable, which is soon, as if a caller waited.
  template <class Fill>
  Result<std::future<Result<void>>> submit_watched(Fill&& fill) {
    std::future<Result<void>> durable;
    auto submitted = submit([&](Operation& operation) {
      fill(operation);
      durable = operation.durable.emplace().get_future();
    });
    if (!submitted) return tl::unexpected(submitted.error());
    return durable;
  }
  // Returns when every operation that began before is durable, including all counts; then what
  // follows it is queued.
  Result<void> flush() {
    return submit_and_wait([](Operation& operation) { operation.flush = true; });
  }

  // Has what was submitted committed without further waiting.
  void hurry() noexcept;
  // The same; the caller commits it itself if that is quicker. Not called inside the gate.
  void help();
  // The number of queued operations.
  std::uint64_t queued() const noexcept { return queued_.load(std::memory_order_relaxed); }

  // The durable totals.
  Counters counters() const { return writer_.partitions().counters(); }
  // Odd while a group is committed and passed to the shards; each commit adds 2, except of a group
  // that moves nothing: what was seen of all URLs before it still holds.
  std::uint64_t commit_number() const noexcept {
    // acquire: pairs with write(), so that a reader of the number sees what happened before it.
    return commit_number_.load(std::memory_order_acquire);
  }
  // How long the commits took.
  DurationHistogram times() const;
  // Memory of the operations that are queued or being committed.
  std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  // The error that stopped the queue, if any: nothing is committed after it.
  Result<void> check() const;
  // Stops the queue as a write that failed with `error` does.
  void stop_with(Error error);

 private:
  // An operation is unsettled from begin(), before it does anything, to end(), when it is durable.
  void begin() noexcept {
    // acq_rel: pairs with is_alone(): a thread that sees the bits that this operation sets sees
    // that it began.
    unsettled_.fetch_add(1, std::memory_order_acq_rel);
  }
  void end(std::uint32_t operations) noexcept {
    // release: pairs with is_alone(), so that a thread that sees them ended sees them durable or
    // the queue stopped.
    [[maybe_unused]] const std::uint32_t before =
        unsettled_.fetch_sub(operations, std::memory_order_release);
    assert(before >= operations);
  }
  // Called by an operation inside the gate, after its filter lookups: true if all operations that
  // it may have relied on have ended. An operation whose bits it saw called begin() before it set
  // them, so that its begin() is visible here.
  bool is_alone() const noexcept {
    // acquire: pairs with the filter's release writes of bits.
    std::atomic_thread_fence(std::memory_order_acquire);
    // acquire: pairs with end().
    return unsettled_.load(std::memory_order_acquire) == 1;
  }
  // How the committer rests.
  enum class Rest : std::uint8_t {
    kNone,
    kDozing,  // for max_delay_ at most
    kAsleep,  // until an operation arrives
  };
  void wait_for_room();
  void enqueue(std::unique_ptr<Operation> operation);
  void add_to_queue(std::unique_ptr<Operation> operation);
  // Wakes the committer from its rest.
  void wake() noexcept;
  void run();
  // True if the group had the operation of close().
  bool commit_group() TRAWL_REQUIRES(committing_);
  void wait_for_operations();
  void rest(Rest how);
  OperationGroup collect() TRAWL_REQUIRES(committing_);
  // Queues what follows the operations of a durable group; those have their callers wait for it.
  void queue_what_follows(OperationGroup& group) TRAWL_REQUIRES(committing_);
  void finish(OperationGroup& group, const Result<void>& result, bool last)
      TRAWL_REQUIRES(committing_);
  Result<void> commit_unless_stopped(OperationGroup& group) TRAWL_REQUIRES(committing_);
  Result<void> write(OperationGroup& group) TRAWL_REQUIRES(committing_);

  GroupWriter& writer_;
  const std::uint64_t max_bytes_;
  const std::chrono::milliseconds max_delay_;
  OperationGate gate_;
  Mutex committing_;                                    // of the thread that commits
  bool closing_ TRAWL_GUARDED_BY(committing_) = false;  // only the committer commits from now on
  moodycamel::ConcurrentQueue<std::unique_ptr<Operation>> queue_;
  std::atomic<std::uint64_t> queued_{0};  // operations in queue_
  std::atomic<bool> hurry_{false};
  std::atomic<Rest> rest_{Rest::kNone};
  Mutex resting_;
  Condition woken_;
  bool may_wait_ TRAWL_GUARDED_BY(resting_) = false;  // for woken_
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> commit_number_{0};
  std::atomic<std::uint32_t> unsettled_{0};  // operations between begin() and end()
  mutable Mutex mutex_;
  std::optional<Error> failure_ TRAWL_GUARDED_BY(mutex_);
  DurationHistogram times_ TRAWL_GUARDED_BY(mutex_);
  std::atomic<bool> stopped_{false};  // failure_ is set; avoids the mutex until then
  Result<void> end_;                  // the result when the thread ended
  std::thread committer_;
};

}  // namespace trawl
