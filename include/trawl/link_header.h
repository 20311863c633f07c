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
  // For preloads: as the attribute of <link>, URLs with descriptors. Not resolved.
  std::string imagesrcset = {};

  // True if `rel` has the relation type, given in lower case ("canonical").
  bool has_rel(std::string_view relation) const noexcept;
};

// A link-value whose reference is not an http(s) URL.
struct DroppedHeaderLink {
  HeaderLink link;            // without a URL
  std::string text;           // the reference as written, cut to 2,048 bytes
  bool other_scheme = false;  // its scheme is neither http nor https
};

// The links of one Link header, with references resolved against `base`, the URL of the response.
// As lenient as browsers: skips invalid link-values up to the next comma. Leaves out links with an
// "anchor" of another resource, and links that are not http(s) URLs; the latter go to `dropped`, if
// given. At most 1,000 links of each. Thread-safe.
std::vector<HeaderLink> parse_link_header(std::string_view value, const Url& base,
                                          std::vector<DroppedHeaderLink>* dropped = nullptr);

}  // namespace trawl
