#include "frontier/embedded_options_checks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "frontier/common/option_checks.h"
#include "frontier/store/memory_plan.h"

namespace trawl {

namespace {

static_assert(kMinFrontierMemory == MemoryPlan::kLeast);

tl::unexpected<Error> invalid(std::string message) {
  return error(ErrorCode::kInvalidArgument, std::move(message));
}

// Leases are numbered from the current time in microseconds, which is above every number of earlier
// runs.
std::uint64_t first_lease_number() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

Result<void> check_options(const EmbeddedOptions& options) {
  if (options.directory.empty())
    return invalid("directory is empty: name the directory of the frontier");
  auto valid =
      check_options(options.politeness, options.retry, options.limits, options.seen.profile);
  if (!valid) return valid;
  if (valid = check_wait("checkpoints.interval", options.checkpoints.interval); !valid)
    return valid;
  if (valid = check_wait("checkpoints.max_replay", options.checkpoints.max_replay); !valid)
    return valid;
  if (options.checkpoints.max_replay.count() == 0)
    return invalid("checkpoints.max_replay must be above 0");
  if (options.checkpoints.keep == 0) return invalid("checkpoints.keep must be at least 1, not 0");
  return check_options(options.limits, options.seen, options.store);
}

ShardOptions shard_options(const EmbeddedOptions& options, std::uint32_t index,
                           std::uint64_t max_head_bytes) {
  const std::uint32_t shards = options.store.shards;
  ShardOptions shard;
  shard.politeness = options.politeness;
  shard.retry = options.retry;
  shard.lease_timeout = options.limits.lease_timeout;
  shard.max_expired = options.limits.max_open_leases / shards;
  shard.max_head_bytes = max_head_bytes / shards;
  shard.shards = shards;
  shard.most_awake = std::max<std::size_t>(options.testing.most_hosts_awake / shards, 1);
  shard.clock = options.testing.clock;
  shard.wall_clock = options.testing.wall_clock;
  shard.first_lease = options.testing.deterministic_seed ? 1 : first_lease_number();
  shard.deterministic = options.testing.deterministic_seed.has_value();
  shard.seed = options.testing.deterministic_seed.value_or(shard.first_lease) + index;
  return shard;
}

}  // namespace trawl
