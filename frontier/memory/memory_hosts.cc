// MemoryState: hosts, and the progress and statistics of the whole frontier.
#include <algorithm>
#include <utility>

#include "base/wall_time.h"
#include "frontier/common/host_settings_checks.h"
#include "frontier/common/option_checks.h"
#include "frontier/common/queue_names.h"
#include "frontier/memory/memory_state.h"

namespace trawl {

MemoryState::MemoryState(const MemoryOptions& options)
    : options_(options),
      canonicalizer_(options.profile),
      clock_(options.clock, options.wall_clock, 0),
      backoff_(options.retry.host_backoff, options.retry.max_host_backoff, options.seed) {}

MemoryHost& MemoryState::add_host(std::string_view name) {
  const auto found = hosts_.find(name);
  if (found != hosts_.end()) return found->second;
  MemoryHost& host = hosts_[std::string(name)];
  host.name = name;
  return host;
}

const MemoryHost* MemoryState::find_host(std::string_view name) const {
  const auto found = hosts_.find(name);
  return found != hosts_.end() ? &found->second : nullptr;
}

Result<void> MemoryState::check_name(std::string_view name) const {
  if (name.empty()) return no_such_queue(name);
  if (is_host_name(name)) return {};
  const bool is_mistake = is_noncanonical_host(name) && find_host(name) == nullptr;
  return name.size() > kMaxQueueBytes || is_mistake ? no_such_queue(name) : Result<void>{};
}

bool MemoryState::may_lease(const MemoryHost& host) const {
  if (host.parked || (host.set.limit && host.leased >= *host.set.limit)) return false;
  return host.leased - host.fetched < host.set.leases.value_or(options_.politeness.leases_per_host);
}

bool MemoryState::awaits_revival(const MemoryHost& host) const {
  return options_.retry.park_time.count() > 0 && host.parked && !host.at_limit();
}

Result<void> MemoryState::set_host(std::string_view name, const HostSettings& settings) {
  const auto blocked_until = checked_block(settings, clock_, options_.wall_clock());
  if (!blocked_until) return tl::unexpected(blocked_until.error());
  if (auto valid = check_name(name); !valid) return valid;
  MemoryHost& host = add_host(name);
  if (settings.address) learn_address(host, *settings.address);
  if (settings.delay) host.set.delay = settings.delay->count() > 0 ? settings.delay : std::nullopt;
  if (settings.exact_delay)
    host.set.exact_delay = *settings.exact_delay ? settings.exact_delay : std::nullopt;
  if (settings.leases) host.set.leases = *settings.leases > 0 ? settings.leases : std::nullopt;
  if (settings.limit)
    host.set.limit = *settings.limit != HostSettings::kNoLimit ? settings.limit : std::nullopt;
  if (!settings.blocked_until) return {};
  if (*settings.blocked_until == HostSettings::kParked) {
    host.parked = true;
    if (options_.retry.park_time.count() > 0)
      host.blocked_until =
          std::max(host.blocked_until, clock_.now() + options_.retry.park_time.count());
    return {};
  }
  host.blocked_until = *blocked_until;
  if (*blocked_until > 0) return {};
  host.failures = 0;
  host.parked = false;
  host.silent_since.reset();
  return {};
}

std::map<MemoryUrl::Place, MemoryUrlPointer> MemoryState::waiting(const MemoryHost& host) const {
  auto urls = host.queue;
  for (const auto& [id, lease] : leases_) {
    const MemoryUrl& url = *lease.url;
    if (lease.host == &host && url.place.number == lease.number &&
        (url.state == MemoryUrl::State::kLeased || url.state == MemoryUrl::State::kEnding))
      urls.emplace(url.place, lease.url);
  }
  return urls;
}

HostInfo MemoryState::info(const MemoryHost& host) const {
  HostInfo info{.host = host.name,
                .queued = waiting(host).size(),
                .leased = host.leased,
                .failures = host.failures,
                .settings = host.set};
  info.settings.address.reset();
  if (is_blocked(host)) info.settings.blocked_until = clock_.to_wall(host.blocked_until);
  // The state that lasts longest comes first; a block ends automatically.
  info.state = host.parked        ? HostState::kParked
               : host.at_limit()  ? HostState::kAtLimit
               : is_blocked(host) ? HostState::kBlocked
                                  : HostState::kActive;
  return info;
}

Result<HostInfo> MemoryState::host(std::string_view name) const {
  const MemoryHost* const host = find_host(name);
  if (host != nullptr && differs_from_new_host(info(*host))) return info(*host);
  return error(ErrorCode::kNotFound, std::string(name) + " has neither waiting URLs nor settings");
}

std::vector<HostInfo> MemoryState::hosts(std::string_view after, std::size_t limit) const {
  std::vector<HostInfo> infos;
  for (auto next = hosts_.upper_bound(after); next != hosts_.end() && infos.size() < limit;
       ++next) {
    HostInfo found = info(next->second);
    if (differs_from_new_host(found)) infos.push_back(std::move(found));
  }
  return infos;
}

HostCounts MemoryState::counts(MemoryHost& host) {
  HostInfo info = this->info(host);
  HostCounts counts{.host = std::move(info.host),
                    .state = info.state,
                    .queued = info.queued,
                    .leased = info.leased,
                    .failures = info.failures,
                    .blocked_until = info.settings.blocked_until};
  for (const auto& [clock, delay] : clocks_of(host))
    counts.delay = std::max(counts.delay, delay);
  if (!host.queue.empty() && (may_lease(host) || awaits_revival(host))) {
    counts.next_start = std::max(next_start(host), SteadyTime());
    if (is_blocked(host)) {
      const milliseconds wait(host.blocked_until - clock_.now());
      counts.next_start = std::max(*counts.next_start, options_.clock() + wait);
    }
  }
  return counts;
}

std::vector<HostCounts> MemoryState::busiest_hosts(HostOrder order, std::size_t limit) {
  std::vector<HostCounts> all;
  for (auto& [name, host] : hosts_) {
    HostCounts found = counts(host);
    if ((order == HostOrder::kQueued ? found.queued : found.failures) > 0)
      all.push_back(std::move(found));
  }
  std::ranges::stable_sort(all, [&](const HostCounts& a, const HostCounts& b) {
    return order == HostOrder::kQueued ? a.queued > b.queued : a.failures > b.failures;
  });
  all.resize(std::min(all.size(), limit));
  return all;
}

Result<HostCounts> MemoryState::host_counts(std::string_view name) {
  if (const auto host = hosts_.find(name);
      host != hosts_.end() && differs_from_new_host(info(host->second)))
    return counts(host->second);
  return error(ErrorCode::kNotFound, std::string(name) + " has neither waiting URLs nor settings");
}

Result<void> MemoryState::set_politeness(const PolitenessOptions& politeness,
                                         const RetryOptions& retry) {
  if (auto valid = check_options(politeness, retry, options_.limits, options_.profile); !valid)
    return valid;
  const auto is_switched = [](milliseconds before, milliseconds now) {
    return (before.count() > 0) != (now.count() > 0);
  };
  if (is_switched(options_.politeness.domain_delay, politeness.domain_delay) ||
      is_switched(options_.politeness.ip_delay, politeness.ip_delay)) {
    return error(ErrorCode::kInvalidArgument,
                 "domain_delay and ip_delay can be neither introduced nor removed while the "
                 "frontier is open");
  }
  options_.politeness = politeness;
  options_.retry = retry;
  backoff_.set(retry.host_backoff, retry.max_host_backoff);
  return {};
}

Result<std::uint64_t> MemoryState::drop_host(std::string_view name) {
  if (auto valid = check_name(name); !valid) return tl::unexpected(valid.error());
  std::vector<MemoryUrlPointer> dropped;
  if (const auto host = hosts_.find(name); host != hosts_.end()) {
    for (const auto& [place, url] : std::exchange(host->second.queue, {}))
      dropped.push_back(url);
  }
  for (auto next = deferred_.begin(); next != deferred_.end();) {
    const MemoryUrlPointer url = next->second;
    if (url->queue != name) {
      ++next;
      continue;
    }
    next = deferred_.erase(next);
    count_deferred(*url, false);
    dropped.push_back(url);
  }
  for (const MemoryUrlPointer& url : dropped)
    end_url(url);
  totals_.dropped += dropped.size();
  return dropped.size();
}

void MemoryState::visit_queue(std::string_view name,
                              const std::function<bool(std::string_view)>& visit) const {
  const MemoryHost* const host = find_host(name);
  if (host == nullptr) return;
  for (const auto& [place, url] : waiting(*host)) {
    if (!visit(url->url)) return;
  }
}

Progress MemoryState::progress() const {
  const bool idle =
      open_leases_ == 0 && std::ranges::all_of(hosts_, [](const auto& host) {
        return host.second.queue.empty() || host.second.parked || host.second.at_limit();
      });
  const bool recrawls_wait = !deferred_.empty() && deferred_.begin()->first.first > clock_.now() &&
                             totals_.deferred == totals_.recrawls_deferred;
  return {.finished = totals_.open() == 0,
          .exhausted = idle && deferred_.empty(),
          .only_recrawls_wait = idle && recrawls_wait};
}

FrontierStats MemoryState::stats() {
  FrontierStats stats = totals_;
  stats.next_turn = next_turn();
  stats.leased = open_leases_;
  stats.hosts = hosts_.size();
  for (const auto& [name, host] : hosts_) {
    stats.queued += host.queue.size();
    stats.hosts_blocked += !host.parked && is_blocked(host) ? 1 : 0;
    stats.hosts_parked += host.parked ? 1 : 0;
    stats.hosts_leased += host.leased > 0 ? 1 : 0;
    const bool waits = !host.queue.empty() && host.leased == 0 && !host.parked && !host.at_limit();
    stats.hosts_waiting += waits ? 1 : 0;
  }
  return stats;
}

std::optional<SteadyTime> MemoryState::next_due() {
  std::optional<SteadyTime> due = next_turn();
  for (const auto& [id, lease] : leases_) {
    if (lease.state == MemoryLease::State::kOpen && lease.expires != SteadyTime::max())
      due = std::min(due.value_or(lease.expires), lease.expires);
  }
  return due;
}

std::optional<SteadyTime> MemoryState::next_turn() {
  std::optional<SteadyTime> due;
  const auto consider = [&](SteadyTime time) { due = due ? std::min(*due, time) : time; };
  const SteadyTime now = options_.clock();
  const auto in_steady = [&](std::int64_t time) {
    return now + milliseconds(std::clamp<std::int64_t>(time - clock_.now(), 0, kMaxDelay.count()));
  };
  if (!deferred_.empty()) consider(in_steady(deferred_.begin()->first.first));
  if (open_leases_ >= options_.limits.max_open_leases) return due;
  for (auto& [name, host] : hosts_) {
    if (host.queue.empty() || !(may_lease(host) || awaits_revival(host))) continue;
    const SteadyTime unblocked = is_blocked(host) ? in_steady(host.blocked_until) : SteadyTime();
    consider(std::max({next_start(host), unblocked, SteadyTime()}));
  }
  return due;
}

}  // namespace trawl
