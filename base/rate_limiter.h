// RateLimiter: spreads requests or bytes evenly over time.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

#include "trawl/clocks.h"

#include "base/mutex.h"

namespace trawl {

// The generic cell rate algorithm (ITU-T I.371) as a schedule of one server: what is taken occupies
// it for n / per_second seconds. Thread-safe.
class RateLimiter {
 public:
  // 0: unlimited.
  explicit RateLimiter(double per_second = 0) : per_second_(per_second) {}

  bool limited() const noexcept { return per_second_.load(std::memory_order_relaxed) > 0; }
  // What was taken so far keeps its time, except that nothing waits longer than the new rate
  // demands for one.
  void set(double per_second) {
    const MutexLock lock(mutex_);
    per_second_.store(per_second, std::memory_order_relaxed);
    free_at_ = SteadyTime::min();
  }

  // When more may be taken; in the past or SteadyTime::min() if now.
  SteadyTime free_at() const {
    const MutexLock lock(mutex_);
    return limited() ? free_at_ : SteadyTime::min();
  }
  // Takes `n`, even if nothing is free. Returns when that begins: not before `now`.
  SteadyTime take(double n, SteadyTime now) {
    const MutexLock lock(mutex_);
    const double rate = per_second_.load(std::memory_order_relaxed);
    if (rate <= 0) return now;
    const SteadyTime begin = std::max(free_at_, now);
    const std::chrono::duration<double> occupied(std::min(n / rate, kLongest));
    free_at_ = begin + std::chrono::ceil<SteadyTime::duration>(occupied);
    return begin;
  }
  // How many may be taken that begin within `time` from now on; at least 1 if nothing waits.
  std::size_t room(std::chrono::duration<double> time, SteadyTime now) const {
    const MutexLock lock(mutex_);
    const double rate = per_second_.load(std::memory_order_relaxed);
    if (rate <= 0) return static_cast<std::size_t>(-1);
    if (free_at_ <= now)
      return std::max<std::size_t>(1, static_cast<std::size_t>(time.count() * rate));
    const std::chrono::duration<double> left = time - (free_at_ - now);
    return left.count() <= 0 ? 0 : static_cast<std::size_t>(left.count() * rate);
  }

 private:
  static constexpr double kLongest = 86'400;  // seconds

  mutable Mutex mutex_;
  // Written with the mutex held; limited() reads it without.
  std::atomic<double> per_second_;
  SteadyTime free_at_ TRAWL_GUARDED_BY(mutex_) = SteadyTime::min();
};

}  // namespace trawl
