// Validates the options that every implementation has.
#pragma once

#include "trawl/canonicalizer.h"
#include "trawl/embedded_options.h"
#include "trawl/frontier_options.h"
#include "trawl/result.h"

namespace trawl {

// Errors: kInvalidArgument; the message names the option.
Result<void> check_options(const PolitenessOptions& politeness, const RetryOptions& retry,
                           const LimitOptions& limits, const Profile& profile);
// The same, of those that keep their URLs in a store.
Result<void> check_options(const LimitOptions& limits, const SeenOptions& seen,
                           const StorageOptions& store);
// A wait must be from 0 to a year.
Result<void> check_wait(const char* option, std::chrono::milliseconds wait);

}  // namespace trawl
