// LogSink: writes the log to where [log] says, which may change while it is used.
#pragma once

#include <memory>
#include <string>

#include <spdlog/sinks/sink.h>

#include "trawl/result.h"

#include "base/mutex.h"
#include "crawler/config/crawl_config.h"

namespace trawl {

// Thread-safe. Writes to standard error until open() is called.
class LogSink final : public spdlog::sinks::sink {
 public:
  LogSink();

  // Opens log.file, even if it is the same as before: somebody may have renamed it. Keeps the
  // target as it is if that fails. Errors: kIo.
  Result<void> open(const CrawlConfig::Log& config);

  void log(const spdlog::details::log_msg& message) override;
  void flush() override;
  // The form of a line is that of [log].
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  Mutex mutex_;
  std::unique_ptr<spdlog::sinks::sink> target_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
