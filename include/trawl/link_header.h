// parse_link_header: the links in an HTTP Link header.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trawl/url.h"

namespace trawl {

// One link-value of a Link header (RFC 8288).
struct HeaderLink {
  Url url;
  std::string rel;       // relation types in lower case, a space between them; may be empty
  std::string type;      // the media type hint; empty if there is none
  std::string hreflang;  // the first; empty if there is none
  std::string title;     // title*, decoded, or else title

  // True if `rel` has the relation type, given in lower case ("canonical").
  bool has_rel(std::string_view relation) const noexcept;
};

// A link-value whose reference is no http(s) URL.
struct DroppedHeaderLink {
  HeaderLink link;            // without a URL
  std::string text;           // what is written in its place, 2,048 bytes of it at most
  bool other_scheme = false;  // than http and https
};

// The links of one Link header, its references resolved against `base`, the URL of the response.
// Lenient as browsers are: what is no link-value is skipped up to the next comma; links with an
// "anchor" of another resource are left out, and so are those that are no http(s) URLs, which go to
// `dropped` if it is given. At most 1,000 links of each. Thread-safe.
std::vector<HeaderLink> parse_link_header(std::string_view value, const Url& base,
                                          std::vector<DroppedHeaderLink>* dropped = nullptr);

}  // namespace trawl
