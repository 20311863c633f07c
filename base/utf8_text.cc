#include "base/utf8_text.h"

namespace trawl {

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
  if (character < 0x10000) return append_unit(character);
  append_unit(0xD800 + ((character - 0x10000) >> 10));
  append_unit(0xDC00 + ((character - 0x10000) & 0x3FF));
}

}  // namespace trawl
