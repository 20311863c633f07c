#include "crawler/parse/encoding/charset_parameter.h"

#include <algorithm>
#include <cstddef>

#include "base/ascii.h"

namespace trawl {

namespace {

constexpr AsciiSet kHttpWhiteSpace = AsciiSet().with(" \t\n\r");

// Removes and returns the part of `text` before the first of `ends`, or all of it.
std::string_view take_until(std::string_view& text, std::string_view ends) {
  const std::string_view taken = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(taken.size());
  return taken;
}

// Removes a quoted string and the text after it up to ';'; returns the string.
std::string take_quoted(std::string_view& text) {
  std::string value;
  std::size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    value += text[i];
  }
  text.remove_prefix(std::min(i + 1, text.size()));
  take_until(text, ";");
  return value;
}

// Characters of a value: tab, space to ~, and all from 0x80.
bool is_valid_value(std::string_view value) {
  return std::ranges::all_of(value, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7F);
  });
}

}  // namespace

std::string charset_parameter(std::string_view content_type) {
  take_until(content_type, ";");
  while (!content_type.empty()) {
    content_type.remove_prefix(1);
    skip_white_space(content_type, kHttpWhiteSpace);
    const std::string_view name = take_until(content_type, ";=");
    if (content_type.empty() || content_type.front() == ';') continue;
    content_type.remove_prefix(1);

    std::string value;
    if (!content_type.empty() && content_type.front() == '"') {
      value = take_quoted(content_type);
    } else {
      value = trim_end(take_until(content_type, ";"), kHttpWhiteSpace);
      if (value.empty()) continue;
    }
    if (equal_in_any_case(name, "charset") && is_valid_value(value)) return value;
  }
  return {};
}

}  // namespace trawl
