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
  set_limit();
  schedule_next(Clock::now());
  if (plan_.interval.count() > 0 || plan_.admissions > 0) start_thread();
}

void CheckpointSchedule::request() {
  const MutexLock lock(mutex_);
  requested_ = true;
  start_thread();
  notify();
}

void CheckpointSchedule::stop() {
  std::thread thread;
  {
    const MutexLock lock(mutex_);
    stopping_.store(true, std::memory_order_relaxed);
    notify();
    thread = std::move(thread_);
  }
  assert(thread.get_id() != std::this_thread::get_id());  // from one of its own callbacks
  if (thread.joinable()) thread.join();
}

void CheckpointSchedule::schedule_next(Clock::time_point now) {
  // Bounded so that the sum cannot overflow.
  if (plan_.interval.count() > 0) next_ = now + std::min(plan_.interval, kMaxDelay);
}

void CheckpointSchedule::wake() noexcept {
  const MutexLock lock(mutex_);
  // One wake-up is enough; the thread sets the limit again.
  limit_.store(kNever, std::memory_order_relaxed);
  notify();
}

void CheckpointSchedule::start_thread() {
  if (!thread_.joinable() && !stopping_.load(std::memory_order_relaxed))
    thread_ = std::thread([this] { run(); });
}

void CheckpointSchedule::run() {
  MutexLock lock(mutex_);
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (due(Clock::now())) {
      requested_ = false;
      tried_ = admitted_.load(std::memory_order_relaxed);
      lock.unlock();
      take_one();
      lock.lock();
      schedule_next(Clock::now());
    } else if (next_) {
      changed_.wait_until(mutex_, *next_);
    } else {
      changed_.wait(mutex_);
    }
  }
}

bool CheckpointSchedule::due(Clock::time_point now) {
  if (requested_) return true;
  if (next_ && now >= *next_) {
    if (admitted_.load(std::memory_order_relaxed) > plan_.covered()) return true;
    schedule_next(now);
  }
  if (plan_.admissions == 0) return false;
  set_limit();
  // seq_cst, both: pairs with admitted().
  return admitted_.load(std::memory_order_seq_cst) >= limit_.load(std::memory_order_seq_cst);
}

void CheckpointSchedule::take_one() {
  const auto start = Clock::now();
  auto result = plan_.take(stopping_);
  const bool given_up = !result && result.error().code == ErrorCode::kClosed &&
                        stopping_.load(std::memory_order_relaxed);
  if (given_up || !plan_.report) return;
  plan_.report({.result = std::move(result),
                .took = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - start)});
}

void CheckpointSchedule::set_limit() {
  if (plan_.admissions == 0) return;
  const std::uint64_t since = std::max(plan_.covered(), tried_);
  // seq_cst: pairs with admitted().
  limit_.store(since > kNever - plan_.admissions ? kNever : since + plan_.admissions,
               std::memory_order_seq_cst);
}

}  // namespace trawl
