// What the options that every implementation has must be.
#pragma once

#include "trawl/canonicalizer.h"
#include "trawl/frontier_options.h"
#include "trawl/result.h"

namespace trawl {

// Errors: kInvalidArgument, naming the option.
Result<void> check_options(const PolitenessOptions& politeness, const RetryOptions& retry,
                           const LimitOptions& limits, const Profile& profile);
// A wait: from 0 to a year.
Result<void> check_wait(const char* option, std::chrono::milliseconds wait);

}  // namespace trawl
