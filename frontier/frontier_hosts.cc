// The frontier's operations on single hosts.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/wall_time.h"
#include "frontier/frontier_impl.h"
#include "frontier/schedule/host_info.h"

namespace trawl {

namespace {

// Errors: kInvalidArgument if no URL has a host queue of that name.
Result<void> check_name(std::string_view host) {
  constexpr std::size_t kMostQuoted = 300;
  if (!host.empty()) {
    const auto url = Url::parse(fmt::format("http://{}/", host));
    if (url && politeness_group(*url) == host) return {};
  }
  return error(ErrorCode::kInvalidArgument,
               fmt::format("\"{}\" is not the name of a host queue: that is a host in lower "
                           "case, and \":port\" unless it is 80 or 443, as Lease::host has it",
                           host.substr(0, kMostQuoted)));
}

// Anything that a host of which nothing is known has not.
bool has_news(const HostInfo& info) {
  return info.queued > 0 || info.leased > 0 || info.state != HostState::kActive ||
         info.failures > 0 || info.delay || info.max_leases || info.remaining;
}

bool is_valid_delay(std::chrono::milliseconds delay) {
  return delay.count() >= 0 && delay <= kMaxDelay;
}

}  // namespace

Result<void> FrontierImpl::change_host(std::string_view host, const RecordChange& change) {
  const auto use = use_store();
  if (!use) return tl::unexpected(use.error());
  if (auto valid = check_name(host); !valid) return valid;
  const HostId id = desk_.host_of_name(host);
  const auto changed = shard_of(id).change_host(id, host, change);
  if (!changed) return tl::unexpected(changed.error());
  if (*changed == 0) return {};
  auto durable = commits_->submit_and_wait(
      [&](Operation& operation) { operation.changed_hosts.emplace_back(id, *changed); });
  announce_work(shard_index(id));
  return durable;
}

Result<void> FrontierImpl::set_host_delay(std::string_view host, std::chrono::milliseconds delay) {
  if (!is_valid_delay(delay)) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a host's delay must be from 0 to a year, not {} ms", delay.count()));
  }
  return change_host(host, [=](HostRecord& record) {
    record.delay = delay.count() > 0 ? std::optional(delay) : std::nullopt;
  });
}

Result<void> FrontierImpl::set_host_leases(std::string_view host, std::uint32_t leases) {
  return change_host(host, [=](HostRecord& record) {
    record.max_leases = leases > 0 ? std::optional(leases) : std::nullopt;
  });
}

Result<void> FrontierImpl::set_host_limit(std::string_view host,
                                          std::optional<std::uint64_t> urls) {
  return change_host(host, [=](HostRecord& record) { record.remaining = urls; });
}

Result<void> FrontierImpl::block_host(std::string_view host, SystemTime until) {
  const std::int64_t time = clock_.from_wall(until);
  const std::int64_t now = clock_.now();
  if (time > now && time - now > kMaxDelay.count()) {
    return error(ErrorCode::kInvalidArgument,
                 "a host cannot be blocked for more than a year; drop_host() or "
                 "set_host_limit() stop it for good");
  }
  return change_host(host,
                     [=](HostRecord& record) { record.blocked_until = time > now ? time : 0; });
}

Result<void> FrontierImpl::park_host(std::string_view host) {
  const bool revives = options_.revive_after.count() > 0;
  const std::int64_t until = clock_.now() + options_.revive_after.count();
  return change_host(host, [=](HostRecord& record) {
    record.given_up = true;
    if (revives) record.blocked_until = std::max(record.blocked_until, until);
  });
}

Result<void> FrontierImpl::revive_host(std::string_view host) {
  return change_host(host, [](HostRecord& record) {
    record.failures = 0;
    record.blocked_until = 0;
    record.given_up = false;
  });
}

Result<std::uint64_t> FrontierImpl::drop_host(std::string_view host) {
  if (auto open = commits_->check(); !open) return tl::unexpected(open.error());
  if (auto valid = check_name(host); !valid) return tl::unexpected(valid.error());
  const HostId id = desk_.host_of_name(host);
  HostShard& shard = shard_of(id);
  auto drop = std::make_shared<Operation::Drop>();
  drop->host = id;
  shard.begin_drop(id);
  auto done = commits_->submit_and_wait([&](Operation& operation) { operation.drop = drop; });
  shard.end_drop(id);
  if (!done) return tl::unexpected(done.error());
  return drop->dropped;
}

Result<void> FrontierImpl::set_host_address(std::string_view host, std::string_view address) {
  const auto use = use_store();
  if (!use) return tl::unexpected(use.error());
  if (auto valid = check_name(host); !valid) return valid;
  const HostId id = desk_.host_of_name(host);
  shard_of(id).set_address(id, address);
  return {};
}

Result<StartTurn> FrontierImpl::start_elsewhere(std::string_view host, std::string_view address) {
  const auto use = use_store();
  if (!use) return tl::unexpected(use.error());
  if (auto valid = check_name(host); !valid) return tl::unexpected(valid.error());
  const HostId id = desk_.host_of_name(host);
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
    if (const auto url = decode_record(record)) name = host_of(url->url);
    return false;
  });
  if (!read) return tl::unexpected(read.error());
  return name;
}

Result<HostInfo> FrontierImpl::info_of(HostId host, const std::optional<HostRecord>& record) const {
  HostInfo info;
  std::uint64_t queued = 0;
  auto read = store_->visit_pending(host, [&](HostId, const QueueOrder&, std::string_view) {
    ++queued;
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  // What is in memory is newer than what the store has.
  if (auto in_memory = shard_of(host).info(host)) {
    info = std::move(*in_memory);
  } else if (record) {
    info = host_info(*record, clock_.now());
  }
  if (info.blocked_until) info.blocked_until = clock_.to_wall(to_milliseconds(*info.blocked_until));
  info.queued = queued;
  if (info.host.empty()) {
    auto name = name_of(host);
    if (!name) return tl::unexpected(name.error());
    info.host = name->value_or("");
  }
  return info;
}

Result<std::vector<HostInfo>> FrontierImpl::hosts(std::string_view after, std::size_t limit) const {
  const auto use = use_store();
  if (!use) return tl::unexpected(use.error());
  const std::optional<HostId> last =
      after.empty() ? std::nullopt : std::optional(desk_.host_of_name(after));
  const HostId from = last ? *last + 1 : 0;
  std::vector<HostInfo> infos;
  if (limit == 0 || (last && from == 0)) return infos;
  // The first `limit` of both, in one order.
  std::vector<std::pair<HostId, std::optional<HostRecord>>> found;
  auto read = store_->visit_queued_hosts(from, [&](HostId host) {
    found.emplace_back(host, std::nullopt);
    return found.size() < limit;
  });
  if (!read) return tl::unexpected(read.error());
  std::size_t with_record = 0;
  read = store_->visit_hosts(from, [&](HostId host, HostRecord record) {
    if (record.is_default()) return true;  // all that is known is that it answered
    found.emplace_back(host, std::move(record));
    return ++with_record < limit;
  });
  if (!read) return tl::unexpected(read.error());
  // Of two the one with a record is first, and stays.
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.has_value() > b.second.has_value();
  });
  const auto twice = std::ranges::unique(found, {}, [](const auto& one) { return one.first; });
  found.erase(twice.begin(), twice.end());
  found.resize(std::min(found.size(), limit));
  for (const auto& [host, record] : found) {
    auto info = info_of(host, record);
    if (!info) return tl::unexpected(info.error());
    infos.push_back(std::move(*info));
  }
  return infos;
}

Result<HostInfo> FrontierImpl::host(std::string_view name) const {
  const auto use = use_store();
  if (!use) return tl::unexpected(use.error());
  const HostId id = desk_.host_of_name(name);
  const auto record = store_->host(id);
  if (!record) return tl::unexpected(record.error());
  auto info = info_of(id, *record);
  if (!info) return info;
  if ((!*record || (*record)->is_default()) && !has_news(*info)) {
    return error(ErrorCode::kNotFound,
                 fmt::format("{} has neither URLs that wait nor settings", name));
  }
  info->host = name;
  return info;
}

Result<void> FrontierImpl::visit_queue(std::string_view host,
                                       const std::function<bool(std::string_view)>& visit) const {
  const auto use = use_store();
  if (!use) return tl::unexpected(use.error());
  return store_->visit_pending(desk_.host_of_name(host),
                               [&](HostId, const QueueOrder&, std::string_view value) {
                                 const auto record = decode_record(value);
                                 return !record || visit(record->url);
                               });
}

}  // namespace trawl
