// room_log: the log of each part of the crawler, with a level of its own.
#pragma once

#include <spdlog/logger.h>
#include <spdlog/spdlog.h>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"
#include "crawler/config/log_room.h"

namespace trawl {

// The logger of a room, as in room_log(LogRoom::kHttp).warn("{}: {}", url, why): a message about a
// URL begins with it and ": ". spdlog::warn() and the like log for LogRoom::kCrawl. Valid until the
// process ends; thread-safe. Logs to standard error from level info on until apply_log_settings()
// is called.
spdlog::logger& room_log(LogRoom room);

// Makes the log follow [log]: levels, form and file, which is opened again, so that a renamed one
// is left. May be called at any time, from any thread. On an error nothing has changed. Errors: kIo
// if log.file cannot be opened.
Result<void> apply_log_settings(const CrawlConfig::Log& config);

}  // namespace trawl
