// How fetch.max_memory is shared by bodies and by the tables that grow with the crawl: cookies, and
// the limits of hosts.
#pragma once

#include <cstdint>

#include "crawler/config/config.h"

namespace trawl {

struct TableMemory {
  std::uint64_t most = 0;         // what the tables may take; more if grows_with_hosts
  bool grows_with_hosts = false;  // scope.max_urls_per_host: with the hosts that have had URLs
  std::uint64_t for_bodies = 0;   // what they leave to bodies, whatever they take

  static TableMemory of(const CrawlConfig& config);
};

}  // namespace trawl
