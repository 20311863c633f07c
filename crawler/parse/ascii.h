// ASCII text as HTML and HTTP have it: white space, comparison in any case, tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "url/percent_encoding.h"

namespace trawl {

constexpr bool is_ascii_alphanumeric(char c) noexcept {
  return is_ascii_alpha(c) || is_ascii_digit(c);
}

constexpr bool is_html_white_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}
inline constexpr AsciiSet kHtmlWhiteSpace = AsciiSet().with(" \t\n\f\r");

inline std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    c = ascii_lower(c);
  return lower;
}

constexpr bool equal_in_any_case(std::string_view one, std::string_view other) noexcept {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i)
    if (ascii_lower(one[i]) != ascii_lower(other[i])) return false;
  return true;
}

constexpr bool starts_with_in_any_case(std::string_view text, std::string_view start) noexcept {
  return equal_in_any_case(text.substr(0, start.size()), start);
}

constexpr void skip_white_space(std::string_view& text,
                                const AsciiSet& spaces = kHtmlWhiteSpace) noexcept {
  while (!text.empty() && spaces.contains(text.front()))
    text.remove_prefix(1);
}

constexpr std::string_view trim_end(std::string_view text,
                                    const AsciiSet& spaces = kHtmlWhiteSpace) noexcept {
  while (!text.empty() && spaces.contains(text.back()))
    text.remove_suffix(1);
  return text;
}

constexpr std::string_view trim(std::string_view text,
                                const AsciiSet& spaces = kHtmlWhiteSpace) noexcept {
  skip_white_space(text, spaces);
  return trim_end(text, spaces);
}

// Takes the first of the tokens between white space off `text`; empty if there are no more.
constexpr std::string_view next_token(std::string_view& text,
                                      const AsciiSet& spaces = kHtmlWhiteSpace) noexcept {
  skip_white_space(text, spaces);
  std::size_t end = 0;
  while (end < text.size() && !spaces.contains(text[end]))
    ++end;
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(end);
  return token;
}

}  // namespace trawl
