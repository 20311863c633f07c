#include "crawler/config/host_politeness.h"

#include <utility>

namespace trawl {

HostPoliteness::HostPoliteness(const CrawlConfig::Politeness& politeness)
    : respect_robots_(politeness.respect_robots) {
  for (const HostPolitenessText& text : politeness.hosts) {
    auto host = HostPlaces::normal(text.host);
    if (!host || !places_.add(*host, entries_.size())) continue;
    entries_.push_back(text);
    entries_.back().host = std::move(*host);
  }
}

const HostPolitenessText* HostPoliteness::find(std::string_view host) const {
  if (entries_.empty()) return nullptr;
  const auto place = places_.find(hostname_of_queue(host));
  return place ? &entries_[*place] : nullptr;
}

bool HostPoliteness::respects_robots(std::string_view host) const {
  const HostPolitenessText* const entry = find(host);
  return entry != nullptr ? entry->respect_robots.value_or(respect_robots_) : respect_robots_;
}

}  // namespace trawl
