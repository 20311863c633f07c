#include "frontier/commit_queue.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace trawl {

namespace {

// Operations that may wait for the committer before new ones have to: bounds the memory.
constexpr std::uint32_t kMaxQueued = 4096;

}  // namespace

CommitQueue::CommitQueue(Store& store, const Counters& counters, BeforeCommit before,
                         AfterCommit after)
    : store_(store),
      before_(std::move(before)),
      after_(std::move(after)),
      counters_(counters),
      committer_([this] { run(); }) {}

void CommitQueue::close() {
  if (!committer_.joinable()) return;
  auto operation = std::make_unique<Operation>();
  operation->stop = true;
  enqueue(std::move(operation));
  committer_.join();
}

void CommitQueue::wait_for_room() {
  // acquire: pairs with the release in finish(), so that a failure is seen once room appears.
  for (auto queued = queued_.load(std::memory_order_acquire); queued >= kMaxQueued;
       queued = queued_.load(std::memory_order_acquire)) {
    queued_.wait(queued, std::memory_order_acquire);
  }
}

void CommitQueue::enqueue(std::unique_ptr<Operation> operation) {
  queued_.fetch_add(1, std::memory_order_relaxed);
  // False only if memory runs out; see submit().
  if (!queue_.enqueue(std::move(operation))) std::abort();
}

Counters CommitQueue::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

Result<void> CommitQueue::check() const {
  // acquire: pairs with the release in stop_with(). Who passes the gate after the committer set it
  // sees it at the latest then.
  if (!stopped_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  return tl::unexpected(*failure_);
}

void CommitQueue::stop_with(Error error) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(error);
  stopped_.store(true, std::memory_order_release);
}

void CommitQueue::run() {
  for (bool stop = false; !stop;) {
    Group group(1);
    queue_.wait_dequeue(group.front());
    collect(group);
    stop = std::ranges::any_of(group, [](const auto& operation) { return operation->stop; });
    finish(group, commit_unless_stopped(group));
  }
  const auto before = check();
  stop_with({ErrorCode::kClosed, "the frontier is closed"});
  // Operations that passed check() before that are in the queue at the next quiescence, and are
  // committed like the others; there are none after it.
  Group late;
  collect(late);
  finish(late, before ? commit(late) : before);
}

Result<void> CommitQueue::commit_unless_stopped(Group& group) {
  auto done = check().and_then([&] { return commit(group); });
  if (!done) stop_with(done.error());
  return done;
}

// Adds to the group every operation that has left the gate and was not taken before.
void CommitQueue::collect(Group& group) {
  gate_.at_quiescence([&] {
    std::unique_ptr<Operation> operation;
    while (queue_.try_dequeue(operation))
      group.push_back(std::move(operation));
  });
}

void CommitQueue::finish(Group& group, const Result<void>& result) {
  for (auto& operation : group) {
    if (operation->durable) operation->durable->set_value(result);
  }
  // release: pairs with the load in wait_for_room().
  queued_.fetch_sub(static_cast<std::uint32_t>(group.size()), std::memory_order_release);
  queued_.notify_all();
}

Result<void> CommitQueue::announce(const Group& group) const {
  if (!before_) return {};
  std::vector<Completion> completions;
  for (const auto& operation : group) {
    if (!operation->ended) continue;
    const auto& [order, lease, outcome, links] = *operation->ended;
    completions.push_back({.lease = lease,
                           .outcome = outcome,
                           .links = links,
                           .new_links = operation->admitted.size()});
  }
  return completions.empty() ? Result<void>{} : before_(completions);
}

Result<void> CommitQueue::commit(Group& group) {
  if (group.empty()) return {};
  Store::Batch batch;
  Counters totals = counters();
  const std::uint64_t first = totals.admitted;
  std::vector<Fingerprint> fingerprints;
  for (auto& operation : group) {
    for (QueuedUrl& url : operation->admitted) {
      url.order.sequence = totals.admitted++;
      batch.add_pending(url);
    }
    std::ranges::copy(operation->fingerprints, std::back_inserter(fingerprints));
    if (operation->ended) {
      batch.remove_pending(operation->ended->lease.host, operation->ended->order);
      ++totals.completed;
      totals.failed += operation->ended->outcome.error.empty() ? 0 : 1;
      totals.skipped += operation->ended->outcome.requested ? 0 : 1;
    }
    if (operation->host_delay) {
      batch.set_host_delay(operation->host_delay->first, operation->host_delay->second);
    }
    totals.seen += operation->seen;
    totals.invalid += operation->invalid;
  }
  if (!fingerprints.empty()) batch.log_admissions(first, fingerprints);
  batch.set_counters(totals);

  if (auto announced = announce(group); !announced) return announced;
  if (auto written = store_.write(batch); !written) return written;
  {
    const std::lock_guard lock(mutex_);
    counters_ = totals;
  }
  after_(group);
  return {};
}

}  // namespace trawl
