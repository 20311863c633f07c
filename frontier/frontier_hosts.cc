// The frontier's operations on single hosts.
#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/wall_time.h"
#include "frontier/common/host_settings_checks.h"
#include "frontier/common/option_checks.h"
#include "frontier/common/queue_names.h"
#include "frontier/frontier_impl.h"
#include "frontier/schedule/host_record_info.h"

namespace trawl {

// Any name may be that of a queue, but one that looks like a misspelt host must exist.
Result<void> FrontierImpl::check_name(std::string_view name) const {
  if (name.empty()) return no_such_queue(name);
  if (is_host_name(name)) return {};
  if (name.size() > kMaxQueueBytes) return no_such_queue(name);
  if (!is_noncanonical_host(name)) return {};
  const HostId id = identity_.host(name);
  if (shard_of(id).info(id)) return {};
  auto waiting = name_of(id);
  if (!waiting) return tl::unexpected(waiting.error());
  return *waiting ? Result<void>{} : no_such_queue(name);
}

Result<void> FrontierImpl::change_host(std::string_view host, const RecordChange& change) {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  if (auto valid = check_name(host); !valid) return valid;
  const HostId id = identity_.host(host);
  const std::uint32_t openings = partitions_->openings();
  const auto changed = shard_of(id).change_host(id, host, change);
  if (!changed) return tl::unexpected(changed.error());
  if (*changed == 0) return {};
  auto durable = commits_->submit_and_wait([&](Operation& operation) {
    operation.changed_hosts.emplace_back(id, *changed);
    operation.openings = openings;
  });
  wakes_.announce(shard_index(id));
  return durable;
}

Result<RecordChange> FrontierImpl::record_change(const HostSettings& settings) const {
  const auto until = checked_block(settings, clock_, options_.testing.wall_clock());
  if (!until) return tl::unexpected(until.error());
  const bool parks = settings.blocked_until == HostSettings::kParked;
  const std::int64_t now = clock_.now();
  const auto park_time = retry_options().park_time;
  const bool is_shared = partitions_->is_shared();
  return RecordChange([=, until = *until](HostRecord& record) {
    if (settings.delay) record.delay = settings.delay->count() > 0 ? settings.delay : std::nullopt;
    if (settings.exact_delay) record.exact_delay = *settings.exact_delay;
    if (settings.leases) record.max_leases = *settings.leases > 0 ? settings.leases : std::nullopt;
    if (settings.limit) {
      record.remaining = *settings.limit != HostSettings::kNoLimit ? settings.limit : std::nullopt;
      if (is_shared) record.limit = record.remaining;
    }
    if (!settings.blocked_until) return;
    if (parks) {
      record.given_up = true;
      if (park_time.count() > 0)
        record.blocked_until = std::max(record.blocked_until, now + park_time.count());
    } else {
      record.blocked_until = until;
      if (until == 0) {
        record.failures = 0;
        record.given_up = false;
      }
    }
  });
}

Result<void> FrontierImpl::set_host(std::string_view host, const HostSettings& settings) {
  const auto change = record_change(settings);
  if (!change) return tl::unexpected(change.error());
  if (settings.address) {
    const StoreUse use(*this);
    if (!use) return tl::unexpected(use.error());
    if (auto valid = check_name(host); !valid) return valid;
    const HostId id = identity_.host(host);
    shard_of(id).set_address(id, *settings.address);
    const bool others = settings.delay || settings.exact_delay || settings.leases ||
                        settings.limit || settings.blocked_until;
    if (!others) return {};
  }
  return change_host(host, *change);
}

Result<std::uint64_t> FrontierImpl::drop_host(std::string_view host) {
  {
    const StoreUse use(*this);
    if (!use) return tl::unexpected(use.error());
    if (auto valid = check_name(host); !valid) return tl::unexpected(valid.error());
  }
  const HostId id = identity_.host(host);
  HostShard& shard = shard_of(id);
  auto drop = std::make_shared<Operation::Drop>();
  drop->host = id;
  const std::uint32_t openings = partitions_->openings();
  if (auto begun = shard.begin_drop(id); !begun) return tl::unexpected(begun.error());
  auto done = commits_->submit_and_wait([&](Operation& operation) {
    operation.drop = drop;
    operation.openings = openings;
  });
  shard.end_drop(id, drop->dropped_queued);
  if (!done) return tl::unexpected(done.error());
  return drop->dropped;
}

Result<StartTurn> FrontierImpl::start_elsewhere(std::string_view host, std::string_view address) {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  if (auto valid = check_name(host); !valid) return tl::unexpected(valid.error());
  const HostId id = identity_.host(host);
  return shard_of(id).start_elsewhere(id, host, address);
}

Result<void> FrontierImpl::sent(const StartTurn& turn, std::optional<SteadyTime> when,
                                std::string_view address) {
  if (auto open = commits_->check(); !open) return open;
  shard_of(turn.host).sent(turn, when, address);
  return {};
}

Result<std::optional<std::string>> FrontierImpl::name_of(HostId host) const {
  std::optional<std::string> name;
  auto read = store_->visit_pending(host, [&](HostId, const QueueOrder&, std::string_view record) {
    if (const auto url = decode_record(record)) name = queue_of(*url);
    return false;
  });
  if (!read) return tl::unexpected(read.error());
  return name;
}

Result<HostInfo> FrontierImpl::info_of(HostId host, const std::optional<HostRecord>& record) const {
  HostInfo info;
  const auto queued = store_->queued(host);
  if (!queued) return tl::unexpected(queued.error());
  // The state in memory is newer than the store's.
  if (auto in_memory = shard_of(host).info(host)) {
    info = std::move(*in_memory);
  } else if (record) {
    info = host_info(*record, clock_.now());
  }
  if (auto& until = info.settings.blocked_until) until = clock_.to_wall(to_milliseconds(*until));
  info.queued = *queued;
  if (info.host.empty()) {
    auto name = name_of(host);
    if (!name) return tl::unexpected(name.error());
    info.host = name->value_or("");
  }
  return info;
}

Result<std::vector<HostInfo>> FrontierImpl::hosts(std::string_view after, std::size_t limit) const {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  const std::optional<HostId> last =
      after.empty() ? std::nullopt : std::optional(identity_.host(after));
  const HostId from = last ? *last + 1 : 0;
  std::vector<HostInfo> infos;
  if (limit == 0 || (last && from == 0)) return infos;
  // The first `limit` of the hosts in memory and in the store, in one order.
  std::vector<std::pair<HostId, std::optional<HostRecord>>> found;
  auto read = store_->visit_queued_hosts(from, [&](HostId host) {
    found.emplace_back(host, std::nullopt);
    return found.size() < limit;
  });
  if (!read) return tl::unexpected(read.error());
  std::size_t with_record = 0;
  read = store_->visit_hosts(from, [&](HostId host, HostRecord record) {
    if (record.is_default()) return true;  // the record only says that the host answered
    found.emplace_back(host, std::move(record));
    return ++with_record < limit;
  });
  if (!read) return tl::unexpected(read.error());
  // The entry with a record sorts first, and std::unique keeps it.
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.has_value() > b.second.has_value();
  });
  const auto same_host = [](const auto& a, const auto& b) { return a.first == b.first; };
  found.erase(std::unique(found.begin(), found.end(), same_host), found.end());
  found.resize(std::min(found.size(), limit));
  for (const auto& [host, record] : found) {
    auto info = info_of(host, record);
    if (!info) return tl::unexpected(info.error());
    infos.push_back(std::move(*info));
  }
  return infos;
}

Result<HostInfo> FrontierImpl::host(std::string_view name) const {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  const HostId id = identity_.host(name);
  const auto record = store_->host(id);
  if (!record) return tl::unexpected(record.error());
  auto info = info_of(id, *record);
  if (!info) return info;
  if ((!*record || (*record)->is_default()) && !differs_from_new_host(*info)) {
    return error(ErrorCode::kNotFound,
                 fmt::format("{} has neither waiting URLs nor settings", name));
  }
  info->host = name;
  return info;
}

Result<std::optional<HostCounts>> FrontierImpl::counts_of(HostId host) const {
  auto counts = shard_of(host).counts(host);
  if (!counts) {
    // Without waiting URLs, except deferred ones.
    const auto record = store_->host(host);
    if (!record) return tl::unexpected(record.error());
    if (!*record || (*record)->is_default()) return std::nullopt;
    const HostInfo info = host_info(**record, clock_.now());
    counts = HostCounts{.host = info.host,
                        .state = info.state,
                        .failures = info.failures,
                        .delay = shard_of(host).delay_of_record(**record),
                        .blocked_until = info.settings.blocked_until};
  }
  if (auto& until = counts->blocked_until) until = clock_.to_wall(to_milliseconds(*until));
  if (counts->host.empty()) {
    auto name = name_of(host);
    if (!name) return tl::unexpected(name.error());
    counts->host = name->value_or("");
  }
  return counts;
}

Result<std::vector<HostCounts>> FrontierImpl::busiest_hosts(HostOrder order,
                                                            std::size_t limit) const {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  RankedHosts ranked(limit);
  for (const auto& shard : shards_)
    shard->rank_hosts(order, ranked);
  std::vector<HostCounts> busiest;
  for (const HostId host : ranked.take()) {
    auto counts = counts_of(host);
    if (!counts) return tl::unexpected(counts.error());
    // It may be done since.
    if (*counts && !(*counts)->host.empty()) busiest.push_back(std::move(**counts));
  }
  return busiest;
}

Result<HostCounts> FrontierImpl::host_counts(std::string_view name) const {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  auto counts = counts_of(identity_.host(name));
  if (!counts) return tl::unexpected(counts.error());
  if (!*counts) {
    return error(ErrorCode::kNotFound,
                 fmt::format("{} has neither waiting URLs nor settings", name));
  }
  (*counts)->host = name;
  return std::move(**counts);
}

Result<void> FrontierImpl::set_politeness(const PolitenessOptions& politeness,
                                          const RetryOptions& retry) {
  if (auto open = commits_->check(); !open) return open;
  if (auto valid = check_options(politeness, retry, options_.limits, options_.seen.profile); !valid)
    return valid;
  for (const auto& [delay, groups, name] :
       {std::tuple{politeness.domain_delay, &domains_, "domain_delay"},
        std::tuple{politeness.ip_delay, &addresses_, "ip_delay"}}) {
    if ((delay.count() > 0) == groups->enabled()) continue;
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("{} can be neither introduced nor removed while the frontier is open", name));
  }
  {
    const MutexLock lock(retry_mutex_);
    retry_ = retry;
  }
  if (domains_.enabled()) domains_.set_delay(politeness.domain_delay);
  if (addresses_.enabled()) addresses_.set_delay(politeness.ip_delay);
  for (std::uint32_t shard = 0; shard < options_.store.shards; ++shard) {
    shards_[shard]->set_politeness(politeness, retry);
    wakes_.announce(shard);
  }
  return {};
}

Result<void> FrontierImpl::visit_queue(std::string_view host,
                                       const std::function<bool(std::string_view)>& visit) const {
  const StoreUse use(*this);
  if (!use) return tl::unexpected(use.error());
  return store_->visit_pending(identity_.host(host),
                               [&](HostId, const QueueOrder&, std::string_view value) {
                                 const auto record = decode_record(value);
                                 return !record || visit(record->url);
                               });
}

}  // namespace trawl
