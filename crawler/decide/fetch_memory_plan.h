// Divides fetch.max_memory between bodies and the tables that grow with the crawl: cookies, and
// limits of hosts.
#pragma once

#include <cstdint>

#include "crawler/config/crawl_config.h"

namespace trawl {

struct FetchMemoryPlan {
  std::uint64_t most = 0;           // maximum of the tables
  std::uint64_t of_url_counts = 0;  // of these, for HostUrlQuota's counts
  std::uint64_t for_bodies = 0;     // always left to bodies

  static FetchMemoryPlan of(const CrawlConfig& config);
};

}  // namespace trawl
