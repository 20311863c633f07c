// Validates EmbeddedOptions and derives the options of the frontier's parts.
#pragma once

#include <cstdint>

#include "trawl/embedded_options.h"

#include "frontier/schedule/host_shard.h"

namespace trawl {

// Errors: kInvalidArgument; the message names the option.
Result<void> check_options(const EmbeddedOptions& options);

// The options of shard `index`; `max_head_bytes` is for all shards together.
ShardOptions shard_options(const EmbeddedOptions& options, std::uint32_t index,
                           std::uint64_t max_head_bytes);

}  // namespace trawl
