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

Result<void> check_delays(const EmbeddedOptions& options) {
  const std::pair<const char*, std::chrono::milliseconds> delays[] = {
      {"politeness.delay", options.politeness.delay},
      {"politeness.domain_delay", options.politeness.domain_delay},
      {"politeness.ip_delay", options.politeness.ip_delay},
      {"politeness.max_adaptive_delay", options.politeness.max_adaptive_delay},
      {"retry.retry_delay", options.retry.retry_delay},
      {"retry.max_retry_delay", options.retry.max_retry_delay},
      {"retry.host_backoff", options.retry.host_backoff},
      {"retry.max_host_backoff", options.retry.max_host_backoff},
      {"retry.park_time", options.retry.park_time},
      {"retry.no_such_host_wait", options.retry.no_such_host_wait},
      {"limits.lease_timeout", options.limits.lease_timeout},
      {"checkpoints.interval", options.checkpoints.interval}};
  for (const auto& [name, delay] : delays) {
    if (delay.count() < 0 || delay > kMaxDelay) {
      return invalid(fmt::format("{} must be from 0 to a year, not {} ms", name, delay.count()));
    }
  }
  if (!(options.politeness.adaptive_delay >= 0) ||
      !std::isfinite(options.politeness.adaptive_delay)) {
    return invalid(fmt::format("politeness.adaptive_delay must be a number of at least 0, not {}",
                               options.politeness.adaptive_delay));
  }
  return {};
}

Result<void> check_profile(const Profile& profile) {
  if (auto valid = profile.validate(); !valid) return valid;
  constexpr std::size_t kMaxProfileBytes = 512u << 10;  // a manifest must hold it
  if (const auto size = profile.name().size(); size > kMaxProfileBytes) {
    return invalid(fmt::format("seen.profile takes {} bytes to write down, more than {}", size,
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

Result<void> check_options(const EmbeddedOptions& options) {
  if (options.directory.empty()) return invalid("EmbeddedOptions::directory is empty");
  if (auto delays = check_delays(options); !delays) return delays;
  if (auto profile = check_profile(options.seen.profile); !profile) return profile;
  if (options.politeness.leases_per_host == 0) return invalid("politeness.leases_per_host is 0");
  if (options.checkpoints.keep == 0) return invalid("checkpoints.keep is 0");
  if (options.limits.max_note_bytes > kMaxNoteBytes) {
    return invalid(fmt::format("limits.max_note_bytes must be at most {}, not {}", kMaxNoteBytes,
                               options.limits.max_note_bytes));
  }
  if (options.store.shards == 0 || options.store.shards > 1024) {
    return invalid(
        fmt::format("store.shards must be from 1 to 1024, not {}", options.store.shards));
  }
  if (options.limits.max_open_leases < options.store.shards) {
    return invalid(fmt::format("limits.max_open_leases must be at least store.shards ({}), not {}",
                               options.store.shards, options.limits.max_open_leases));
  }
  if (options.store.max_memory < kMinFrontierMemory) {
    return invalid(fmt::format("store.max_memory must be at least {} bytes, not {}",
                               kMinFrontierMemory, options.store.max_memory));
  }
  const auto size =
      blocked_bloom_size(options.seen.expected_urls, options.seen.false_positive_rate);
  if (!size) return tl::unexpected(size.error());
  return {};
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
  shard.clock = options.testing.clock;
  shard.wall_clock = options.testing.wall_clock;
  shard.first_lease = options.testing.deterministic_seed ? 1 : first_lease_number();
  shard.seed = options.testing.deterministic_seed.value_or(shard.first_lease) + index;
  return shard;
}

}  // namespace trawl
