#include "frontier/schedule/group_rate_limiter.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace trawl {

using std::chrono::milliseconds;

void GroupRateLimiter::restarted(SteadyTime when) {
  const MutexLock lock(mutex_);
  first_start_ = std::max(first_start_, when + delay());
}

SteadyTime GroupRateLimiter::next_start(GroupId group) const {
  const MutexLock lock(mutex_);
  return next_of(group);
}

SteadyTime GroupRateLimiter::next_of(GroupId group) const {
  const auto clock = clocks_.find(group);
  return clock == clocks_.end() ? first_start_ : std::max(first_start_, clock->second.next);
}

// Returns the delay.
milliseconds GroupRateLimiter::note(GroupId group, SteadyTime when) {
  const milliseconds wait = delay();
  const SteadyTime next = when + wait;
  const auto [it, is_new] =
      clocks_.try_emplace(group, Clock{.next = next, .previous = SteadyTime::min()});
  if (!is_new) {
    Clock& clock = it->second;
    if (next == clock.next) {
      ++clock.last;
      return wait;
    }
    if (next < clock.next) {
      clock.previous = std::max(clock.previous, next);
      return wait;
    }
    clock.previous = std::exchange(clock.next, next);
    clock.last = 1;
  }
  expiries_.emplace(next, group);
  return wait;
}

// Each group has an expiry entry for the end of its delay, and possibly outdated entries.
void GroupRateLimiter::forget_passed(SteadyTime now) {
  while (!expiries_.empty() && expiries_.top().first <= now) {
    const GroupId group = expiries_.top().second;
    expiries_.pop();
    const auto clock = clocks_.find(group);
    if (clock == clocks_.end() || clock->second.next > now) continue;
    if (clock->second.busy_until > now) {
      expiries_.emplace(clock->second.busy_until, group);
    } else {
      clocks_.erase(clock);
    }
  }
}

// Holds the mutex of the clocks if they count for a request. Not analysed, since the lock is
// conditional: clocks that do not count are neither locked nor used.
class TRAWL_SCOPED_CAPABILITY GroupRateLimiter::LockIfUsed {
 public:
  LockIfUsed(GroupRateLimiter* clocks, GroupId group)
      TRAWL_ACQUIRE(clocks->mutex_) TRAWL_NO_THREAD_SAFETY_ANALYSIS
      : mutex_(clocks != nullptr && group != 0 ? &clocks->mutex_ : nullptr) {
    if (mutex_ != nullptr) mutex_->lock();
  }
  ~LockIfUsed() TRAWL_RELEASE() TRAWL_NO_THREAD_SAFETY_ANALYSIS {
    if (mutex_ != nullptr) mutex_->unlock();
  }
  LockIfUsed(const LockIfUsed&) = delete;
  LockIfUsed& operator=(const LockIfUsed&) = delete;

  explicit operator bool() const { return mutex_ != nullptr; }

 private:
  Mutex* const mutex_;
};

std::optional<GroupRateLimiter::Refusal> GroupRateLimiter::start(GroupRateLimiter* domains,
                                                                 GroupId domain,
                                                                 GroupRateLimiter* addresses,
                                                                 GroupId address, SteadyTime now) {
  // Both are locked, domains always first, so that a request is recorded for both or for none (P1).
  const LockIfUsed by_domain(domains, domain);
  const LockIfUsed by_address(addresses, address);
  if (by_domain) {
    domains->forget_passed(now);
    if (const SteadyTime next = domains->next_of(domain); next > now) return Refusal{true, next};
  }
  if (by_address) {
    addresses->forget_passed(now);
    if (const SteadyTime next = addresses->next_of(address); next > now)
      return Refusal{false, next};
  }
  if (by_domain) domains->note(domain, now);
  if (by_address) addresses->note(address, now);
  return std::nullopt;
}

void GroupRateLimiter::wait_longer(SteadyTime since, SteadyTime::duration by) {
  const MutexLock lock(mutex_);
  for (auto& [group, clock] : clocks_)
    if (clock.busy_until > since) clock.busy_until += by;
}

milliseconds GroupRateLimiter::send_timeout(milliseconds delay) {
  return std::clamp<milliseconds>(delay, milliseconds(100), milliseconds(1000));
}

std::optional<SteadyTime> GroupRateLimiter::asked_again(GroupId group, SteadyTime now,
                                                        bool& busy) const {
  if (const SteadyTime next = next_of(group); next > now) return next;
  const auto clock = clocks_.find(group);
  busy = clock != clocks_.end() && clock->second.busy_until > now;
  return busy ? std::optional(std::min(clock->second.busy_until, ask_again(delay(), now)))
              : std::nullopt;
}

void GroupRateLimiter::look(const Noted& noted, bool is_domain, SteadyTime now,
                            std::optional<Refusal>& refusal) {
  if (noted.at) undo(noted.group, *noted.at);
  forget_passed(now);
  bool busy = false;
  const auto again = asked_again(noted.group, now, busy);
  if (again && (!refusal || *again > refusal->again)) refusal = {is_domain, *again, busy};
}

void GroupRateLimiter::begin_or_restore(const Noted& noted, SteadyTime now, bool refused) {
  if (refused) {
    if (noted.at) note(noted.group, *noted.at);
    return;
  }
  const milliseconds wait = note(noted.group, now);
  Clock& clock = clocks_.at(noted.group);
  clock.begun = now;
  assert(clock.next >= now + wait);  // P1
  clock.busy_until = now + wait + send_timeout(wait);
}

std::optional<GroupRateLimiter::Refusal> GroupRateLimiter::begin(GroupRateLimiter* domains,
                                                                 const Noted& domain,
                                                                 GroupRateLimiter* addresses,
                                                                 const Noted& address,
                                                                 SteadyTime now) {
  const LockIfUsed by_domain(domains, domain.group);  // in this order: see start()
  const LockIfUsed by_address(addresses, address.group);
  std::optional<Refusal> refusal;
  if (by_domain) domains->look(domain, true, now, refusal);
  if (by_address) addresses->look(address, false, now, refusal);
  if (by_domain) domains->begin_or_restore(domain, now, refusal.has_value());
  if (by_address) addresses->begin_or_restore(address, now, refusal.has_value());
  return refusal;
}

void GroupRateLimiter::sent(GroupId group, SteadyTime begun, std::optional<SteadyTime> when) {
  if (group == 0) return;
  const MutexLock lock(mutex_);
  const auto clock = clocks_.find(group);
  if (clock != clocks_.end() && clock->second.begun == begun)
    clock->second.begun = clock->second.busy_until = SteadyTime::min();
  if (!when || *when <= begun) return;
  undo(group, begun);
  note(group, *when);
}

void GroupRateLimiter::note_start(GroupId group, SteadyTime when,
                                  std::optional<SteadyTime> instead_of) {
  if (group == 0) return;
  const MutexLock lock(mutex_);
  if (instead_of) undo(group, *instead_of);
  note(group, when);
}

// Only the last start of a group can be undone. An earlier one need not be: it delays nothing. One
// that was noted with another delay is not found, and stays.
void GroupRateLimiter::undo(GroupId group, SteadyTime when) {
  const auto clock = clocks_.find(group);
  if (clock == clocks_.end() || clock->second.next != when + delay()) return;
  assert(clock->second.last > 0);
  if (--clock->second.last > 0) return;
  clock->second.next = clock->second.previous;
  clock->second.last = 1;
  expiries_.emplace(clock->second.next, group);
}

void GroupRateLimiter::undo_start(GroupId group, SteadyTime when) {
  if (group == 0) return;
  const MutexLock lock(mutex_);
  undo(group, when);
}

std::size_t GroupRateLimiter::groups() const {
  const MutexLock lock(mutex_);
  return clocks_.size();
}

std::size_t GroupRateLimiter::bytes() const {
  const MutexLock lock(mutex_);
  constexpr std::size_t kNodeBytes = sizeof(GroupId) + sizeof(Clock) + 32;
  return clocks_.size() * kNodeBytes + clocks_.bucket_count() * sizeof(void*) +
         expiries_.size() * sizeof(Expiry);
}

}  // namespace trawl
