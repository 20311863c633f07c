// What the end of a fetch means for its URL and its host.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trawl/clocks.h"
#include "trawl/frontier_options.h"
#include "trawl/lease.h"

namespace trawl {

// Whether its host is left alone for a while.
bool makes_host_back_off(FailureReason reason);
// Whether its URL is tried again, if it has tries left.
bool is_passing(FailureReason reason);
// In words, for where the caller gave none.
std::string_view to_string(FailureReason reason);

// Of a URL that ended with it: whether it counts as succeeded (FrontierCounters), or as failed, and
// then RetryWhich::reason.
bool has_succeeded(const Outcome& outcome);
bool has_failed(const Outcome& outcome);
std::string_view reason_of(const Outcome& outcome);

// How long its URL waits, which has been tried `attempts` times before.
std::chrono::milliseconds retry_wait(const RetryOptions& options, std::uint32_t attempts,
                                     std::optional<std::chrono::milliseconds> retry_after);
// Whether a host that has not answered since then is given up. Without host_failures its URLs, put
// back without an end where they are not to blame, would wait for ever.
bool is_too_silent(const RetryOptions& options, std::optional<SteadyTime> since, SteadyTime now);

}  // namespace trawl
