#include "frontier/common/option_checks.h"

#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "trawl/sizing.h"

namespace trawl {

namespace {

tl::unexpected<Error> invalid(std::string message) {
  return error(ErrorCode::kInvalidArgument, std::move(message));
}

Result<void> check_profile(const Profile& profile) {
  if (auto valid = profile.validate(); !valid) return valid;
  constexpr std::size_t kMaxProfileBytes = 512u << 10;  // the MANIFEST stores it
  if (const auto size = profile.name().size(); size > kMaxProfileBytes) {
    return invalid(fmt::format(
        "seen.profile takes {} bytes when stored, more than {}: use fewer names or host rules",
        size, kMaxProfileBytes));
  }
  return {};
}

}  // namespace

Result<void> check_wait(const char* option, std::chrono::milliseconds wait) {
  if (wait.count() >= 0 && wait <= kMaxDelay) return {};
  return invalid(fmt::format("{} must be from 0 to a year, not {} ms", option, wait.count()));
}

Result<void> check_options(const PolitenessOptions& politeness, const RetryOptions& retry,
                           const LimitOptions& limits, const Profile& profile) {
  const std::pair<const char*, std::chrono::milliseconds> waits[] = {
      {"politeness.delay", politeness.delay},
      {"politeness.domain_delay", politeness.domain_delay},
      {"politeness.ip_delay", politeness.ip_delay},
      {"politeness.max_adaptive_delay", politeness.max_adaptive_delay},
      {"retry.retry_delay", retry.retry_delay},
      {"retry.max_retry_delay", retry.max_retry_delay},
      {"retry.host_backoff", retry.host_backoff},
      {"retry.max_host_backoff", retry.max_host_backoff},
      {"retry.park_time", retry.park_time},
      {"retry.no_such_host_wait", retry.no_such_host_wait},
      {"limits.lease_timeout", limits.lease_timeout}};
  for (const auto& [name, wait] : waits) {
    if (auto valid = check_wait(name, wait); !valid) return valid;
  }
  if (!(politeness.adaptive_delay >= 0) || !std::isfinite(politeness.adaptive_delay)) {
    return invalid(fmt::format("politeness.adaptive_delay must be a number of at least 0, not {}",
                               politeness.adaptive_delay));
  }
  if (politeness.leases_per_host == 0)
    return invalid("politeness.leases_per_host must be at least 1, not 0");
  if (limits.max_open_leases == 0)
    return invalid("limits.max_open_leases must be at least 1, not 0");
  if (limits.max_note_bytes > kMaxNoteBytes) {
    return invalid(fmt::format("limits.max_note_bytes must be at most {}, not {}", kMaxNoteBytes,
                               limits.max_note_bytes));
  }
  return check_profile(profile);
}

Result<void> check_options(const LimitOptions& limits, const SeenOptions& seen,
                           const StorageOptions& store) {
  if (store.shards == 0 || store.shards > 1024)
    return invalid(fmt::format("store.shards must be from 1 to 1024, not {}", store.shards));
  if (limits.max_open_leases < store.shards) {
    return invalid(fmt::format("limits.max_open_leases must be at least store.shards ({}), not {}",
                               store.shards, limits.max_open_leases));
  }
  if (store.max_memory < kMinFrontierMemory || store.max_memory > kMaxFrontierMemory) {
    return invalid(fmt::format("store.max_memory must be from {} to {} bytes, not {}",
                               kMinFrontierMemory, kMaxFrontierMemory, store.max_memory));
  }
  const auto size = blocked_bloom_size(seen.expected_urls, seen.false_positive_rate);
  if (!size) return tl::unexpected(size.error());
  return {};
}

}  // namespace trawl
