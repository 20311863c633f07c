#include "crawler/safe_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace trawl {

namespace {

struct Character {
  char32_t code = 0;
  std::size_t length = 1;  // bytes
  bool valid = true;
};

// The character that a text begins with (Unicode, table 3-7: no longer forms, no surrogates).
Character first_of(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {.code = lead};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr Character kInvalid{.code = 0, .length = 1, .valid = false};
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return kInvalid;
  char32_t code = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return kInvalid;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
    return kInvalid;
  return {.code = code, .length = length};
}

constexpr bool is_plain(char c) noexcept {
  return c >= ' ' && c < '\x7F';
}

void append_escape(std::string& out, char32_t c) {
  switch (c) {
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  auto unit = [&out](std::uint32_t code) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  };
  if (c < 0x10000) return unit(c);
  unit(0xD800 + ((c - 0x10000) >> 10));
  unit(0xDC00 + ((c - 0x10000) & 0x3FF));
}

// Calls plain(run), unsafe(character) and invalid(byte), in order.
template <class Plain, class Unsafe, class Invalid>
void visit(std::string_view text, std::string_view keep, Plain plain, Unsafe unsafe,
           Invalid invalid) {
  std::size_t begun = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (is_plain(text[at])) {
      ++at;
      continue;
    }
    const Character character = first_of(text.substr(at));
    const bool kept = character.code < 0x80 &&
                      keep.find(static_cast<char>(character.code)) != std::string_view::npos;
    if (character.valid && (kept || !is_unsafe(character.code))) {
      at += character.length;
      continue;
    }
    plain(text.substr(begun, at - begun));
    if (character.valid) {
      unsafe(character.code);
    } else {
      invalid(static_cast<unsigned char>(text[at]));
    }
    at += character.length;
    begun = at;
  }
  plain(text.substr(begun));
}

}  // namespace

bool is_unsafe(char32_t c) noexcept {
  if (c < 0x20 || (c >= 0x7F && c <= 0x9F)) return true;
  if (c < 0x61C) return false;
  return c == 0x61C ||                    // Arabic letter mark
         c == 0x200E || c == 0x200F ||    // left-to-right, right-to-left mark
         (c >= 0x2028 && c <= 0x202E) ||  // separators; embeddings and overrides
         (c >= 0x2066 && c <= 0x206F) ||  // isolates; deprecated
         (c >= 0xFFF9 && c <= 0xFFFB) ||  // interlinear annotations
         (c >= 0xE0000 && c <= 0xE007F);  // tags
}

std::string escape_unsafe(std::string_view text, std::string_view keep) {
  std::string out;
  out.reserve(text.size());
  visit(
      text, keep, [&](std::string_view run) { out += run; },
      [&](char32_t c) { append_escape(out, c); },
      [&](unsigned char byte) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned>(byte));
      });
  return out;
}

bool is_safe(std::string_view text, std::string_view keep) noexcept {
  bool safe = true;
  visit(
      text, keep, [](std::string_view) {}, [&](char32_t) { safe = false; },
      [&](unsigned char) { safe = false; });
  return safe;
}

std::string replace_unsafe(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  out.reserve(text.size());
  visit(
      text, "", [&](std::string_view run) { out += run; },
      [&](char32_t c) {
        const bool space = (c >= '\t' && c <= '\r') || c == 0x2028 || c == 0x2029;
        out += space ? " " : kReplacement;
      },
      [&](unsigned char) { out += kReplacement; });
  return out;
}

}  // namespace trawl
