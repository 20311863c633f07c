// What EmbeddedOptions must be, and what its parts make of them.
#pragma once

#include <cstdint>

#include "trawl/embedded_options.h"

#include "frontier/schedule/host_shard.h"

namespace trawl {

// Errors: kInvalidArgument, naming the option.
Result<void> check_options(const EmbeddedOptions& options);

// Of the shard of that index; `max_head_bytes` is of all shards together.
ShardOptions shard_options(const EmbeddedOptions& options, std::uint32_t index,
                           std::uint64_t max_head_bytes);

}  // namespace trawl
