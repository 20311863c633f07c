// ASCII text: classes of bytes, digits, case-insensitive comparison, and white space and tokens as
// HTML and HTTP define them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace trawl {

// A set of bytes, mostly ASCII; a lookup takes one load.
class AsciiSet {
 public:
  constexpr AsciiSet() = default;
  constexpr AsciiSet with(std::string_view bytes) const {
    AsciiSet set = *this;
    for (const char byte : bytes)
      set.has_[static_cast<unsigned char>(byte)] = true;
    return set;
  }
  constexpr AsciiSet with_range(unsigned char first, unsigned char last) const {
    AsciiSet set = *this;
    for (unsigned byte = first; byte <= last; ++byte)
      set.has_[byte] = true;
    return set;
  }
  constexpr AsciiSet with(const AsciiSet& other) const {
    AsciiSet set = *this;
    for (std::size_t byte = 0; byte < has_.size(); ++byte)
      set.has_[byte] = has_[byte] || other.has_[byte];
    return set;
  }
  constexpr bool contains(char byte) const { return has_[static_cast<unsigned char>(byte)]; }

 private:
  std::array<bool, 256> has_{};
};

constexpr bool is_ascii(char byte) {
  return static_cast<unsigned char>(byte) < 0x80;
}
// What the URL Standard strips at the ends of a URL, and lenient parsers take for white space.
constexpr bool is_c0_control_or_space(char byte) {
  return static_cast<unsigned char>(byte) <= ' ';
}
constexpr bool is_ascii_digit(char byte) {
  return byte >= '0' && byte <= '9';
}
constexpr bool is_ascii_alpha(char byte) {
  return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
}
constexpr char ascii_lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte;
}

// The value of a hexadecimal digit of either case, or -1.
constexpr int hex_value(char digit) {
  if (is_ascii_digit(digit)) return digit - '0';
  const char lower = ascii_lower(digit);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

inline constexpr std::string_view kUpperHexDigits = "0123456789ABCDEF";

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

// Removes the first token, delimited by white space, from `text` and returns it; empty if there are
// no more.
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
