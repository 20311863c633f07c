// M1. The lock-free path: take() and give_back() change `used_` with atomic operations; only
// transfers that find no room take the mutex and queue in `waiters_`. No wake-up is lost: wait()
// first announces itself in `waiting_` and then reads `used_`; give_back() first lowers `used_` and
// then reads `waiting_`. All are seq_cst, so at least one of the two sees the other.
//
// Waiting cannot deadlock: if all memory in use belongs to waiters, nobody will free any, so the
// youngest waiter that holds memory is evicted. Its transfer fails with kMemory and is retried
// later.
#include "crawler/http/body_memory_budget.h"

#include <algorithm>
#include <cassert>

namespace trawl {

BodyCharge& BodyCharge::operator=(BodyCharge&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::move(other.budget_);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

bool BodyCharge::grow(std::uint64_t more) noexcept {
  if (budget_ != nullptr && !budget_->take(more)) return false;
  bytes_ += more;
  return true;
}

void BodyCharge::shrink_to(std::uint64_t bytes) noexcept {
  if (bytes >= bytes_) return;
  const std::uint64_t less = bytes_ - bytes;
  bytes_ = bytes;
  if (budget_ != nullptr) budget_->give_back(less);
}

std::uint64_t BodyMemoryBudget::room() const noexcept {
  // seq_cst: as for used_ in take().
  return limit_ - std::min(held_.load(std::memory_order_seq_cst), limit_ - for_bodies_);
}

void BodyMemoryBudget::hold(std::uint64_t bytes) noexcept {
  held_.fetch_add(bytes, std::memory_order_relaxed);
}

void BodyMemoryBudget::let_go(std::uint64_t bytes) noexcept {
  // seq_cst, both: as in give_back().
  [[maybe_unused]] const std::uint64_t before = held_.fetch_sub(bytes, std::memory_order_seq_cst);
  assert(before >= bytes);
  if (waiting_.load(std::memory_order_seq_cst) == 0) return;
  const MutexLock lock(mutex_);
  grant_or_evict();
}

bool BodyMemoryBudget::take(std::uint64_t bytes) noexcept {
  std::uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    const std::uint64_t most = room();
    if (bytes > most || used > most - bytes) return false;
    // seq_cst: pairs with give_back(): in grant_or_evict(), reads what that wrote before it looked
    // for waiters.
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_seq_cst,
                                        std::memory_order_relaxed));
  return true;
}

void BodyMemoryBudget::give_back(std::uint64_t bytes) noexcept {
  // seq_cst, both: pairs with wait(), which announces itself and then looks at used_. Either this
  // sees the waiter, or the waiter sees the room.
  [[maybe_unused]] const std::uint64_t before = used_.fetch_sub(bytes, std::memory_order_seq_cst);
  assert(before >= bytes);
  if (waiting_.load(std::memory_order_seq_cst) == 0) return;
  const MutexLock lock(mutex_);
  grant_or_evict();
}

void BodyMemoryBudget::wait(BodyWaiter& waiter) {
  const MutexLock lock(mutex_);
  assert(waiter.charge != nullptr && waiter.wake != nullptr);
  assert(state_of(waiter) != BodyWaiter::State::kWaiting);
  state_of(waiter) = BodyWaiter::State::kWaiting;
  const auto place = std::upper_bound(
      waiters_.begin(), waiters_.end(), &waiter,
      [](const BodyWaiter* one, const BodyWaiter* other) { return one->since < other->since; });
  waiters_.insert(place, &waiter);
  held_by_waiters_ += waiter.charge->bytes();
  // seq_cst: pairs with the load in give_back().
  waiting_.store(waiters_.size(), std::memory_order_seq_cst);
  grant_or_evict();
}

BodyWaiter::State BodyMemoryBudget::state(const BodyWaiter& waiter) const {
  const MutexLock lock(mutex_);
  return state_of(waiter);
}

void BodyMemoryBudget::cancel(BodyWaiter& waiter) {
  const MutexLock lock(mutex_);
  const auto place = std::find(waiters_.begin(), waiters_.end(), &waiter);
  if (place != waiters_.end()) {
    waiters_.erase(place);
    assert(held_by_waiters_ >= waiter.charge->bytes());
    held_by_waiters_ -= waiter.charge->bytes();
    // seq_cst: as in wait().
    waiting_.store(waiters_.size(), std::memory_order_seq_cst);
  }
  state_of(waiter) = BodyWaiter::State::kIdle;
}

void TableCharge::take(std::uint64_t bytes) noexcept {
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (budget_ != nullptr) budget_->hold(bytes);
}

void TableCharge::give_back(std::uint64_t bytes) noexcept {
  [[maybe_unused]] const std::uint64_t before = bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  assert(before >= bytes);
  if (budget_ != nullptr && bytes > 0) budget_->let_go(bytes);
}

// A small request of a younger waiter may be granted before a large one of an older: it ends
// sooner, and then frees all its memory.
void BodyMemoryBudget::grant_or_evict() {
  for (std::size_t i = 0; i < waiters_.size();) {
    if (take(waiters_[i]->wanted)) {
      conclude(i, BodyWaiter::State::kGranted);
    } else {
      ++i;
    }
  }
  // seq_cst: as in take().
  while (!waiters_.empty() && used_.load(std::memory_order_seq_cst) == held_by_waiters_)
    conclude(youngest_that_frees(), BodyWaiter::State::kEvicted);
}

// A waiter that holds nothing frees nothing. If no waiter holds any, none can ever be served.
std::size_t BodyMemoryBudget::youngest_that_frees() const {
  assert(!waiters_.empty());
  for (std::size_t i = waiters_.size(); i > 0; --i)
    if (waiters_[i - 1]->charge->bytes() > 0) return i - 1;
  return waiters_.size() - 1;
}

void BodyMemoryBudget::conclude(std::size_t index, BodyWaiter::State state) {
  assert(index < waiters_.size());
  BodyWaiter& waiter = *waiters_[index];
  assert(state_of(waiter) == BodyWaiter::State::kWaiting);
  assert(held_by_waiters_ >= waiter.charge->bytes());
  held_by_waiters_ -= waiter.charge->bytes();
  waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(index));
  // seq_cst: as in wait().
  waiting_.store(waiters_.size(), std::memory_order_seq_cst);
  state_of(waiter) = state;
  if (state == BodyWaiter::State::kGranted) waiter.charge->bytes_ += waiter.wanted;
  waiter.wake(waiter.context);
}

}  // namespace trawl
