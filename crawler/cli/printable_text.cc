#include "crawler/cli/printable_text.h"

#include "crawler/parse/encoding/valid_utf8.h"

namespace trawl::cli {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_c1_control(std::string_view rest) {
  return rest.size() >= 2 && rest[0] == '\xC2' && static_cast<unsigned char>(rest[1]) < 0xA0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string buffer;
  text = replace_invalid_utf8(text, buffer);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (byte >= '\t' && byte <= '\r') {
      out += ' ';
    } else if ((byte >= 0 && byte < ' ') || byte == '\x7F') {
      out += kReplacement;
    } else if (is_c1_control(text.substr(i))) {
      out += kReplacement;
      ++i;
    } else {
      out += byte;
    }
  }
  return out;
}

}  // namespace trawl::cli
