// How often a page has each link, whether they are extracted with LinkOptions::distinct or not.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>

#include "trawl/links.h"

namespace trawl {

// What makes two links of a page different: all but the fragment and the text.
using LinkIdentity = std::tuple<std::string, LinkKind, bool, std::string, std::string, std::string>;

inline std::map<LinkIdentity, std::size_t> link_occurrences(const PageLinks& page) {
  std::map<LinkIdentity, std::size_t> times;
  for (const Link& link : page.links) {
    times[{std::string(link.url.href_without_fragment()), link.kind, link.follow,
           std::string(link.element), std::string(link.attribute), link.rel}] += link.times;
  }
  return times;
}

}  // namespace trawl
