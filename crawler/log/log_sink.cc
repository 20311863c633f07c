#include "crawler/log/log_sink.h"

#include <utility>

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include "crawler/log/log_style.h"

namespace trawl {

namespace {

// Throws spdlog_ex.
std::unique_ptr<spdlog::sinks::sink> make_target(const CrawlConfig::Log& config) {
  if (config.file.empty()) return std::make_unique<spdlog::sinks::stderr_sink_st>();
  const std::string file = config.file.string();
  if (config.max_size == 0) return std::make_unique<spdlog::sinks::basic_file_sink_st>(file);
  return std::make_unique<spdlog::sinks::rotating_file_sink_st>(
      file, static_cast<std::size_t>(config.max_size), config.keep);
}

LogStyle style_of(const CrawlConfig::Log& config) {
  if (config.format == LogFormat::kJson) return LogStyle::kJson;
  if (!config.file.empty()) return LogStyle::kFile;
  return style_of_standard_error(::isatty(STDERR_FILENO) != 0);
}

}  // namespace

LogSink::LogSink() {
  target_ = make_target({});
  target_->set_formatter(make_log_formatter(style_of({})));
}

Result<void> LogSink::open(const CrawlConfig::Log& config) {
  std::unique_ptr<spdlog::sinks::sink> target;
  try {
    target = make_target(config);
  } catch (const spdlog::spdlog_ex& failure) {
    return error(ErrorCode::kIo, fmt::format("cannot open log.file: {}", failure.what()));
  }
  target->set_formatter(make_log_formatter(style_of(config)));
  const MutexLock lock(mutex_);
  target_->flush();
  target_ = std::move(target);
  return {};
}

void LogSink::log(const spdlog::details::log_msg& message) {
  const MutexLock lock(mutex_);
  target_->log(message);
}

void LogSink::flush() {
  const MutexLock lock(mutex_);
  target_->flush();
}

}  // namespace trawl
