#include "crawler/run/known_links.h"

#include <algorithm>
#include <limits>

namespace trawl {

KnownLinks::KnownLinks(const KeyedHash& hash, std::size_t entries)
    : hash_(hash), entries_(std::max<std::size_t>(entries, 1)), place_(&entries_[0]) {}

bool KnownLinks::knows(const Fingerprint& url, std::uint32_t depth, std::uint32_t hops_off_scope) {
  thread_.check();
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
  may_be_known_ = depth <= kMost && hops_off_scope <= kMost;
  if (!may_be_known_) return false;
  asked_ = {.high = url.high,
            .low = static_cast<std::uint32_t>(url.low),
            .depth = static_cast<std::uint16_t>(depth),
            .hops_off_scope = static_cast<std::uint16_t>(hops_off_scope)};
  place_ = &entries_[place_of(url)];
  return place_->high == asked_.high && place_->low == asked_.low &&
         place_->depth <= asked_.depth && place_->hops_off_scope == asked_.hops_off_scope;
}

}  // namespace trawl
