// FrontierClock: the clock of retries, recrawls and blocked hosts.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>

#include "trawl/frontier.h"

#include "base/wall_time.h"

namespace trawl {

// Follows the wall clock but never runs back: if the wall clock is set back, in this run or since
// the last one, this clock continues at the pace of the steady clock. So stored waits never become
// longer. If the wall clock is set ahead (or advanced while the machine slept), this clock advances
// with it; setting the wall clock right again has no effect, since all waits are relative to this
// clock. Thread-safe.
class FrontierClock {
 public:
  // `least`: the latest time stored by the previous run; 0 if there was none.
  FrontierClock(std::function<SteadyTime()> steady, std::function<SystemTime()> wall,
                std::int64_t least)
      : steady_(std::move(steady)), wall_(std::move(wall)) {
    ahead_.store(
        std::max(wall_now(), Microseconds(std::chrono::milliseconds(least)).count()) - steady_now(),
        std::memory_order_relaxed);
  }

  // Milliseconds since the epoch.
  std::int64_t now() const {
    const std::int64_t steady = steady_now();
    const std::int64_t ahead = wall_now() - steady;
    // Relaxed: no other data depends on it.
    std::int64_t most = ahead_.load(std::memory_order_relaxed);
    while (ahead > most && !ahead_.compare_exchange_weak(most, ahead, std::memory_order_relaxed)) {
    }
    return std::chrono::floor<std::chrono::milliseconds>(
               Microseconds(steady + std::max(most, ahead)))
        .count();
  }
  // Converts a time of the wall clock, rounding up.
  std::int64_t from_wall(SystemTime time) const { return not_before_milliseconds(time) + skew(); }
  // Converts back to the wall clock.
  SystemTime to_wall(std::int64_t time) const {
    constexpr std::int64_t kFar = std::int64_t{1} << 60;  // a damaged store may hold any value
    return from_milliseconds(std::clamp(time, -kFar, kFar) - skew());
  }

 private:
  using Microseconds = std::chrono::microseconds;

  // How far this clock is ahead of the wall clock. Less than a second counts as 0: the clocks drift
  // and are not read at the same moment, and the caller's times should stay unchanged.
  std::int64_t skew() const {
    const std::int64_t skew = now() - to_milliseconds(wall_());
    return std::abs(skew) < 1000 ? 0 : skew;
  }
  std::int64_t steady_now() const {
    return std::chrono::floor<Microseconds>(steady_().time_since_epoch()).count();
  }
  std::int64_t wall_now() const {
    return std::chrono::floor<Microseconds>(wall_().time_since_epoch()).count();
  }

  const std::function<SteadyTime()> steady_;
  const std::function<SystemTime()> wall_;
  // How many microseconds this clock is ahead of the steady one; never decreases.
  mutable std::atomic<std::int64_t> ahead_{0};
};

}  // namespace trawl
