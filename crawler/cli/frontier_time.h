// Times as `trawl frontier` reads and writes them: RFC 3339.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trawl/frontier.h"

namespace trawl::cli {

// In UTC with milliseconds: "2026-11-21T08:40:00.123Z".
std::string format_time(SystemTime time);

// With any offset and any number of digits behind the second, of which milliseconds are kept.
// Nothing if it is no such time, or none that SystemTime can hold (1678 to 2261).
std::optional<SystemTime> parse_time(std::string_view text);

}  // namespace trawl::cli
