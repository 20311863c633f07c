#include "crawler/parse/robots/robots_path.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/ascii.h"
#include "url/percent_encoding.h"

namespace trawl {
namespace {

constexpr bool is_unreserved(char c) {
  return is_ascii_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// Characters that stay unchanged in patterns and URLs: RFC 3986's unreserved and reserved
// characters and '%', except "'", which URL parsers escape in queries.
constexpr bool is_plain(char c) {
  constexpr std::string_view kPlain = "-._~:/?#[]@!&()+,;=%";
  return is_ascii_alphanumeric(c) || kPlain.find(c) != std::string_view::npos;
}

constexpr std::uint64_t kPercent = std::uint64_t{1} << 63;
constexpr std::uint64_t kNotPlain = std::uint64_t{1} << 62;
constexpr std::uint64_t kByteBits = kNotPlain - 1;

// One look-up per byte gives both whether it must be normalised (the two high bits) and its bit in
// the byte set. Bytes common in URLs have their own bit; capitals share 12.
constexpr std::array<std::uint64_t, 256> make_signatures() {
  constexpr std::string_view kOwnBit = "abcdefghijklmnopqrstuvwxyz0123456789/.-_?=&%+:,~;";
  std::array<std::uint64_t, 256> signatures{};
  for (std::size_t byte = 0; byte < signatures.size(); ++byte) {
    const char c = static_cast<char>(byte);
    std::size_t bit = kOwnBit.find(c);
    if (bit == std::string_view::npos) {
      bit = c >= 'A' && c <= 'Z' ? kOwnBit.size() + static_cast<std::size_t>(c - 'A') % 12 : 61;
    }
    signatures[byte] = std::uint64_t{1} << bit;
    if (c == '%') signatures[byte] |= kPercent;
    if (!is_plain(c)) signatures[byte] |= kNotPlain;
  }
  return signatures;
}

constexpr std::array<std::uint64_t, 256> kSignatures = make_signatures();

std::uint64_t signature(std::string_view text) {
  const auto of = [&](std::size_t i) { return kSignatures[static_cast<unsigned char>(text[i])]; };
  std::uint64_t even = 0;  // two accumulators, to avoid a dependency chain
  std::uint64_t odd = 0;
  std::size_t i = 0;
  for (; i + 4 <= text.size(); i += 4) {
    even |= of(i) | of(i + 2);
    odd |= of(i + 1) | of(i + 3);
  }
  for (; i < text.size(); ++i)
    even |= of(i);
  return even | odd;
}

bool escapes_are_normal(std::string_view text) {
  for (std::size_t at = text.find('%'); at < text.size(); at = text.find('%', at + 1)) {
    if (escape_length(text, at) == 0) continue;
    const bool lower_case = text[at + 1] >= 'a' || text[at + 2] >= 'a';
    if (lower_case || is_unreserved(escaped_byte(text, at))) return false;
  }
  return true;
}

void append_rewritten(std::string_view text, bool is_pattern, std::string& out) {
  out.reserve(out.size() + text.size() + 16);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (escape_length(text, i) != 0) {
      const char byte = escaped_byte(text, i);
      if (is_unreserved(byte)) {
        out += byte;
      } else {
        append_escape(byte, out);
      }
      i += 2;
    } else if (is_plain(c) || (c == '*' && is_pattern)) {
      out += c;
    } else {
      append_escape(c, out);
    }
  }
}

std::string_view path_and_query(const Url& url) {
  const std::string_view href = url.href_without_fragment();
  return href.substr(static_cast<std::size_t>(url.path().data() - href.data()));
}

}  // namespace

void append_normalized(std::string_view text, bool is_pattern, std::string& out) {
  if ((signature(text) & (kPercent | kNotPlain)) == 0) {
    out += text;
  } else {
    append_rewritten(text, is_pattern, out);
  }
}

std::uint64_t robots_byte_set(std::string_view text) {
  return signature(text) & kByteBits;
}

std::uint64_t robots_sort_key(std::string_view text) {
  std::uint64_t key = 0;
  if (text.size() >= sizeof key) {
    std::memcpy(&key, text.data(), sizeof key);
    return std::endian::native == std::endian::little ? __builtin_bswap64(key) : key;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    key |= std::uint64_t{static_cast<unsigned char>(text[i])} << (56 - 8 * i);
  }
  return key;
}

RobotsPath::RobotsPath(const Url& url) : text_(path_and_query(url)) {
  const std::uint64_t found = signature(text_);
  bytes_ = found & kByteBits;
  if ((found & kNotPlain) == 0 && ((found & kPercent) == 0 || escapes_are_normal(text_))) return;
  append_rewritten(text_, false, normalized_);
  text_ = normalized_;
  bytes_ = robots_byte_set(text_);
}

}  // namespace trawl
