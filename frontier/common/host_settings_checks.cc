#include "frontier/common/host_settings_checks.h"

#include <fmt/format.h>

namespace trawl {

Result<std::int64_t> checked_block(const HostSettings& settings, const FrontierClock& clock,
                                   SystemTime wall) {
  if (settings.delay && (settings.delay->count() < 0 || *settings.delay > kMaxDelay)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("HostSettings::delay must be from 0 to a year, not {} ms",
                             settings.delay->count()));
  }
  const auto end = settings.blocked_until;
  if (!end || *end == HostSettings::kParked || *end <= wall) return 0;
  const std::int64_t until = clock.from_wall(*end);
  if (until - clock.now() > kMaxDelay.count()) {
    return error(
        ErrorCode::kInvalidArgument,
        "HostSettings::blocked_until is more than a year from now; use kParked, a limit of 0 "
        "or drop_host() to stop a host permanently");
  }
  return until;
}

bool differs_from_new_host(const HostInfo& info) {
  return info.queued > 0 || info.leased > 0 || info.state != HostState::kActive ||
         info.failures > 0 || info.settings.delay || info.settings.exact_delay ||
         info.settings.leases || info.settings.limit;
}

}  // namespace trawl
