// HostPoliteness: the entries of [[politeness.host]] by host.
#pragma once

#include <string_view>
#include <vector>

#include "crawler/config/crawl_config.h"
#include "crawler/config/host_places.h"

namespace trawl {

// Immutable, thread-safe.
class HostPoliteness {
 public:
  // For a config whose entries have valid hosts; others are ignored.
  explicit HostPoliteness(const CrawlConfig::Politeness& politeness);

  // The entry for a host, in the form of Lease::host; null if there is none. Of several the exact
  // one is used, else the longest. Valid as long as this object.
  const HostPolitenessText* find(std::string_view host) const;
  bool respects_robots(std::string_view host) const;
  bool empty() const noexcept { return entries_.empty(); }
  const std::vector<HostPolitenessText>& entries() const noexcept { return entries_; }

 private:
  bool respect_robots_;
  std::vector<HostPolitenessText> entries_;
  HostPlaces places_;
};

}  // namespace trawl
