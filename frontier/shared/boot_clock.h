// BootClock: the clock of leases on buckets.
#pragma once

#include <chrono>
#include <ctime>

namespace trawl {

// CLOCK_BOOTTIME. std::chrono::steady_clock stands still while the machine is suspended: an owner
// that woke up after an hour would see the lease of an hour ago as fresh, and start requests to
// hosts that another crawler has owned ever since. A type of its own, so that the times of the two
// clocks cannot be compared.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return time_point(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
  }
};
using BootTime = BootClock::time_point;

}  // namespace trawl
