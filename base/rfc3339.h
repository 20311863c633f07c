// Times as text: RFC 3339.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/clocks.h"

namespace trawl {

using SystemMicroseconds = std::chrono::sys_time<std::chrono::microseconds>;

// Appends a time as "2026-11-21T08:40:00.123Z": in UTC, truncated to `digits` digits after the
// second (0 to 6). The year must be from 0 to 9999.
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

// Parses a time with any offset and any number of digits after the second, truncated to
// milliseconds. 'T' may be a space; a leap second counts as the second after it. Returns nothing if
// `text` is not such a time, or not in the range of SystemTime (1678 to 2261).
std::optional<SystemTime> parse_rfc3339(std::string_view text);

}  // namespace trawl
