#include "crawler/log/log_style.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "base/safe_text.h"

namespace trawl {

namespace {

using Message = spdlog::details::log_msg;

struct LevelLook {
  std::string_view name;  // as in the config
  std::string_view colour;
};
constexpr std::array<LevelLook, 7> kLevels = {{{"trace", "\x1b[2m"},
                                               {"debug", "\x1b[36m"},
                                               {"info", "\x1b[32m"},
                                               {"warn", "\x1b[33m\x1b[1m"},
                                               {"error", "\x1b[31m\x1b[1m"},
                                               {"error", "\x1b[31m\x1b[1m"},
                                               {"off", ""}}};

const LevelLook& look_of(const Message& message) {
  return kLevels[static_cast<std::size_t>(message.level)];
}

std::string_view text_of(const Message& message) {
  return {message.payload.data(), message.payload.size()};
}

std::string_view room_of(const Message& message) {
  return {message.logger_name.data(), message.logger_name.size()};
}

std::tm local_time(SystemTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return local;
}

int milliseconds_of(SystemTime time) {
  const auto since = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  return static_cast<int>(((since.count() % 1000) + 1000) % 1000);
}

// "2026-11-25 03:28:16.123+01:00"
std::string file_time(SystemTime time) {
  const std::tm local = local_time(time);
  const long offset = local.tm_gmtoff / 60;
  const long minutes = offset < 0 ? -offset : offset;
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}{}{:02}:{:02}", local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                     milliseconds_of(time), offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

// The first URL of the text; URLs have no spaces.
std::string_view url_of(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!word.starts_with("http://") && !word.starts_with("https://")) continue;
    while (word.ends_with(':') || word.ends_with(',') || word.ends_with(';'))
      word.remove_suffix(1);
    return word;
  }
  return {};
}

std::string json_line(const Message& message) {
  const std::string text = replace_unsafe(text_of(message));
  nlohmann::ordered_json line = {{"time", to_rfc3339(message.time)},
                                 {"level", look_of(message).name},
                                 {"room", room_of(message)},
                                 {"message", text}};
  if (const std::string_view url = url_of(text); !url.empty()) line["url"] = url;
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string terminal_line(const Message& message, LogStyle style) {
  const std::tm local = local_time(message.time);
  const bool colour = style == LogStyle::kColour;
  return fmt::format("{}{:02}:{:02}:{:02} {}{:<5}{} [{}] {}",
                     style == LogStyle::kDumb ? "" : "\r\x1b[K", local.tm_hour, local.tm_min,
                     local.tm_sec, colour ? look_of(message).colour : "", look_of(message).name,
                     colour ? "\x1b[0m" : "", room_of(message), escape_unsafe(text_of(message)));
}

std::string file_line(const Message& message) {
  return fmt::format("[{}] [{}] [{}] {}", file_time(message.time), room_of(message),
                     look_of(message).name, escape_unsafe(text_of(message)));
}

class LogFormatter final : public spdlog::formatter {
 public:
  explicit LogFormatter(LogStyle style) : style_(style) {}
  void format(const Message& message, spdlog::memory_buf_t& out) override {
    const std::string line = style_ == LogStyle::kFile   ? file_line(message)
                             : style_ == LogStyle::kJson ? json_line(message)
                                                         : terminal_line(message, style_);
    out.append(line.data(), line.data() + line.size());
    out.push_back('\n');
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LogFormatter>(style_);
  }

 private:
  const LogStyle style_;
};

}  // namespace

std::unique_ptr<spdlog::formatter> make_log_formatter(LogStyle style) {
  return std::make_unique<LogFormatter>(style);
}

LogStyle style_of_standard_error(bool terminal) {
  if (!terminal) return LogStyle::kFile;
  const char* const term = std::getenv("TERM");
  if (term == nullptr || *term == '\0' || std::string_view(term) == "dumb") return LogStyle::kDumb;
  const char* const no_colour = std::getenv("NO_COLOR");
  return no_colour != nullptr && *no_colour != '\0' ? LogStyle::kTerminal : LogStyle::kColour;
}

}  // namespace trawl
