#include "frontier/commit_queue.h"

#include <algorithm>
#include <cstdlib>

namespace trawl {

CommitQueue::CommitQueue(GroupWriter& writer, std::uint64_t max_bytes)
    : writer_(writer), max_bytes_(max_bytes), committer_([this] { run(); }) {}

Result<void> CommitQueue::close() {
  if (!committer_.joinable()) return {};
  auto operation = std::make_unique<Operation>();
  operation->stop = true;
  begin();
  enqueue(std::move(operation));
  committer_.join();
  return end_;
}

void CommitQueue::wait_for_room() {
  // acquire: pairs with the release in finish(), so that a failure is seen once room appears.
  for (auto bytes = bytes_.load(std::memory_order_acquire); bytes >= max_bytes_;
       bytes = bytes_.load(std::memory_order_acquire)) {
    bytes_.wait(bytes, std::memory_order_acquire);
  }
}

void CommitQueue::enqueue(std::unique_ptr<Operation> operation) {
  if (operation->durable_already) {
    writer_.count_offers(operation->seen, operation->invalid);
    return end(1);
  }
  operation->bytes = operation->size();
  bytes_.fetch_add(operation->bytes, std::memory_order_relaxed);
  // False only if memory runs out; see submit().
  if (!queue_.enqueue(std::move(operation))) std::abort();
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
    OperationGroup group(1);
    queue_.wait_dequeue(group.front());
    collect(group);
    stop = std::ranges::any_of(group, [](const auto& operation) { return operation->stop; });
    finish(group, commit_unless_stopped(group), false);
  }
  const auto before = check();
  stop_with({ErrorCode::kClosed, "the frontier is closed"});
  // Operations that passed check() before that are in the queue at the next quiescence, and are
  // committed like the others; there are none after it.
  OperationGroup late;
  collect(late);
  end_ = before ? write(late) : before;
  finish(late, end_, true);
}

Result<void> CommitQueue::commit_unless_stopped(OperationGroup& group) {
  auto done = check().and_then([&] { return write(group); });
  if (!done) stop_with(done.error());
  return done;
}

Result<void> CommitQueue::write(OperationGroup& group) {
  // acq_rel, both: pair with commit_number(); what a commit does stays between the two.
  commit_number_.fetch_add(1, std::memory_order_acq_rel);
  auto done = writer_.write(group);
  commit_number_.fetch_add(1, std::memory_order_acq_rel);
  return done;
}

// Adds to the group every operation that has left the gate and was not taken before.
void CommitQueue::collect(OperationGroup& group) {
  gate_.at_quiescence([&] {
    std::unique_ptr<Operation> operation;
    while (queue_.try_dequeue(operation))
      group.push_back(std::move(operation));
  });
}

void CommitQueue::finish(OperationGroup& group, const Result<void>& result, bool last) {
  std::uint64_t bytes = 0;
  std::uint32_t ended = 0;
  for (auto& operation : group) {
    if (result && operation->drop && !operation->drop->done) {
      if (!last) {  // the next part of it comes with the next group
        if (!queue_.enqueue(std::move(operation))) std::abort();
        continue;
      }
      operation->durable->set_value(
          fail(ErrorCode::kClosed, "the frontier was closed before the host was dropped"));
    } else if (operation->durable) {
      operation->durable->set_value(result);
    }
    bytes += operation->bytes;
    ++ended;
  }
  end(ended);
  // release: pairs with the load in wait_for_room().
  bytes_.fetch_sub(bytes, std::memory_order_release);
  bytes_.notify_all();
}

}  // namespace trawl
