#include "crawler/cli/buffered_output.h"

#include <array>
#include <cerrno>
#include <charconv>

#include <unistd.h>

#include "base/safe_text.h"
#include "crawler/output/json_line.h"

namespace trawl::cli {

namespace {

constexpr std::size_t kMuch = 64 << 10;

}  // namespace

BufferedOutput& BufferedOutput::operator<<(std::uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text_.append(digits.data(), end);
  return *this;
}

BufferedOutput& BufferedOutput::json_string(std::string_view text) {
  append_json_string(text_, text);
  return *this;
}

BufferedOutput& BufferedOutput::names(RuleSet rules, std::string_view separator) {
  std::string_view before;
  for (const RuleInfo& info : rule_infos()) {
    if (!rules.contains(info.rule)) continue;
    text_.append(before).append(info.name);
    before = separator;
  }
  return *this;
}

Result<void> BufferedOutput::flush() {
  // Other characters occur only in JSON strings, where the escapes mean the same.
  constexpr std::string_view kColumnsAndLines = "\t\n";
  if (!is_safe(text_, kColumnsAndLines)) text_ = escape_unsafe(text_, kColumnsAndLines);
  std::string_view rest = text_;
  while (!rest.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected<Error>(system_error(errno, "cannot write standard output"));
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  text_.clear();
  return {};
}

Result<void> BufferedOutput::flush_if_full() {
  return text_.size() < kMuch ? Result<void>() : flush();
}

}  // namespace trawl::cli
