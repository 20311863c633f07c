// Validates the arguments of set_host(), and decides which hosts hosts() lists.
#pragma once

#include <cstdint>

#include "trawl/lease.h"
#include "trawl/result.h"

#include "frontier/common/frontier_clock.h"

namespace trawl {

// The end of the block that the settings ask for, in milliseconds of FrontierClock; 0: no block, or
// parked. `wall` is the current wall clock. Errors: kInvalidArgument.
Result<std::int64_t> checked_block(const HostSettings& settings, const FrontierClock& clock,
                                   SystemTime wall);

// Whether anything differs from a host without records.
bool differs_from_new_host(const HostInfo& info);

}  // namespace trawl
