// The consequences of a fetch's outcome for its URL and its host.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "trawl/clocks.h"
#include "trawl/frontier_options.h"
#include "trawl/lease.h"

namespace trawl {

// Whether the host is blocked for a while.
bool makes_host_back_off(FailureReason reason);
// Whether the URL is retried, if it has retries left.
bool is_transient(FailureReason reason);
// A description for outcomes without an error text.
std::string_view to_string(FailureReason reason);

// Whether a URL that ended with this outcome counts as succeeded (FrontierCounters) or as failed,
// and the reason of a failed one (RetryWhich::reason).
bool has_succeeded(const Outcome& outcome);
bool has_failed(const Outcome& outcome);
std::string_view reason_of(const Outcome& outcome);

// How long the URL waits, after `attempts` earlier retries.
std::chrono::milliseconds retry_wait(const RetryOptions& options, std::uint32_t attempts,
                                     std::optional<std::chrono::milliseconds> retry_after);
// Whether a host that has not answered since `since` is given up. Without this rule and with
// host_failures 0, its URLs would be put back and wait without end.
bool is_too_silent(const RetryOptions& options, std::optional<SteadyTime> since, SteadyTime now);

}  // namespace trawl
