// Validates SharedOptions and derives the options of the parts.
#pragma once

#include <string>

#include "trawl/result.h"
#include "trawl/shared_options.h"

#include "frontier/redis/redis_options.h"
#include "frontier/shared/shared_config.h"

namespace trawl {

// Errors: kInvalidArgument; the message names the option.
Result<void> check_options(const SharedOptions& options);

// The following are for valid options.
RedisOptions redis_options(const ClusterOptions& cluster);
SharedConfig shared_config(const SharedOptions& options);
// ClusterOptions::member, or what is used without one.
std::string member_name(const SharedOptions& options);

}  // namespace trawl
