// Committing, and how the commit thread sleeps and wakes. commit_queue.h has the argument for
// consistency.
//
// Waking a thread costs more than queueing an operation, so most operations wake nobody: the
// committer dozes for max_delay_ and then takes what came in. Three things end a doze early: an
// urgent operation, kEnough queued operations, and hurry(). A caller that waits commits itself, or,
// if it cannot, hurries (help()): its operation wakes nobody by being queued. After
// kDozesBeforeSleep dozes without work the committer sleeps until an operation arrives. A wake-up
// cannot get lost: rest() publishes its state before it checks the queue, add_to_queue() counts its
// operation before it checks the state, and both are sequentially consistent.
#include "frontier/commit/commit_queue.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdlib>

namespace trawl {

namespace {

Result<void> not_owned() {
  return error(ErrorCode::kUnavailable,
               "the host's bucket does not belong to this crawler now: ask again later");
}

// This many operations are committed without further waiting.
constexpr std::uint64_t kEnough = 256;
// Dozes without work after which the committer sleeps.
constexpr int kDozesBeforeSleep = 10;

// The most that a caller commits in the committer's place: the operations of a few calls. Beyond
// it a caller would be held up by the work of others.
constexpr std::uint64_t kHelpedOperations = 64;
constexpr std::uint64_t kHelpedBytes = 1u << 20;

bool is_urgent(const Operation& operation) {
  return (operation.durable && operation.hurries) || operation.stop || operation.promote ||
         operation.drop;
}

}  // namespace

CommitQueue::CommitQueue(GroupWriter& writer, std::uint64_t max_bytes,
                         std::chrono::milliseconds max_delay)
    : writer_(writer),
      max_bytes_(max_bytes),
      max_delay_(max_delay),
      committer_([this] { run(); }) {}

Result<void> CommitQueue::close() {
  if (!committer_.joinable()) return {};
  {
    const MutexLock lock(committing_);
    closing_ = true;
  }
  auto operation = std::make_unique<Operation>();
  operation->stop = true;
  begin();
  enqueue(std::move(operation));
  committer_.join();
  return end_;
}

// M1: who is faster than the committer waits.
void CommitQueue::wait_for_room() {
  // acquire: pairs with the release in finish(), so that a failure is seen once room appears.
  for (auto bytes = bytes_.load(std::memory_order_acquire); bytes >= max_bytes_;
       bytes = bytes_.load(std::memory_order_acquire)) {
    hurry();
    bytes_.wait(bytes, std::memory_order_acquire);
  }
}

void CommitQueue::enqueue(std::unique_ptr<Operation> operation) {
  if (operation->durable_already) {
    assert(operation->changes_nothing() && !operation->durable);
    writer_.partitions().count_offers(operation->seen, operation->invalid);
    return end(1);
  }
  operation->bytes = operation->size();
  bytes_.fetch_add(operation->bytes, std::memory_order_relaxed);
  add_to_queue(std::move(operation));
}

void CommitQueue::add_to_queue(std::unique_ptr<Operation> operation) {
  const bool urgent = is_urgent(*operation);
  const bool helped = operation->durable && !operation->hurries;
  // Fails only if memory runs out; see submit().
  if (!queue_.enqueue(std::move(operation))) std::abort();
  // seq_cst, pairs with rest(): either the committer sees this operation before it sleeps, or this
  // thread sees that it sleeps.
  const std::uint64_t queued = queued_.fetch_add(1, std::memory_order_seq_cst) + 1;
  if (urgent || queued == kEnough) return hurry();
  if (helped) return;
  if (rest_.load(std::memory_order_seq_cst) == Rest::kAsleep) wake();
}

void CommitQueue::hurry() noexcept {
  // All seq_cst: as in add_to_queue().
  if (queued_.load(std::memory_order_seq_cst) == 0) return;
  hurry_.store(true, std::memory_order_seq_cst);
  if (rest_.load(std::memory_order_seq_cst) != Rest::kNone) wake();
}

void CommitQueue::wake() noexcept {
  {
    // With the lock held the committer is either waiting on the condition, or will check its
    // condition again before it waits.
    const MutexLock lock(resting_);
    if (!may_wait_) return;
  }
  woken_.notify_one();
}

Result<void> CommitQueue::check() const {
  // acquire: pairs with the release in stop_with(). An operation that enters the gate after a
  // quiescence that follows it sees it.
  if (!stopped_.load(std::memory_order_acquire)) return {};
  const MutexLock lock(mutex_);
  return tl::unexpected(*failure_);
}

// E1: after a failed write no operation is accepted.
void CommitQueue::stop_with(Error error) {
  const MutexLock lock(mutex_);
  if (!failure_) failure_ = std::move(error);
  // release: pairs with the acquire in check().
  stopped_.store(true, std::memory_order_release);
}

// If another thread is committing, it may have collected its group before the caller's operation
// was queued: then the committer takes the rest, as soon as that thread has ended.
void CommitQueue::help() {
  // Relaxed: the caller's own operations are counted, unless they have been collected.
  if (queued_.load(std::memory_order_relaxed) == 0) return;
  const bool small = queued_.load(std::memory_order_relaxed) <= kHelpedOperations &&
                     bytes_.load(std::memory_order_relaxed) <= kHelpedBytes;
  if (!small || !committing_.try_lock()) return hurry();
  const bool may_commit = !closing_;
  if (may_commit && queued_.load(std::memory_order_relaxed) > 0) commit_group();
  committing_.unlock();
  if (!may_commit) hurry();
}

bool CommitQueue::commit_group() {
  OperationGroup group = collect();
  const bool stop =
      std::ranges::any_of(group, [](const auto& operation) { return operation->stop; });
  finish(group, commit_unless_stopped(group), false);
  return stop;
}

void CommitQueue::run() {
  for (bool stop = false; !stop;) {
    wait_for_operations();
    const MutexLock lock(committing_);
    stop = commit_group();
  }
  const MutexLock lock(committing_);
  const auto before = check();
  stop_with({ErrorCode::kClosed, "the frontier is closed"});
  // Operations that passed check() before are in the queue at the next quiescence and are committed
  // like the others, and so is what follows them; after it there are none.
  end_ = before;
  do {
    OperationGroup late = collect();
    if (end_) end_ = write(late);
    finish(late, end_, true);
  } while (queued_.load(std::memory_order_relaxed) > 0);
}

// Returns when there are operations to commit.
void CommitQueue::wait_for_operations() {
  for (int dozes = 0;; ++dozes) {
    rest(dozes < kDozesBeforeSleep ? Rest::kDozing : Rest::kAsleep);
    // acquire, both: pair with hurry() and add_to_queue(), so that their callers' operations are
    // seen.
    const bool hurry = hurry_.exchange(false, std::memory_order_acquire);
    if (queued_.load(std::memory_order_acquire) > 0) return;
    if (hurry) dozes = 0;
  }
}

void CommitQueue::rest(Rest how) {
  const MutexLock lock(resting_);
  may_wait_ = true;
  // seq_cst, here and below: pairs with add_to_queue() and hurry(), as said there.
  rest_.store(how, std::memory_order_seq_cst);
  const auto enough = [&] {
    return hurry_.load(std::memory_order_seq_cst) ||
           (how == Rest::kAsleep && queued_.load(std::memory_order_seq_cst) > 0);
  };
  if (how == Rest::kAsleep) {
    while (!enough())
      woken_.wait(resting_);
  } else {
    const auto end = std::chrono::steady_clock::now() + max_delay_;
    while (!enough() && woken_.wait_until(resting_, end)) {
    }
  }
  rest_.store(Rest::kNone, std::memory_order_relaxed);
  may_wait_ = false;
}

Result<void> CommitQueue::commit_unless_stopped(OperationGroup& group) {
  auto done = check().and_then([&] {
    committing_.assert_held();
    return write(group);
  });
  if (!done) stop_with(done.error());
  return done;
}

// Another thread may have committed what this one was woken for.
Result<void> CommitQueue::write(OperationGroup& group) {
  if (group.empty()) return {};
  assert(commit_number_.load(std::memory_order_relaxed) % 2 == 0);
  const bool moves =
      std::ranges::any_of(group, [](const auto& operation) { return !operation->moves_nothing(); });
  // acq_rel, both: pair with commit_number(), and keep the commit's effects between the two.
  if (moves) commit_number_.fetch_add(1, std::memory_order_acq_rel);
  const auto began = std::chrono::steady_clock::now();
  auto done = writer_.write(group);
  {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const MutexLock lock(mutex_);
    times_.add(took.count());
  }
  if (moves) commit_number_.fetch_add(1, std::memory_order_acq_rel);
  return done;
}

DurationHistogram CommitQueue::times() const {
  const MutexLock lock(mutex_);
  return times_;
}

// Takes every operation that has left the gate.
OperationGroup CommitQueue::collect() {
  OperationGroup group;
  // N3, N4: no operation is under way. Each is taken whole, and all that its "seen" answers relied
  // on is in this group or was in one before.
  gate_.at_quiescence([&] {
    std::unique_ptr<Operation> operation;
    while (queue_.try_dequeue(operation))
      group.push_back(std::move(operation));
    // Operations that have left the gate are counted in queued_, except possibly the last one, that
    // of close(), which may be counted after this.
    queued_.fetch_sub(group.size(), std::memory_order_relaxed);
  });
  return group;
}

void CommitQueue::queue_what_follows(OperationGroup& group) {
  for (auto& operation : group) {
    if (!operation->then) continue;
    std::unique_ptr<Operation> following = std::move(operation->then);
    if (!following->durable) following->durable = std::exchange(operation->durable, std::nullopt);
    following->bytes = following->size();
    bytes_.fetch_add(following->bytes, std::memory_order_relaxed);
    begin();
    add_to_queue(std::move(following));
  }
}

// What follows is queued first, so that a caller that waited for this group finds it queued.
void CommitQueue::finish(OperationGroup& group, const Result<void>& result, bool last) {
  if (result) queue_what_follows(group);
  std::uint64_t bytes = 0;
  std::uint32_t ended = 0;
  for (auto& operation : group) {
    assert(!operation->drop || operation->durable);  // somebody waits for it
    if (result && operation->drop && !operation->drop->done) {
      if (!last) {  // its next part goes into the next group
        add_to_queue(std::move(operation));
        continue;
      }
      operation->durable->set_value(
          error(ErrorCode::kClosed,
                "the frontier was closed before all of the host's URLs were dropped"));
    } else if (operation->durable) {
      operation->durable->set_value(result && operation->lost ? not_owned() : result);
    }
    if (operation->done) operation->done(result);
    bytes += operation->bytes;
    ++ended;
  }
  end(ended);
  assert(bytes_.load(std::memory_order_relaxed) >= bytes);
  // release: pairs with the load in wait_for_room().
  bytes_.fetch_sub(bytes, std::memory_order_release);
  bytes_.notify_all();
}

}  // namespace trawl
