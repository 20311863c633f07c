// Makes a HostInfo from a host's record.
#pragma once

#include <cstdint>

#include "trawl/lease.h"

#include "frontier/store/host_record.h"

namespace trawl {

// Everything except the counts of URLs, at `wall_now` milliseconds since the epoch.
HostInfo host_info(const HostRecord& record, std::int64_t wall_now);

}  // namespace trawl
