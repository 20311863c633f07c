#include "base/safe_text.h"

#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "base/utf8.h"

namespace trawl {

namespace {

constexpr bool is_plain(char c) noexcept {
  return c >= ' ' && c < '\x7F';
}

// Calls plain(run), unsafe(character) and invalid(part of a character), in order.
template <class Plain, class Unsafe, class Invalid>
void visit(std::string_view text, std::string_view keep, Plain plain, Unsafe unsafe,
           Invalid invalid) {
  std::size_t begun = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (is_plain(text[at])) {
      ++at;
      continue;
    }
    const Utf8Sequence character = utf8_sequence_at(text.substr(at));
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
      invalid(text.substr(at, character.length));
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
      [&](char32_t c) { append_json_escape(out, c); },
      [&](std::string_view bytes) {
        for (const char byte : bytes) {
          fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                         static_cast<unsigned>(static_cast<unsigned char>(byte)));
        }
      });
  return out;
}

bool is_safe(std::string_view text, std::string_view keep) noexcept {
  bool safe = true;
  visit(
      text, keep, [](std::string_view) {}, [&](char32_t) { safe = false; },
      [&](std::string_view) { safe = false; });
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
      [&](std::string_view) { out += kReplacement; });
  return out;
}

}  // namespace trawl
