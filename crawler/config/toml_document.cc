#include "crawler/config/toml_document.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "crawler/config/config_values.h"

namespace trawl {
namespace {

// toml++ limits nesting of values to 256; this limits the depth that each key adds.
constexpr int kMaxKeyParts = 8;

// Scans TOML text just enough to distinguish strings and comments from keys.
class KeyDepthCheck {
 public:
  explicit KeyDepthCheck(std::string_view text) : text_(text) {}

  // Returns the offset of the dot that makes a key too deep.
  std::optional<std::size_t> find_too_deep() {
    int dots = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        skip_to_line_end();
      } else if (c == '"' || c == '\'') {
        skip_string(c);
      } else {
        if (c == '.' && ++dots == kMaxKeyParts) return at_;
        if (c == '\n' || c == '=' || c == ',' || c == '{' || c == '[') dots = 0;
        ++at_;
      }
    }
    return std::nullopt;
  }

 private:
  void skip_to_line_end() {
    while (at_ < text_.size() && text_[at_] != '\n')
      ++at_;
  }

  void skip_string(char quote) {
    const std::string fence(3, quote);
    const bool multi_line = text_.substr(at_, 3) == fence;
    const std::string_view end = multi_line ? std::string_view(fence) : text_.substr(at_, 1);
    at_ += end.size();
    while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
      // An unfinished string: toml++ will report it.
      if (!multi_line && text_[at_] == '\n') return;
      at_ += quote == '"' && text_[at_] == '\\' ? 2 : 1;
    }
    at_ = std::min(at_ + end.size(), text_.size());
    // A multi-line string may have up to two quotes before its end.
    for (int i = 0; multi_line && i < 2 && text_.substr(at_, 1) == end.substr(0, 1); ++i)
      ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

ConfigError error_at(std::string_view text, std::size_t offset, const std::string& name,
                     std::string message) {
  ConfigError error{name, 1, 1, std::move(message)};
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++error.line;
      error.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      ++error.column;
    }
  }
  return error;
}

// A hint if the value on a line is a text without quotes, such as 1s or example.com.
std::string hint_of_quotes(std::string_view text, std::uint32_t line) {
  for (std::uint32_t before = 1; before < line && !text.empty(); ++before) {
    const std::size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  text = text.substr(0, text.find('\n'));
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {};
  std::string_view value = text.substr(equals + 1);
  value = value.substr(0, value.find('#'));
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t' || value.back() == '\r'))
    value.remove_suffix(1);
  if (value.empty() || value.find_first_of("\"'[{,") != std::string_view::npos) return {};
  return fmt::format("; a text is written in quotes: {}", shown(value));
}

}  // namespace

tl::expected<toml::table, ConfigError> parse_toml(std::string_view text, const std::string& name) {
  if (const auto offset = KeyDepthCheck(text).find_too_deep()) {
    return tl::unexpected(
        error_at(text, *offset, name,
                 fmt::format("a key of more than {} parts; keys here have the form table.key",
                             kMaxKeyParts)));
  }
  try {
    return toml::parse(text, std::string_view(name));
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    return tl::unexpected(ConfigError{
        name, at.line, at.column,
        fmt::format("not valid TOML: {}{}", error.description(), hint_of_quotes(text, at.line))});
  }
}

}  // namespace trawl
