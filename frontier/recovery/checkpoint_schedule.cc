#include "frontier/recovery/checkpoint_schedule.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace trawl {

CheckpointSchedule::CheckpointSchedule(CheckpointPlan plan, std::uint64_t admitted)
    : plan_(std::move(plan)), admitted_(admitted) {
  assert(plan_.take && plan_.covered);
  begin();
}

void CheckpointSchedule::begin() {
  const MutexLock lock(mutex_);
  newest_ = Clock::now();
  thread_ = std::thread([this] { run(); });
}

void CheckpointSchedule::request() {
  const MutexLock lock(mutex_);
  requested_ = true;
  notify();
}

Result<void> CheckpointSchedule::close() {
  std::thread thread;
  Result<void> result;
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    notify();
    const auto end = Clock::now() + plan_.patience;
    while (!ended_ && Clock::now() < end)
      changed_.wait_until(mutex_, end);
    patient_ = false;
    // Relaxed: publishes no other data.
    if (running_ == Running::kAutomatic) give_up_.store(true, std::memory_order_relaxed);
    notify();
    while (!ended_)
      changed_.wait(mutex_);
    thread = std::move(thread_);
    result = std::exchange(closing_result_, {});
  }
  join(std::move(thread));
  return result;
}

void CheckpointSchedule::stop() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    give_up_.store(true, std::memory_order_relaxed);
    notify();
    thread = std::move(thread_);
  }
  join(std::move(thread));
}

void CheckpointSchedule::join(std::thread thread) {
  assert(thread.get_id() != std::this_thread::get_id());  // from one of its own callbacks
  if (thread.joinable()) thread.join();
}

void CheckpointSchedule::wake() noexcept {
  const MutexLock lock(mutex_);
  // One wake-up is enough; the thread sets the limit again.
  limit_.store(kNever, std::memory_order_relaxed);
  notify();
}

void CheckpointSchedule::run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    const bool due = look();
    if (due || requested_) {
      const bool requested = std::exchange(requested_, false);
      running_ = requested ? Running::kRequested : Running::kAutomatic;
      give_up_.store(stopping_, std::memory_order_relaxed);
      lock.unlock();
      const Taken taken = due ? take_one() : answer_request();
      lock.lock();
      finish(taken);
    } else if (closing_) {
      break;
    } else {
      wait();
    }
  }
  ended_ = true;
  notify();
}

void CheckpointSchedule::wait() {
  if (failed_) {
    changed_.wait_until(mutex_, *failed_ + plan_.rule.retry);
  } else if (plan_.rule.interval.count() > 0) {
    // Bounded so that the sum cannot overflow.
    changed_.wait_until(mutex_, newest_ + std::min(plan_.rule.interval, kMaxDelay));
  } else {
    changed_.wait(mutex_);
  }
}

bool CheckpointSchedule::look() {
  if (!patient_ && !requested_) return false;
  const auto now = Clock::now();
  const std::uint64_t covered = plan_.covered();
  const std::uint64_t most = plan_.rule.most_uncovered(plan_.replayed_per_second);
  // After a failure the clock wakes the thread. seq_cst, both: pairs with admitted().
  limit_.store(failed_ || covered > kNever - most ? kNever : covered + most,
               std::memory_order_seq_cst);
  const CheckpointState state{
      .admitted = admitted_.load(std::memory_order_seq_cst),
      .covered = covered,
      .replayed_per_second = plan_.replayed_per_second,
      .since_newest = now - newest_,
      .since_failure = failed_ ? now - *failed_ : CheckpointState::Duration::max(),
      .requested = requested_};
  if (plan_.rule.is_due(state)) return true;
  // An interval without anything new: the next one begins.
  if (plan_.rule.interval.count() > 0 && now - newest_ >= plan_.rule.interval) newest_ = now;
  return false;
}

CheckpointSchedule::Taken CheckpointSchedule::take_one() {
  const auto start = Clock::now();
  auto result = plan_.take(give_up_);
  const auto end = Clock::now();
  const bool given_up = !result && result.error().code == ErrorCode::kClosed &&
                        give_up_.load(std::memory_order_relaxed);
  if (!given_up && plan_.report) {
    plan_.report(
        {.result = result, .took = std::chrono::ceil<std::chrono::milliseconds>(end - start)});
  }
  return {.result = std::move(result), .given_up = given_up, .end = end};
}

CheckpointSchedule::Taken CheckpointSchedule::answer_request() const {
  if (plan_.report) plan_.report({.result = {}, .took = {}, .written = false});
  return {.result = {}, .given_up = false, .end = std::nullopt};
}

void CheckpointSchedule::finish(const Taken& taken) {
  running_ = Running::kNone;
  if (!taken.end) return;
  newest_ = *taken.end;
  failed_ = taken.result ? std::nullopt : taken.end;
  if (closing_ && !taken.result && !taken.given_up) closing_result_ = taken.result;
}

}  // namespace trawl
