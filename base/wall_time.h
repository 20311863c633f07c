// Wall-clock times in the form of the store.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "trawl/clocks.h"

namespace trawl {

// Milliseconds since the epoch, rounded down.
inline std::int64_t to_milliseconds(SystemTime time) {
  return std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
}
// Rounded up, for a time before which something must not happen.
inline std::int64_t not_before_milliseconds(SystemTime time) {
  return std::chrono::ceil<std::chrono::milliseconds>(time.time_since_epoch()).count();
}
// Clamped to the clock's range: a damaged store may hold any value.
inline SystemTime from_milliseconds(std::int64_t milliseconds) {
  constexpr auto kLeast =
      std::chrono::ceil<std::chrono::milliseconds>(SystemTime::min()).time_since_epoch();
  constexpr auto kMost =
      std::chrono::floor<std::chrono::milliseconds>(SystemTime::max()).time_since_epoch();
  return SystemTime(std::clamp(std::chrono::milliseconds(milliseconds), kLeast, kMost));
}

}  // namespace trawl
