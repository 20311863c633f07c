#include "frontier/schedule/host_record_info.h"

#include "base/wall_time.h"

namespace trawl {

HostInfo host_info(const HostRecord& record, std::int64_t wall_now) {
  HostInfo info{.host = record.name,
                .failures = record.failures,
                .settings = {.delay = record.delay,
                             .exact_delay = record.exact_delay ? std::optional(true) : std::nullopt,
                             .leases = record.max_leases,
                             .limit = record.remaining}};
  const bool blocked = record.blocked_until > wall_now;
  if (blocked) info.settings.blocked_until = from_milliseconds(record.blocked_until);
  // The state that lasts longest comes first; a block ends automatically.
  if (record.given_up) {
    info.state = HostState::kParked;
  } else if (record.remaining && *record.remaining == 0) {
    info.state = HostState::kAtLimit;
  } else if (blocked) {
    info.state = HostState::kBlocked;
  }
  return info;
}

}  // namespace trawl
