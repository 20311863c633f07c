#include "crawler/cli/safe_log.h"

#include <string>
#include <string_view>

#include <spdlog/pattern_formatter.h>

#include "base/safe_text.h"

namespace trawl::cli {

namespace {

class SafeLogFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    if (is_safe(text)) return lines_.format(message, out);
    const std::string escaped = escape_unsafe(text);
    spdlog::details::log_msg safe = message;
    safe.payload = spdlog::string_view_t(escaped.data(), escaped.size());
    lines_.format(safe, out);
    // The colour range stays valid, since the prefix is unchanged.
    message.color_range_start = safe.color_range_start;
    message.color_range_end = safe.color_range_end;
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<SafeLogFormatter>();
  }

 private:
  spdlog::pattern_formatter lines_;
};

}  // namespace

std::unique_ptr<spdlog::formatter> safe_log_formatter() {
  return std::make_unique<SafeLogFormatter>();
}

}  // namespace trawl::cli
