// LogRoom: the parts of the crawler whose messages have a log level of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trawl {

enum class LogRoom : std::uint8_t {
  kCrawl,     // what has no room of its own: begin, progress, signals, config
  kFrontier,  // queues, hosts parked, checkpoints
  kHttp,      // requests and their failures
  kRobots,    // robots.txt
  kLinks,     // links skipped, patterns of URLs left alone
  kOutput,    // files written, their repairs, disk space
  kStatus,    // the status server and the control socket
};

inline constexpr std::array<std::string_view, 7> kLogRoomNames = {
    "crawl", "frontier", "http", "robots", "links", "output", "status"};

constexpr std::string_view to_string(LogRoom room) {
  return kLogRoomNames[static_cast<std::size_t>(room)];
}

// An entry of log.levels, with names as written.
struct LogRoomLevel {
  std::string room;
  std::string level;
  friend bool operator==(const LogRoomLevel&, const LogRoomLevel&) = default;
};

}  // namespace trawl
