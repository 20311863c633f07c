#include "base/url_space.h"

#include <array>

namespace trawl {

namespace {

using namespace std::string_view_literals;

constexpr std::array kWideSpaces = {
    "\xC2\x85"sv,      // U+0085 next line
    "\xC2\xA0"sv,      // U+00A0 no-break space
    "\xE1\x9A\x80"sv,  // U+1680
    "\xE2\x80\x80"sv, "\xE2\x80\x81"sv, "\xE2\x80\x82"sv, "\xE2\x80\x83"sv,  // U+2000 to
    "\xE2\x80\x84"sv, "\xE2\x80\x85"sv, "\xE2\x80\x86"sv, "\xE2\x80\x87"sv,
    "\xE2\x80\x88"sv, "\xE2\x80\x89"sv, "\xE2\x80\x8A"sv,  // U+200A
    "\xE2\x80\x8B"sv,                                      // U+200B, no width
    "\xE2\x80\xA8"sv, "\xE2\x80\xA9"sv,                    // U+2028, U+2029
    "\xE2\x80\xAF"sv,                                      // U+202F
    "\xE2\x81\x9F"sv,                                      // U+205F
    "\xE3\x80\x80"sv,                                      // U+3000
    "\xEF\xBB\xBF"sv,                                      // U+FEFF
};

constexpr bool is_narrow_space(char c) noexcept {
  return (c >= '\0' && c <= ' ') || c == '\x7F';
}

// The number of bytes of space at the start, or at the end, of `text`.
std::size_t space_at_start(std::string_view text) noexcept {
  if (text.empty()) return 0;
  if (is_narrow_space(text.front())) return 1;
  for (const std::string_view space : kWideSpaces)
    if (text.starts_with(space)) return space.size();
  return 0;
}

std::size_t space_at_end(std::string_view text) noexcept {
  if (text.empty()) return 0;
  if (is_narrow_space(text.back())) return 1;
  for (const std::string_view space : kWideSpaces)
    if (text.ends_with(space)) return space.size();
  return 0;
}

}  // namespace

std::string_view trim_url_space(std::string_view text) noexcept {
  while (const std::size_t n = space_at_start(text))
    text.remove_prefix(n);
  while (const std::size_t n = space_at_end(text))
    text.remove_suffix(n);
  return text;
}

}  // namespace trawl
