#include "crawler/parse/encoding/valid_utf8.h"

#include <cstddef>

#include "base/utf8.h"
#include "base/utf8_validation.h"
#include "url/percent_encoding.h"

namespace trawl {

// For shorter texts the fast validator does not pay off.
constexpr std::size_t kWorthAsking = 64;

std::string_view replace_invalid_utf8(std::string_view text, std::string& buffer) {
  if (text.size() >= kWorthAsking && is_utf8(text)) return text;
  buffer.clear();
  std::size_t copied = 0;
  std::size_t position = 0;
  while (position < text.size()) {
    if (static_cast<unsigned char>(text[position]) < 0x80) {
      ++position;
      continue;
    }
    const std::size_t start = position;
    const char32_t code_point = decode_utf8(text, position);
    // A U+FFFD in the text itself is not an error.
    if (code_point != kReplacementCharacter) continue;
    buffer.append(text, copied, start - copied);
    append_utf8(code_point, buffer);
    copied = position;
  }
  if (copied == 0) return text;
  buffer.append(text, copied);
  return buffer;
}

}  // namespace trawl
