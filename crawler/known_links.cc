#include "crawler/known_links.h"

#include <algorithm>

#include "filter/mix.h"

namespace trawl {

KnownLinks::KnownLinks(std::size_t entries)
    : hash_(KeyedHash::random()),
      entries_(std::max<std::size_t>(entries, 1)),
      place_(entries_.data()) {}

bool KnownLinks::knows(std::string_view href, std::uint32_t depth, std::uint32_t hops_off_scope) {
  asked_ = {.url = hash_(href), .depth = depth, .hops_off_scope = hops_off_scope};
  place_ = &entries_[scale_to(asked_.url.low, entries_.size())];
  return place_->url == asked_.url && place_->depth <= depth &&
         place_->hops_off_scope == hops_off_scope;
}

}  // namespace trawl
