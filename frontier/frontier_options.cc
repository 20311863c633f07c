#include "frontier/frontier_options.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "trawl/sizing.h"

#include "frontier/store/memory_plan.h"

namespace trawl {

namespace {

static_assert(kMinFrontierMemory == MemoryPlan::kLeast);

tl::unexpected<Error> invalid(std::string message) {
  return error(ErrorCode::kInvalidArgument, std::move(message));
}

Result<void> check_delays(const FrontierOptions& options) {
  const std::pair<const char*, std::chrono::milliseconds> delays[] = {
      {"delay", options.delay},
      {"domain_delay", options.domain_delay},
      {"address_delay", options.address_delay},
      {"max_adaptive_delay", options.max_adaptive_delay},
      {"retry_delay", options.retry_delay},
      {"max_retry_delay", options.max_retry_delay},
      {"host_backoff", options.host_backoff},
      {"max_host_backoff", options.max_host_backoff},
      {"revive_after", options.revive_after},
      {"no_such_host_wait", options.no_such_host_wait},
      {"lease_timeout", options.lease_timeout},
      {"checkpoint_interval", options.checkpoint_interval}};
  for (const auto& [name, delay] : delays) {
    if (delay.count() < 0 || delay > kMaxDelay) {
      return invalid(fmt::format("FrontierOptions::{} must be from 0 to a year, not {} ms", name,
                                 delay.count()));
    }
  }
  if (!(options.adaptive_delay >= 0) || !std::isfinite(options.adaptive_delay)) {
    return invalid(
        fmt::format("FrontierOptions::adaptive_delay must be a number of at least 0, not {}",
                    options.adaptive_delay));
  }
  return {};
}

Result<void> check_profile(const Profile& profile) {
  if (auto valid = profile.validate(); !valid) return valid;
  constexpr std::size_t kMaxProfileBytes = 512u << 10;  // a manifest must hold it
  if (const auto size = profile.name().size(); size > kMaxProfileBytes) {
    return invalid(
        fmt::format("FrontierOptions::profile takes {} bytes to write down, more than {}", size,
                    kMaxProfileBytes));
  }
  return {};
}

// Leases are numbered from the time on, in microseconds: no run before gave so high a number.
std::uint64_t first_lease_number() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

Result<void> check_options(const FrontierOptions& options) {
  if (options.directory.empty()) return invalid("FrontierOptions::directory is empty");
  if (auto delays = check_delays(options); !delays) return delays;
  if (auto profile = check_profile(options.profile); !profile) return profile;
  if (options.leases_per_host == 0) return invalid("FrontierOptions::leases_per_host is 0");
  if (options.checkpoints_kept == 0) return invalid("FrontierOptions::checkpoints_kept is 0");
  if (options.shards == 0 || options.shards > 1024) {
    return invalid(
        fmt::format("FrontierOptions::shards must be from 1 to 1024, not {}", options.shards));
  }
  if (options.max_open_leases < options.shards) {
    return invalid(
        fmt::format("FrontierOptions::max_open_leases must be at least shards ({}), not {}",
                    options.shards, options.max_open_leases));
  }
  if (options.max_memory < kMinFrontierMemory) {
    return invalid(fmt::format("FrontierOptions::max_memory must be at least {} bytes, not {}",
                               kMinFrontierMemory, options.max_memory));
  }
  const auto size = blocked_bloom_size(options.expected_urls, options.false_positive_rate);
  if (!size) return tl::unexpected(size.error());
  return {};
}

ShardOptions shard_options(const FrontierOptions& options, std::uint32_t index,
                           std::uint64_t max_head_bytes) {
  const std::uint32_t shards = options.shards;
  ShardOptions shard;
  shard.delay = options.delay;
  shard.adaptive_delay = options.adaptive_delay;
  shard.max_adaptive_delay = options.max_adaptive_delay;
  shard.leases_per_host = options.leases_per_host;
  shard.retries = options.retries;
  shard.host_backoff = options.host_backoff;
  shard.max_host_backoff = options.max_host_backoff;
  shard.host_failures = options.host_failures;
  shard.revive_after = options.revive_after;
  shard.no_such_host_wait = options.no_such_host_wait;
  shard.lease_timeout = options.lease_timeout;
  shard.max_expired = options.max_open_leases / shards;
  shard.max_head_bytes = max_head_bytes / shards;
  shard.clock = options.clock;
  shard.wall_clock = options.wall_clock;
  shard.first_lease = options.deterministic_seed ? 1 : first_lease_number();
  shard.seed = options.deterministic_seed.value_or(shard.first_lease) + index;
  return shard;
}

}  // namespace trawl
