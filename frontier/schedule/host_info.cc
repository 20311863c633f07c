#include "frontier/schedule/host_info.h"

#include "base/wall_time.h"

namespace trawl {

HostInfo host_info(const HostRecord& record, std::int64_t wall_now) {
  HostInfo info{.host = record.name,
                .failures = record.failures,
                .delay = record.delay,
                .max_leases = record.max_leases,
                .remaining = record.remaining};
  const bool blocked = record.blocked_until > wall_now;
  if (blocked) info.blocked_until = from_milliseconds(record.blocked_until);
  // What lasts longest is told: a block ends by itself.
  if (record.given_up) {
    info.state = HostState::kGivenUp;
  } else if (record.remaining && *record.remaining == 0) {
    info.state = HostState::kAtLimit;
  } else if (blocked) {
    info.state = HostState::kBlocked;
  }
  return info;
}

}  // namespace trawl
