#include "base/utf8.h"

#include <cassert>

namespace trawl {

void append_utf8(char32_t code_point, std::string& out) {
  assert(code_point <= 0x10FFFF);
  const auto continuation = [&](unsigned shift) {
    out.push_back(static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)));
  };
  if (code_point < 0x80) {
    out.push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (code_point >> 6)));
    continuation(0);
  } else if (code_point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (code_point >> 12)));
    continuation(6);
    continuation(0);
  } else {
    out.push_back(static_cast<char>(0xF0 | (code_point >> 18)));
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

void append_json_escape(std::string& out, char32_t character) {
  switch (character) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
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
  const auto append_unit = [&out](char32_t unit) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4)
      out += kHex[unit >> shift & 15];
  };
  assert(character <= 0x10FFFF);
  if (character < 0x10000) return append_unit(character);
  append_unit(0xD800 + ((character - 0x10000) >> 10));
  append_unit(0xDC00 + ((character - 0x10000) & 0x3FF));
}

}  // namespace trawl
