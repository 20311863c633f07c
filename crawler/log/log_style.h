// LogStyle: the forms of a log line.
#pragma once

#include <cstdint>
#include <memory>

#include <spdlog/formatter.h>

namespace trawl {

enum class LogStyle : std::uint8_t {
  kFile,      // "[2026-11-25 03:28:16.123+01:00] [http] [warn] message"
  kTerminal,  // "03:28:16 warn  [http] message", on a line of its own in place of a progress line
  kColour,    // the same, with the level in colour
  kDumb,      // the same, for a terminal without control sequences
  kJson,      // an object: time (UTC), level, room, message, url
};

// Characters that are unsafe for a terminal are escaped, so that each message is one line. JSON has
// the first URL of the message as `url`.
std::unique_ptr<spdlog::formatter> make_log_formatter(LogStyle style);

// The style for standard error if it is a terminal (`terminal`), as TERM and NO_COLOR
// (https://no-color.org) demand.
LogStyle style_of_standard_error(bool terminal);

}  // namespace trawl
