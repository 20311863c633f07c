// Divides fetch.max_memory between bodies and the tables that grow with the crawl: cookies, and
// limits of hosts.
#pragma once

#include <cstdint>

#include "crawler/config/crawl_config.h"

namespace trawl {

struct FetchMemoryPlan {
  std::uint64_t most = 0;         // maximum of the tables; more if grows_with_hosts
  bool grows_with_hosts = false;  // scope.max_urls_per_host is set: grows with the number of hosts
  std::uint64_t for_bodies = 0;   // always left to bodies

  static FetchMemoryPlan of(const CrawlConfig& config);
};

}  // namespace trawl
