#include "crawler/log/room_log.h"

#include <array>
#include <memory>
#include <string>

#include "crawler/log/log_sink.h"

namespace trawl {

namespace {

struct RoomLogs {
  std::shared_ptr<LogSink> sink = std::make_shared<LogSink>();
  std::array<std::shared_ptr<spdlog::logger>, kLogRoomNames.size()> logs;

  RoomLogs() {
    for (std::size_t i = 0; i < logs.size(); ++i) {
      logs[i] = std::make_shared<spdlog::logger>(std::string(kLogRoomNames[i]), sink);
      logs[i]->flush_on(spdlog::level::info);
    }
    spdlog::set_default_logger(logs[static_cast<std::size_t>(LogRoom::kCrawl)]);
  }
};

RoomLogs& room_logs() {
  static auto* const logs = new RoomLogs;  // threads may log while the process ends
  return *logs;
}

}  // namespace

spdlog::logger& room_log(LogRoom room) {
  return *room_logs().logs[static_cast<std::size_t>(room)];
}

Result<void> apply_log_settings(const CrawlConfig::Log& config) {
  RoomLogs& all = room_logs();
  if (auto opened = all.sink->open(config); !opened) return opened;
  for (const auto& log : all.logs) {
    std::string level = config.level;
    for (const LogRoomLevel& own : config.levels) {
      if (own.room == log->name()) level = own.level;
    }
    log->set_level(spdlog::level::from_str(level));
  }
  return {};
}

}  // namespace trawl
