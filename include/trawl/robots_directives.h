// RobotsDirectives: what a page says to crawlers, in <meta name="robots"> or X-Robots-Tag.
#pragma once

#include <string_view>

namespace trawl {

// Directives of one page. Those of several sources add up: what one forbids stays forbidden.
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

// The content of a <meta name="robots">: directives between commas, in any case; unknown ones mean
// nothing. Thread-safe.
RobotsDirectives parse_robots_meta(std::string_view content);

// The value of one X-Robots-Tag header: "noindex, nofollow", or "examplebot: noindex", where the
// name holds for the directives behind it up to the next name. Takes the directives for all
// crawlers and those for `agent`. Of both names only the product token counts, in any case, as in
// robots.txt: "Trawl/1.0: noindex" is for "trawl", for "Trawl/0.1 (+http://...)" and for
// "Mozilla/5.0 (compatible; trawl/0.1)". Directives with a value of their own ("unavailable_after:
// 25 Jun 2030 15:00:00 GMT") are no names. A page with several such headers has the directives of
// all of them: their values may be given together, each on a line of its own. Thread-safe.
RobotsDirectives parse_x_robots_tag(std::string_view value, std::string_view agent);

}  // namespace trawl
