// The processor time of the calling thread, for time limits.
#pragma once

#include <chrono>

#include <time.h>

namespace trawl {

inline std::chrono::nanoseconds thread_time() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace trawl
