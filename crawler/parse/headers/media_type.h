// The media type of a Content-Type header.
#pragma once

#include <string>
#include <string_view>

#include "base/ascii.h"

namespace trawl {

// The media type without parameters: "text/html" for "text/html; charset=utf-8".
constexpr std::string_view media_type(std::string_view content_type) noexcept {
  return trim(content_type.substr(0, content_type.find(';')));
}

constexpr bool is_xhtml_media_type(std::string_view content_type) noexcept {
  return equal_in_any_case(media_type(content_type), "application/xhtml+xml");
}

// Whether it is a media type of HTML.
constexpr bool is_html_media_type(std::string_view content_type) noexcept {
  return equal_in_any_case(media_type(content_type), "text/html") ||
         is_xhtml_media_type(content_type);
}

// Whether it is the media type of SVG.
constexpr bool is_svg_media_type(std::string_view content_type) noexcept {
  return equal_in_any_case(media_type(content_type), "image/svg+xml");
}

// Whether it is the media type of style sheets.
constexpr bool is_css_media_type(std::string_view content_type) noexcept {
  return equal_in_any_case(media_type(content_type), "text/css");
}

// Whether it is a media type of JavaScript.
constexpr bool is_script_media_type(std::string_view content_type) noexcept {
  const std::string_view type = media_type(content_type);
  for (const std::string_view script :
       {"text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript",
        "application/ecmascript"}) {
    if (equal_in_any_case(type, script)) return true;
  }
  return false;
}

// Whether it is a media type of JSON, or of data in JSON: "application/ld+json".
constexpr bool is_json_media_type(std::string_view content_type) noexcept {
  constexpr std::string_view kSuffix = "+json";
  const std::string_view type = media_type(content_type);
  return equal_in_any_case(type, "application/json") || equal_in_any_case(type, "text/json") ||
         (type.size() > kSuffix.size() &&
          equal_in_any_case(type.substr(type.size() - kSuffix.size()), kSuffix));
}

// Whether it is a media type of RSS or Atom.
constexpr bool is_feed_media_type(std::string_view content_type) noexcept {
  const std::string_view type = media_type(content_type);
  return equal_in_any_case(type, "application/rss+xml") ||
         equal_in_any_case(type, "application/atom+xml");
}

// Whether it is a general media type of XML, which feeds have, too.
constexpr bool is_xml_media_type(std::string_view content_type) noexcept {
  const std::string_view type = media_type(content_type);
  return equal_in_any_case(type, "application/xml") || equal_in_any_case(type, "text/xml") ||
         equal_in_any_case(type, "application/rdf+xml");
}

// Whether content that is XML is RSS or Atom, judged by its beginning.
bool looks_like_feed(std::string_view body) noexcept;

// The value that applies of a header with several values, or of several headers joined with ", ":
// the last valid type other than "*/*", perhaps with the charset of an earlier one (Fetch standard,
// "extract a MIME type"). The whole text if there is only one value, or no valid one.
std::string counting_content_type(std::string_view content_type);

// Whether it is missing, not a media type ("html", or one in quotes), or a wildcard.
bool has_no_media_type(std::string_view content_type) noexcept;

// Whether the type must be found from the content: it is missing, not a media type ("html", or one
// in quotes), or a wildcard (MIME Sniffing standard, section 7).
bool is_unknown_media_type(std::string_view content_type) noexcept;

// Whether content of unknown type is HTML or XHTML, judged by its beginning (section 7.1, and
// further tags that Firefox knows). Skips a byte order mark.
bool looks_like_html(std::string_view body) noexcept;

}  // namespace trawl
