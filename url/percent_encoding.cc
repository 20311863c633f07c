#include "url/percent_encoding.h"

#include "base/utf8.h"

namespace trawl {

void append_escape(char byte, std::string& out) {
  const auto value = static_cast<unsigned char>(byte);
  const char escape[] = {'%', kUpperHexDigits[value >> 4], kUpperHexDigits[value & 0xF]};
  out.append(escape, sizeof escape);
}

void percent_encode(std::string_view text, const AsciiSet& set, std::string& out) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t start = position;
    while (position < text.size() && is_ascii(text[position]) && !set.contains(text[position])) {
      ++position;
    }
    out.append(text, start, position - start);
    if (position == text.size()) return;
    if (is_ascii(text[position])) {
      append_escape(text[position++], out);
      continue;
    }
    const std::size_t sequence = position;
    if (decode_utf8(text, position) == kReplacementCharacter) {
      out.append("%EF%BF%BD");
      continue;
    }
    for (std::size_t i = sequence; i < position; ++i)
      append_escape(text[i], out);
  }
}

std::string percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (escape_length(text, i) != 0) {
      out.push_back(escaped_byte(text, i));
      i += 3;
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

}  // namespace trawl
