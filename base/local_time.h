// Times and durations for people.
#pragma once

#include <chrono>
#include <string>

#include "trawl/clocks.h"

namespace trawl {

// "14:05:03 CET", in the zone of TZ; "2026-11-26 14:05 CET" if it is not the day of `now`.
std::string to_local_time(SystemTime time, SystemTime now);

// "0.4 s", "12 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"; a negative one is "0 s".
std::string readable_duration(std::chrono::nanoseconds duration);

}  // namespace trawl
