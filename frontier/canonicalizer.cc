#include "trawl/canonicalizer.h"

#include "frontier/percent_encoding.h"

namespace trawl {

namespace {

// RFC 3986 section 2.3: escaping these never means anything.
constexpr AsciiSet kUnreserved =
    AsciiSet().with_range('a', 'z').with_range('A', 'Z').with_range('0', '9').with("-._~");
constexpr AsciiSet kNothing;

// Appends `text` with its escapes in upper-case hex and those of `decoded` bytes decoded.
//
// A '%' that starts no escape is left alone, and so the two digits after it must not come about
// by decoding: "%%34%31" would become "%41", whose own key is "A".
void append_normalized(std::string_view text, const AsciiSet& decoded, std::string& out) {
  std::size_t bare_percent = std::string::npos;  // where in `out` the last one stands
  const auto would_complete_escape = [&](char byte) {
    if (bare_percent == std::string::npos || hex_value(byte) < 0) return false;
    const std::size_t behind = out.size() - bare_percent - 1;
    return behind == 0 || (behind == 1 && hex_value(out.back()) >= 0);
  };
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t percent = text.find('%', position);
    out.append(text.substr(position, percent - position));
    if (percent == std::string_view::npos) return;
    if (escape_length(text, percent) == 0) {
      bare_percent = out.size();
      out.push_back('%');
      position = percent + 1;
      continue;
    }
    const char byte = escaped_byte(text, percent);
    if (decoded.contains(byte) && !would_complete_escape(byte)) {
      out.push_back(byte);
    } else {
      append_escape(byte, out);
    }
    position = percent + 3;
  }
}

}  // namespace

std::string Canonicalizer::key(const Url& url) const {
  std::string out;
  key_into(url, out);
  return out;
}

void Canonicalizer::key_into(const Url& url, std::string& out) const {
  const std::string_view href = url.href_without_fragment();
  if (href.find('%') == std::string_view::npos) {
    out.assign(href);
    return;
  }
  const auto path_start = static_cast<std::size_t>(url.path().data() - href.data());
  out.clear();
  out.reserve(href.size());
  append_normalized(href.substr(0, path_start), kNothing, out);
  append_normalized(href.substr(path_start), kUnreserved, out);
}

}  // namespace trawl
