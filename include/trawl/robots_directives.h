// RobotsDirectives: a page's directives for crawlers, from <meta name="robots"> or X-Robots-Tag.
#pragma once

#include <string_view>

namespace trawl {

// The directives of one page. Combining several sources with |= keeps each prohibition.
struct RobotsDirectives {
  bool noindex = false;    // "noindex" or "none"
  bool nofollow = false;   // "nofollow" or "none": follow no link of the page
  bool noarchive = false;  // "noarchive" or "nocache"

  RobotsDirectives& operator|=(const RobotsDirectives& other) noexcept {
    noindex |= other.noindex;
    nofollow |= other.nofollow;
    noarchive |= other.noarchive;
    return *this;
  }
  friend bool operator==(const RobotsDirectives&, const RobotsDirectives&) = default;
};

// Parses the content of a <meta name="robots">: comma-separated, case-insensitive; unknown
// directives are ignored. Thread-safe.
RobotsDirectives parse_robots_meta(std::string_view content);

// Parses the value of one X-Robots-Tag header: "noindex, nofollow", or "examplebot: noindex", where
// the name applies to the directives after it up to the next name. Returns the directives for all
// crawlers and those for `agent`. Of both names only the product token counts, ignoring case, as in
// robots.txt: "Trawl/1.0: noindex" is for "trawl", for "Trawl/0.1 (+http://...)" and for
// "Mozilla/5.0 (compatible; trawl/0.1)". Directives with a value ("unavailable_after: 25 Jun 2030
// 15:00:00 GMT") are not taken for names. A page with several such headers has the directives of
// all of them: pass their values together, one a line. Thread-safe.
RobotsDirectives parse_x_robots_tag(std::string_view value, std::string_view agent);

}  // namespace trawl
