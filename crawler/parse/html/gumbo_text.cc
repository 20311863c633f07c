#include "crawler/parse/html/gumbo_text.h"

#include <cstddef>

#include "base/utf8.h"
#include "url/percent_encoding.h"

namespace trawl {
namespace {

// Private-use characters of plane 15 stand for the hidden ones.
constexpr char32_t kHidingPlace = 0xF0000;

// Whether `text` itself has characters of plane 15.
bool has_hidden(std::string_view text) {
  for (std::size_t at = text.find('\xF3'); at != std::string_view::npos;
       at = text.find('\xF3', at + 1)) {
    std::size_t end = at;
    if (decode_utf8(text, end) >= kHidingPlace) return true;
  }
  return false;
}

bool is_control(char32_t c) {
  return (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || (c >= 0x7F && c <= 0x9F);
}

// Bytes that only text with characters to hide has.
bool is_suspicious(char byte) {
  const auto c = static_cast<unsigned char>(byte);
  return c >= 0x7F || (c < 0x20 && c != '\t' && c != '\n' && c != '\f' && c != '\r');
}

// The last two characters of each plane are noncharacters, those of plane 15 too.
bool is_last_of_plane(char32_t c) {
  return (c & 0xFFFE) == 0xFFFE;
}

bool is_noncharacter(char32_t c) {
  return (c >= 0xFDD0 && c <= 0xFDEF) || is_last_of_plane(c);
}

// Characters that must be hidden from Gumbo.
bool is_hidden(char32_t c) {
  return is_control(c) || is_noncharacter(c);
}

// The 34 noncharacters at the ends of planes are mapped to this separate range.
constexpr char32_t kPlaceOfLastOnes = kHidingPlace + 0xFF00;
constexpr char32_t kLastOnes = 34;

char32_t hiding_place(char32_t c) {
  return is_last_of_plane(c) ? kPlaceOfLastOnes + (c >> 16) * 2 + (c & 1) : kHidingPlace + c;
}

// The character hidden at `place`, or `place` itself.
char32_t hidden_at(char32_t place) {
  if (place < kHidingPlace) return place;
  if (place >= kPlaceOfLastOnes && place < kPlaceOfLastOnes + kLastOnes) {
    const char32_t last = place - kPlaceOfLastOnes;
    return ((last / 2) << 16) + 0xFFFE + (last & 1);
  }
  const char32_t c = place - kHidingPlace;
  return is_hidden(c) && !is_last_of_plane(c) ? c : place;
}

}  // namespace

std::string_view GumboText::hide(std::string_view html) {
  some_are_hidden_ = false;
  hidden_.clear();
  // If the page itself uses plane 15, nothing is hidden, so that its characters stay unchanged.
  const bool may_hide = !has_hidden(html);
  std::size_t copied = 0;
  const auto replace = [&](std::size_t begin, std::size_t end, char32_t by) {
    hidden_.append(html, copied, begin - copied);
    append_utf8(by, hidden_);
    copied = end;
  };
  for (std::size_t position = 0; position < html.size();) {
    if (!is_suspicious(html[position])) {
      ++position;
      continue;
    }
    const std::size_t begin = position;
    const char32_t c = decode_utf8(html, position);
    if (c == 0 || c == kReplacementCharacter) {
      replace(begin, position, kReplacementCharacter);
    } else if (may_hide && is_hidden(c)) {
      replace(begin, position, hiding_place(c));
      some_are_hidden_ = true;
    }
  }
  if (copied == 0) return html;
  hidden_.append(html, copied);
  return hidden_;
}

std::string_view GumboText::restore(std::string_view text, std::deque<std::string>& made) const {
  if (!some_are_hidden_ || !has_hidden(text)) return text;
  std::string& restored = made.emplace_back();
  for (std::size_t position = 0; position < text.size();) {
    append_utf8(hidden_at(decode_utf8(text, position)), restored);
  }
  return restored;
}

}  // namespace trawl
