// What Frontier::hosts() tells of a host from what is kept of it.
#pragma once

#include <cstdint>

#include "trawl/lease.h"

#include "frontier/store/host_record.h"

namespace trawl {

// All but the counts of its URLs, at `wall_now` milliseconds since the epoch.
HostInfo host_info(const HostRecord& record, std::int64_t wall_now);

}  // namespace trawl
