// The media type of a Content-Type header.
#pragma once

#include <string>
#include <string_view>

#include "base/ascii.h"

namespace trawl {

// Without the parameters behind it: "text/html" of "text/html; charset=utf-8".
constexpr std::string_view media_type(std::string_view content_type) noexcept {
  return trim(content_type.substr(0, content_type.find(';')));
}

// Whether it is one of HTML's.
constexpr bool is_html_media_type(std::string_view content_type) noexcept {
  const std::string_view type = media_type(content_type);
  return equal_in_any_case(type, "text/html") || equal_in_any_case(type, "application/xhtml+xml");
}

// What counts of a header with several values, or several headers joined with ", ": the last one
// that is a type and not "*/*", perhaps with the charset of one before it (Fetch standard, "extract
// a MIME type"). All of it if there is one value, or none counts.
std::string counting_content_type(std::string_view content_type);

// Whether it leaves the type to the content: it is missing, no media type at all ("html", or one in
// quotes), or one that stands for any (MIME Sniffing standard, section 7).
bool is_unknown_media_type(std::string_view content_type) noexcept;

// Whether content of an unknown type is HTML, by how it begins (section 7.1, and the further tags
// that Firefox knows); that of XHTML as well. A byte order mark before it does not count.
bool looks_like_html(std::string_view body) noexcept;

}  // namespace trawl
