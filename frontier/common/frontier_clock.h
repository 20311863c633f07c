// FrontierClock: the time by which retries, recrawls and blocked hosts wait.
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

// Runs with the wall clock, but never back: where that is set back, in this run or since the last
// one, it goes on with the steady clock from where it was. So a wait that was noted by it never
// becomes longer. A wall clock that is set ahead (or went on while the machine slept) takes it
// along; set right again, that changes nothing, as all waits are relative to this clock.
// Thread-safe.
class FrontierClock {
 public:
  // `least`: the latest time that was noted by the run before; 0 if there was none.
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
    // Relaxed: the difference stands for itself.
    std::int64_t most = ahead_.load(std::memory_order_relaxed);
    while (ahead > most && !ahead_.compare_exchange_weak(most, ahead, std::memory_order_relaxed)) {
    }
    return std::chrono::floor<std::chrono::milliseconds>(
               Microseconds(steady + std::max(most, ahead)))
        .count();
  }
  // A time that the caller read off the wall clock, rounded up.
  std::int64_t from_wall(SystemTime time) const { return not_before_milliseconds(time) + skew(); }
  // The reverse, for the caller to compare with the wall clock.
  SystemTime to_wall(std::int64_t time) const {
    constexpr std::int64_t kFar = std::int64_t{1} << 60;  // what is on disk is not trusted
    return from_milliseconds(std::clamp(time, -kFar, kFar) - skew());
  }

 private:
  using Microseconds = std::chrono::microseconds;

  // By how much it is ahead of the wall clock. Less than a second is how clocks drift and are read
  // one after the other: times then stay as the caller gave them.
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
  // By how many microseconds this clock is ahead of the steady one: never less than before.
  mutable std::atomic<std::int64_t> ahead_{0};
};

}  // namespace trawl
