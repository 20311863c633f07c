// What set_host() may be asked for, and what hosts() tells.
#pragma once

#include <cstdint>

#include "trawl/lease.h"
#include "trawl/result.h"

#include "frontier/common/frontier_clock.h"

namespace trawl {

// Until when the host is blocked with these settings, in milliseconds of FrontierClock; 0: it is
// not, or is parked. `wall`: the wall clock. Errors: kInvalidArgument.
Result<std::int64_t> checked_block(const HostSettings& settings, const FrontierClock& clock,
                                   SystemTime wall);

// Whether it has anything that a host of which nothing is known has not.
bool has_news(const HostInfo& info);

}  // namespace trawl
