// The media type of a Content-Type header.
#pragma once

#include <string_view>

#include "crawler/parse/ascii.h"

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

}  // namespace trawl
