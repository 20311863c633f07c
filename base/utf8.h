// UTF-8 character by character: the decoder and the encoder, and JSON escapes of characters.
// utf8_validation.h validates large texts.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trawl {

struct Utf8Sequence {
  char32_t code = 0;       // if valid
  std::size_t length = 1;  // bytes
  bool valid = false;
};

// The character at the start of `text`, which must not be empty (Unicode, table 3-7: no overlong
// forms, no surrogates); or else the longest part of a character, which counts as one error.
inline Utf8Sequence utf8_sequence_at(std::string_view text) noexcept {
  assert(!text.empty());
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {.code = lead, .length = 1, .valid = true};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  // The range of the second byte excludes overlong forms, surrogates, and values above U+10FFFF.
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i >= text.size() || byte(i) < low || byte(i) > high) return {.length = i};
    code = code << 6 | (byte(i) & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {.code = code, .length = length, .valid = true};
}

inline constexpr char32_t kReplacementCharacter = 0xFFFD;
inline constexpr std::string_view kReplacementInUtf8 = "\xEF\xBF\xBD";
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // of UTF-8

// Decodes the code point at `position` of `text` and advances `position`. Invalid bytes give U+FFFD
// for each maximal part of a sequence, as in the WHATWG Encoding Standard.
inline char32_t decode_utf8(std::string_view text, std::size_t& position) noexcept {
  const Utf8Sequence sequence = utf8_sequence_at(text.substr(position));
  position += sequence.length;
  return sequence.valid ? sequence.code : kReplacementCharacter;
}

void append_utf8(char32_t code_point, std::string& out);

// The beginning of `text`, of at most `most` bytes, that ends between two characters.
inline std::string_view cut_utf8(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0u) == 0x80u)
    --most;
  return text.substr(0, most);
}

// Appends "\n", "\u001b" or, above U+FFFF, a surrogate pair of such units.
void append_json_escape(std::string& out, char32_t character);

}  // namespace trawl
