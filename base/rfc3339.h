// Times as text: RFC 3339.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/clocks.h"

namespace trawl {

using SystemMicroseconds = std::chrono::sys_time<std::chrono::microseconds>;

// Appends "2026-11-21T08:40:00.123Z": in UTC, with `digits` digits behind the second (0 to 6),
// those beyond cut off. The year is one of 0 to 9999.
void append_rfc3339(std::string& out, SystemMicroseconds time, int digits = 3);
inline void append_rfc3339(std::string& out, SystemTime time, int digits = 3) {
  append_rfc3339(out, std::chrono::floor<std::chrono::microseconds>(time), digits);
}

template <class Time>
std::string to_rfc3339(Time time, int digits = 3) {
  std::string text;
  append_rfc3339(text, time, digits);
  return text;
}

// With any offset and any number of digits behind the second, of which milliseconds are kept. 'T'
// may be a space; a leap second counts as the one after it. Nothing if `text` is no such time, or
// none that SystemTime can hold (1678 to 2261).
std::optional<SystemTime> parse_rfc3339(std::string_view text);

}  // namespace trawl
