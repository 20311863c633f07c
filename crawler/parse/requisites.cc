#include "crawler/parse/requisites.h"

#include <algorithm>

#include "base/ascii.h"

namespace trawl {

namespace {

// The link types of <link> that a browser loads something for.
constexpr std::string_view kLoaded[] = {"stylesheet",
                                        "icon",
                                        "apple-touch-icon",
                                        "apple-touch-icon-precomposed",
                                        "apple-touch-startup-image",
                                        "fluid-icon",
                                        "mask-icon",
                                        "manifest",
                                        "preload",
                                        "modulepreload",
                                        "prefetch"};

bool is_loaded(std::string_view rel) {
  for (auto token = next_token(rel); !token.empty(); token = next_token(rel)) {
    if (std::ranges::any_of(kLoaded,
                            [&](std::string_view type) { return equal_in_any_case(token, type); }))
      return true;
  }
  return false;
}

}  // namespace

bool loads_style_sheet(const Link& link) {
  if (link.element == "css") return link.attribute == "import";
  if (link.element == "style") return true;
  if (link.element != "link") return false;
  std::string_view rel = link.rel;
  for (auto token = next_token(rel); !token.empty(); token = next_token(rel)) {
    if (equal_in_any_case(token, "stylesheet")) return true;
  }
  return false;
}

bool is_requisite(const Link& link) {
  if (link.kind != LinkKind::kResource && link.kind != LinkKind::kDocument) return false;
  return link.element != "link" || link.attribute == "style" || is_loaded(link.rel);
}

}  // namespace trawl
