// ShardState: the counts of hosts for people, and settings that change for all hosts.
#include <algorithm>
#include <utility>

#include "frontier/schedule/host_record_info.h"
#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

// Hosts without URLs that stats() passes over in search of the next turn.
constexpr std::size_t kMostIdleHosts = 1000;

}  // namespace

void ShardState::add_counted(HostId id, std::uint64_t urls) {
  take_inbox();
  const HostIndex i = hosts_.find(id);
  if (i == kNoHost || hosts_[i].is_counted) return;
  hosts_[i].queued += static_cast<std::int64_t>(urls);
  hosts_[i].is_counted = true;
}

// Ranks the hosts from number `from` on, at most `most`; returns the number after them. Numbers
// that are not in use are of hosts without URLs.
HostIndex ShardState::rank_hosts(HostOrder order, HostIndex from, std::size_t most,
                                 RankedHosts& ranked) {
  if (from == 0) take_inbox();
  const auto end = static_cast<HostIndex>(std::min<std::size_t>(from + most, hosts_.end()));
  for (HostIndex i = from; i < end; ++i) {
    const Host& host = hosts_[i];
    std::uint64_t rank = 0;
    if (order == HostOrder::kQueued) {
      rank = static_cast<std::uint64_t>(std::max<std::int64_t>(host.queued, 0));
    } else if (host.extra) {
      rank = host.extra->record.failures;
    }
    if (rank > 0) ranked.add(rank, host.id);
  }
  return end;
}

// Those that sleep have no failures.
void ShardState::rank_sleeping_hosts(std::size_t table, RankedHosts& ranked) const {
  sleeping_.visit(table, [&](HostId id, std::uint64_t urls) { ranked.add(urls, id); });
}

milliseconds ShardState::effective_delay(HostIndex i) const {
  milliseconds delay = delay_of(hosts_[i]);
  if (hosts_[i].apart) return delay;
  if (options_.domains != nullptr) delay = std::max(delay, options_.domains->delay());
  if (options_.addresses != nullptr && groups_of(i).address != 0)
    delay = std::max(delay, options_.addresses->delay());
  return delay;
}

// Nothing if the host waits for its leases to end, for a call, or for URLs.
std::optional<SteadyTime> ShardState::expected_start(HostIndex i) const {
  const Host& host = hosts_[i];
  if (!host.queue.has_urls() || !(may_lease(host) || awaits_revival(host))) return std::nullopt;
  SteadyTime start = next_start(host);
  const HostGroups groups = groups_of(i);
  if (groups.domain != 0) start = std::max(start, options_.domains->next_start(groups.domain));
  if (groups.address != 0) start = std::max(start, options_.addresses->next_start(groups.address));
  return std::max(start, SteadyTime());
}

std::optional<HostCounts> ShardState::counts(HostId id) {
  auto info = this->info(id);
  if (!info) return std::nullopt;
  const HostIndex i = hosts_.find(id);
  const Host& host = hosts_[i];
  return HostCounts{.host = std::move(info->host),
                    .state = info->state,
                    .queued = static_cast<std::uint64_t>(std::max<std::int64_t>(host.queued, 0)),
                    .is_exact = host.is_counted && is_restored(host.id),
                    .leased = host.leased,
                    .failures = info->failures,
                    .delay = effective_delay(i),
                    .next_start = expected_start(i),
                    .blocked_until = info->settings.blocked_until};
}

SteadyTime ShardState::next_turn_with_urls() const {
  const auto has_urls = [this](HostIndex i) { return hosts_[i].queue.has_urls(); };
  if (any_awaits_head() || any_unread()) return last_now_;
  return std::min({wake_time(), stopped_until_, group_queues_.next_turn(),
                   schedule_.first_time(has_urls, kMostIdleHosts)});
}

// Blocks that have begun stay as they are.
void ShardState::set_politeness(const PolitenessOptions& politeness, const RetryOptions& retry) {
  options_.politeness = politeness;
  options_.retry = retry;
  backoff_.set(retry.host_backoff, retry.max_host_backoff);
  group_queues_.set_delays(
      options_.domains != nullptr ? options_.domains->delay() : milliseconds(0),
      options_.addresses != nullptr ? options_.addresses->delay() : milliseconds(0));
}

// For hosts that may be due earlier than they are scheduled; one that is due later is found at its
// turn (take_turn()).
HostIndex ShardState::reschedule_some(HostIndex from, std::size_t most) {
  const auto end = static_cast<HostIndex>(std::min<std::size_t>(from + most, hosts_.end()));
  for (HostIndex i = from; i < end; ++i) {
    if (hosts_[i].queue.has_urls()) reschedule(i);
  }
  return end;
}

}  // namespace trawl
