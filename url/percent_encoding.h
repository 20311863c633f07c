// Percent-encoding:
// https://url.spec.whatwg.org/#percent-encoded-bytes
#pragma once

#include <cassert>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/ascii.h"

namespace trawl {

// The standard's percent-encode sets: the ASCII bytes each component escapes.
inline constexpr AsciiSet kC0ControlSet = AsciiSet().with_range(0x00, 0x1F).with("\x7F");
inline constexpr AsciiSet kFragmentSet = kC0ControlSet.with(" \"<>`");
inline constexpr AsciiSet kSpecialQuerySet = kC0ControlSet.with(" \"#<>'");
inline constexpr AsciiSet kPathSet = kC0ControlSet.with(" \"#<>?^`{}");
inline constexpr AsciiSet kUserinfoSet = kPathSet.with("/:;=@[\\]|");

// Length of the percent-escape at `position` of `text`: 3, or 0 if there is none.
constexpr std::size_t escape_length(std::string_view text, std::size_t position) {
  assert(position <= text.size());
  return text.size() - position >= 3 && text[position] == '%' &&
                 hex_value(text[position + 1]) >= 0 && hex_value(text[position + 2]) >= 0
             ? 3
             : 0;
}

// The byte encoded by the escape at `position`; there must be one.
constexpr char escaped_byte(std::string_view text, std::size_t position) {
  assert(escape_length(text, position) == 3);
  return static_cast<char>(hex_value(text[position + 1]) * 16 + hex_value(text[position + 2]));
}

// Appends "%XX".
void append_escape(char byte, std::string& out);

// Appends `text`, UTF-8, with all non-ASCII and the bytes of `set` escaped.
void percent_encode(std::string_view text, const AsciiSet& set, std::string& out);

// `text` with each escape replaced by its byte.
std::string percent_decode(std::string_view text);

}  // namespace trawl
