// Implements parts of the Fetch standard
// (https://fetch.spec.whatwg.org/#concept-header-extract-mime-type) and of the MIME Sniffing
// standard (https://mimesniff.spec.whatwg.org/).
#include "crawler/parse/headers/media_type.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/utf8.h"
#include "crawler/parse/encoding/charset_parameter.h"

namespace trawl {

namespace {

constexpr AsciiSet kTokenMarks = AsciiSet().with("!#$%&'*+-.^_`|~");

bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_ascii_alphanumeric(c) || kTokenMarks.contains(c);
  });
}

bool is_media_type(std::string_view type) noexcept {
  const std::size_t slash = type.find('/');
  return slash != std::string_view::npos && is_token(type.substr(0, slash)) &&
         is_token(type.substr(slash + 1));
}

// Removes and returns the value before the next comma outside quotes.
std::string_view next_value(std::string_view& values) noexcept {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < values.size() && (quoted || values[end] != ','); ++end) {
    if (values[end] == '"') quoted = !quoted;
    if (quoted && values[end] == '\\') ++end;
  }
  end = std::min(end, values.size());
  const std::string_view value = trim(values.substr(0, end));
  values.remove_prefix(std::min(end + 1, values.size()));
  return value;
}

// The patterns of the standard except "<!--", and some more; each must be followed by the end of a
// name.
constexpr std::array kHtmlStarts = std::to_array<std::string_view>({"<!doctype html",
                                                                    "<html",
                                                                    "<head",
                                                                    "<script",
                                                                    "<iframe",
                                                                    "<h1",
                                                                    "<div",
                                                                    "<font",
                                                                    "<table",
                                                                    "<a",
                                                                    "<style",
                                                                    "<title",
                                                                    "<b",
                                                                    "<body",
                                                                    "<br",
                                                                    "<p",
                                                                    "<base",
                                                                    "<link",
                                                                    "<meta",
                                                                    "<img",
                                                                    "<center",
                                                                    "<form",
                                                                    "<frameset",
                                                                    "<h2",
                                                                    "<h3",
                                                                    "<h4",
                                                                    "<h5",
                                                                    "<h6",
                                                                    "<pre"});

bool begins_with_tag(std::string_view body, std::string_view start) noexcept {
  if (body.size() <= start.size() || !starts_with_in_any_case(body, start)) return false;
  const char end = body[start.size()];
  return end == '>' || is_html_white_space(end);
}

}  // namespace

std::string counting_content_type(std::string_view content_type) {
  if (content_type.find(',') == std::string_view::npos) return std::string(content_type);
  std::string_view counting;
  std::string charset;
  for (std::string_view rest = content_type; !rest.empty();) {
    const std::string_view value = next_value(rest);
    const std::string_view type = media_type(value);
    if (!is_media_type(type) || type == "*/*") continue;
    if (!equal_in_any_case(type, media_type(counting))) charset.clear();
    if (std::string own = charset_parameter(value); !own.empty()) charset = std::move(own);
    counting = value;
  }
  if (counting.empty()) return std::string(content_type);
  std::string found(counting);
  if (!charset.empty() && charset_parameter(counting).empty()) found += "; charset=" + charset;
  return found;
}

bool has_no_media_type(std::string_view content_type) noexcept {
  const std::string_view type = media_type(content_type);
  return !is_media_type(type) || type == "*/*";
}

bool is_unknown_media_type(std::string_view content_type) noexcept {
  const std::string_view type = media_type(content_type);
  return has_no_media_type(type) || equal_in_any_case(type, "unknown/unknown") ||
         equal_in_any_case(type, "application/unknown");
}

bool looks_like_html(std::string_view body) noexcept {
  if (body.starts_with(kByteOrderMark)) body.remove_prefix(3);
  skip_white_space(body);
  if (starts_with_in_any_case(body, "<?xml")) {
    const std::size_t end = body.find("?>");
    if (end == std::string_view::npos) return false;
    body.remove_prefix(end + 2);
    skip_white_space(body);
    return begins_with_tag(body, "<!doctype html") || begins_with_tag(body, "<html");
  }
  return body.starts_with("<!--") || std::ranges::any_of(kHtmlStarts, [body](auto start) {
           return begins_with_tag(body, start);
         });
}

bool looks_like_feed(std::string_view body) noexcept {
  constexpr std::size_t kBeginning = 1024;
  body = body.substr(0, kBeginning);
  for (const std::string_view root : {"<rss", "<feed", "<rdf:RDF"}) {
    if (body.find(root) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace trawl
