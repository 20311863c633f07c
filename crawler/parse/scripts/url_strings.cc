#include "crawler/parse/scripts/url_strings.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/utf8.h"

namespace trawl {

namespace {

constexpr std::size_t kShortest = 3;

constexpr std::string_view kPageNames[] = {"html", "htm", "xhtml", "shtml", "php", "asp",
                                           "aspx", "jsp", "cgi",   "json",  "xml", "txt",
                                           "pdf",  "rss", "atom",  "md"};
constexpr std::string_view kRequisiteNames[] = {
    "js",    "mjs", "css", "png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "ico", "bmp", "woff",
    "woff2", "ttf", "otf", "eot", "mp4", "webm", "mp3", "ogg",  "m4a",  "wav", "vtt", "wasm"};

constexpr bool is_in(std::string_view name, const auto& names) {
  return std::ranges::any_of(
      names, [name](std::string_view each) { return equal_in_any_case(name, each); });
}

// Of "dir/name.ext" the "ext".
constexpr std::string_view extension_of(std::string_view path) {
  const std::size_t dot = path.find_last_of("./");
  if (dot == std::string_view::npos || path[dot] != '.' || dot == 0) return {};
  if (path[dot - 1] == '/') return {};
  return path.substr(dot + 1);
}

// White space, controls, and what code has between its quotes more often than URLs do.
constexpr auto kUnlikely = [] {
  std::array<bool, 256> unlikely{};
  for (std::size_t c = 0; c <= ' '; ++c)
    unlikely[c] = true;
  unlikely[0x7f] = true;
  for (const char c : std::string_view("\"'`<>{}[]()|\\^*"))
    unlikely[static_cast<unsigned char>(c)] = true;
  return unlikely;
}();

constexpr bool is_surrogate(std::uint32_t code) {
  return code >= 0xd800 && code < 0xe000;
}

constexpr bool is_word(char c) {
  return is_ascii_alphanumeric(c) || c == '_' || c == '-' || c == '~' || c == '%' ||
         static_cast<unsigned char>(c) >= 0x80;
}

constexpr bool starts_in_any_case(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && equal_in_any_case(text.substr(0, start.size()), start);
}

bool begins_with_host(std::string_view text) {
  const std::string_view host = text.substr(0, text.find_first_of("/?#"));
  return !host.empty() && is_ascii_alphanumeric(host.front()) &&
         (host.find('.') != std::string_view::npos || host.find(':') != std::string_view::npos);
}

bool is_likely(std::string_view text) {
  if (text.size() < kShortest || text.size() > UrlStrings::kLongest) return false;
  if (std::ranges::any_of(text, [](char c) { return kUnlikely[static_cast<unsigned char>(c)]; }))
    return false;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (starts_in_any_case(text, scheme)) return text.size() > scheme.size();
  }
  if (text.starts_with("//")) return begins_with_host(text.substr(2));
  for (const std::string_view start : {"/", "./", "../"}) {
    if (text.starts_with(start) && text.size() > start.size())
      return is_word(text[start.size()]) || text.starts_with("../");
  }
  if (!is_word(text.front())) return false;
  const std::string_view path = text.substr(0, text.find_first_of("?#"));
  const std::string_view extension = extension_of(path);
  return path.find(':') == std::string_view::npos &&
         (is_in(extension, kPageNames) || is_in(extension, kRequisiteNames));
}

}  // namespace

std::optional<std::string_view> UrlStrings::next() {
  while (at_ < text_.size()) {
    const std::size_t begin = text_.find_first_of("\"'`", at_);
    if (begin == std::string_view::npos) break;
    // A quote that ends no string here may begin another: the search goes on behind it.
    at_ = begin + 1;
    if (begin > 0 && text_[begin - 1] == '\\') continue;
    const std::size_t end = end_of_literal(at_, text_[begin]);
    if (end == std::string_view::npos) continue;
    std::string_view literal = text_.substr(at_, end - at_);
    if (literal.find('\\') != std::string_view::npos) literal = decoded(literal);
    if (!is_likely(literal)) continue;
    at_ = end + 1;
    if (literal.data() == scratch_.data()) return made_.emplace_back(literal);
    return literal;
  }
  at_ = text_.size();
  return std::nullopt;
}

// Where the literal that begins at `begin` ends; npos if it is too long, or has a line break.
// Quotes behind a backslash begin none, so no part of the text is searched twice for one kind of
// quote.
std::size_t UrlStrings::end_of_literal(std::size_t begin, char quote) const noexcept {
  const std::size_t limit = std::min(text_.size(), begin + kLongest + 1);
  for (std::size_t i = begin; i < limit; ++i) {
    const char c = text_[i];
    if (c == quote) return i;
    if (c == '\n' || c == '\r') break;
    if (c == '\\') ++i;
  }
  return std::string_view::npos;
}

std::string_view UrlStrings::decoded(std::string_view literal) {
  scratch_.clear();
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      scratch_ += literal[i];
      continue;
    }
    const char escape = literal[++i];
    const std::size_t digits = escape == 'u' ? 4 : escape == 'x' ? 2 : 0;
    std::uint32_t code = 0;
    const std::string_view hex = literal.substr(i + 1, digits);
    const auto [stop, failure] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (digits == 0) {
      scratch_ += escape == 'n' || escape == 'r' || escape == 't' ? ' ' : escape;
    } else if (failure == std::errc() && stop == hex.data() + digits && !is_surrogate(code)) {
      append_utf8(code, scratch_);
      i += digits;
    } else {
      scratch_ += ' ';  // not a URL
    }
  }
  return scratch_;
}

bool is_named_as_requisite(std::string_view path) noexcept {
  return is_in(extension_of(path), kRequisiteNames);
}

}  // namespace trawl
