// Percent-encoding, and the UTF-8 it is defined on:
// https://url.spec.whatwg.org/#percent-encoded-bytes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trawl {

// A set of bytes, mostly ASCII ones; looking one up takes one load.
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

// The standard's percent-encode sets: the ASCII bytes each component escapes.
inline constexpr AsciiSet kC0ControlSet = AsciiSet().with_range(0x00, 0x1F).with("\x7F");
inline constexpr AsciiSet kFragmentSet = kC0ControlSet.with(" \"<>`");
inline constexpr AsciiSet kSpecialQuerySet = kC0ControlSet.with(" \"#<>'");
inline constexpr AsciiSet kPathSet = kC0ControlSet.with(" \"#<>?^`{}");
inline constexpr AsciiSet kUserinfoSet = kPathSet.with("/:;=@[\\]|");

constexpr bool is_ascii(char byte) {
  return static_cast<unsigned char>(byte) < 0x80;
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

// Length of the percent-escape at `position` of `text`: 3, or 0 if there is none.
constexpr std::size_t escape_length(std::string_view text, std::size_t position) {
  return text.size() - position >= 3 && text[position] == '%' &&
                 hex_value(text[position + 1]) >= 0 && hex_value(text[position + 2]) >= 0
             ? 3
             : 0;
}

// The byte that the escape at `position` stands for; there must be one.
constexpr char escaped_byte(std::string_view text, std::size_t position) {
  return static_cast<char>(hex_value(text[position + 1]) * 16 + hex_value(text[position + 2]));
}

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// Decodes the code point at `position` of `text` and moves `position` behind it. What is not
// UTF-8 gives U+FFFD for each maximal part of a sequence, as the WHATWG Encoding Standard decodes.
char32_t decode_utf8(std::string_view text, std::size_t& position);
void append_utf8(char32_t code_point, std::string& out);

// Appends "%XX".
void append_escape(char byte, std::string& out);

// Appends `text`, UTF-8, with all non-ASCII and the bytes of `set` escaped.
void percent_encode(std::string_view text, const AsciiSet& set, std::string& out);

// `text` with each escape replaced by its byte.
std::string percent_decode(std::string_view text);

}  // namespace trawl
