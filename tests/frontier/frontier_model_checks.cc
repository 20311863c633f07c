// FrontierModel: checks of what a frontier reports.
#include <algorithm>

#include <fmt/format.h>

#include "base/wall_time.h"
#include "tests/frontier/frontier_model.h"

namespace trawl::test {

namespace {

template <class T>
T value_or_none(const std::optional<T>& value) {
  return value.value_or(static_cast<T>(-1));
}

std::int64_t milliseconds(const std::optional<Milliseconds>& time) {
  return time ? time->count() : -1;
}

}  // namespace

bool FrontierModel::finished() const {
  return std::ranges::none_of(urls_, [](const auto& url) {
    return url.second.state == ModelUrl::kQueued || url.second.state == ModelUrl::kDeferred;
  });
}

bool FrontierModel::exhausted() const {
  for (const auto& [name, url] : urls_) {
    if (url.state == ModelUrl::kDeferred) return false;
  }
  for (const auto& [id, lease] : leases_) {
    if (lease.state == ModelLease::kOpen) return false;
  }
  return std::ranges::all_of(queues_, [&](const auto& queue) {
    const auto host = hosts_.find(queue.first);
    return queue.second.empty() ||
           (host != hosts_.end() && (host->second.given_up || host->second.remaining == 0));
  });
}

Mismatches FrontierModel::check_stats(const FrontierStats& stats) const {
  Mismatches wrong;
  std::uint64_t leased = 0;
  std::uint64_t over = 0;  // of these, whose URLs a late completion has ended
  for (const auto& [id, lease] : leases_) {
    if (lease.state != ModelLease::kOpen) continue;
    const ModelUrl& url = urls_.at(lease.url);
    ++leased;
    over += url.state == ModelUrl::kQueued && url.place == lease.place ? 0 : 1;
  }
  std::uint64_t waiting = 0;
  for (const auto& [name, url] : urls_)
    waiting += url.state == ModelUrl::kQueued ? 1 : 0;
  expect_equal(wrong, "admitted", stats.admitted, totals_.admitted);
  expect_equal(wrong, "completed", stats.completed, totals_.completed);
  expect_equal(wrong, "failed", stats.failed, totals_.failed);
  expect_equal(wrong, "skipped", stats.skipped, totals_.skipped);
  expect_equal(wrong, "seen", stats.seen, totals_.seen);
  expect_equal(wrong, "invalid", stats.invalid, totals_.invalid);
  expect_equal(wrong, "dropped", stats.dropped, totals_.dropped);
  expect_equal(wrong, "retried", stats.retried, totals_.retried);
  expect_equal(wrong, "recrawls", stats.recrawls, totals_.recrawls);
  expect_equal(wrong, "deferred", stats.deferred, totals_.deferred);
  expect_equal(wrong, "held", stats.held, totals_.held);
  expect_equal(wrong, "set_aside_failed", stats.set_aside_failed, totals_.set_aside_failed);
  expect_equal(wrong, "requeued", stats.requeued, totals_.requeued);
  expect_equal(wrong, "not_set_aside", stats.not_set_aside, totals_.not_set_aside);
  expect_equal(wrong, "depth_repairs", stats.depth_repairs, totals_.depth_repairs);
  expect_equal(wrong, "leased", stats.leased, leased);
  // Some count a lease without its URL as one of those queued.
  const std::uint64_t queued = waiting + over - leased;
  if (stats.queued != queued && stats.queued + over != std::max(queued, over))
    expect_equal(wrong, "queued", stats.queued, queued);
  expect_equal(wrong, "expired", stats.expired, totals_.expired);
  expect_equal(wrong, "late", stats.late, totals_.late);
  expect_equal(wrong, "repeated", stats.repeated, totals_.repeated);
  return wrong;
}

void FrontierModel::adopt_lesser_counts(const FrontierStats& stats) {
  totals_.seen = std::min(totals_.seen, stats.seen);
  totals_.invalid = std::min(totals_.invalid, stats.invalid);
}

Mismatches FrontierModel::check_hosts(const std::vector<HostInfo>& infos) const {
  Mismatches wrong;
  std::map<std::string, const HostInfo*> told;
  for (const HostInfo& info : infos) {
    if (!told.emplace(info.host, &info).second) wrong.push_back(info.host + " is listed twice");
    if (!host_names_.contains(info.host))
      wrong.push_back(info.host + " is not one of the model's hosts");
  }
  static const ModelHost kUnknown;
  for (const std::string& name : host_names_) {
    const auto known = hosts_.find(name);
    const ModelHost& host = known != hosts_.end() ? known->second : kUnknown;
    const auto queued = static_cast<std::uint64_t>(std::ranges::count_if(urls_, [&](auto& url) {
      return url.second.host == name && url.second.state == ModelUrl::kQueued;
    }));
    const auto info = told.find(name);
    if (info == told.end()) {
      if (queued > 0 || host.has_settings(wall())) wrong.push_back(name + " is not listed");
      continue;
    }
    const HostInfo& told_of = *info->second;
    const std::size_t before = wrong.size();
    expect_equal(wrong, "queued", told_of.queued, queued);
    expect_equal(wrong, "leased", told_of.leased, open_leases(name));
    expect_equal(wrong, "failures", told_of.failures, host.failures);
    expect_equal(wrong, "delay", milliseconds(told_of.settings.delay), milliseconds(host.delay));
    expect_equal(wrong, "max_leases", value_or_none(told_of.settings.leases),
                 value_or_none(host.max_leases));
    expect_equal(wrong, "remaining", value_or_none(told_of.settings.limit),
                 value_or_none(host.remaining));
    const std::int64_t blocked =
        told_of.settings.blocked_until ? to_milliseconds(*told_of.settings.blocked_until) : 0;
    if (blocked > wall() || host.blocked_until > wall())
      expect_equal(wrong, "blocked_until", blocked, host.blocked_until);
    const bool is_blocked = host.blocked_until > wall();
    const bool is_at_limit = host.remaining && open_leases(name) >= *host.remaining;
    bool fits = false;
    switch (told_of.state) {
      case HostState::kActive:
        fits = !host.given_up && !is_blocked && host.remaining != 0;
        break;
      case HostState::kBlocked:
        fits = is_blocked;
        break;
      case HostState::kParked:
        fits = host.given_up;
        break;
      case HostState::kAtLimit:
        fits = is_at_limit;
        break;
    }
    if (!fits) wrong.push_back(fmt::format("state is {}", static_cast<int>(told_of.state)));
    for (std::size_t i = before; i < wrong.size(); ++i)
      wrong[i] = name + ": " + wrong[i];
  }
  return wrong;
}

std::optional<Milliseconds> FrontierModel::next_event() const {
  std::optional<Milliseconds> next;
  const auto consider = [&](std::int64_t from_now) {
    if (from_now <= 0) return;
    next = std::min(next.value_or(Milliseconds::max()), Milliseconds(from_now));
  };
  const auto consider_steady = [&](SteadyTime time) {
    consider(std::chrono::ceil<Milliseconds>(time - now()).count());
  };
  for (const auto& [name, url] : urls_) {
    if (url.state == ModelUrl::kDeferred) consider(url.not_before - wall());
  }
  for (const auto& [name, queue] : queues_) {
    if (queue.empty()) continue;
    const auto known = hosts_.find(name);
    const ModelHost host = known != hosts_.end() ? known->second : ModelHost{};
    consider(host.blocked_until - wall());
    consider_steady(next_start(host));
    consider_steady(host.uncertain_until);
    if (restarted_) consider_steady(*restarted_ + options_->politeness.domain_delay);
    if (const auto domain = domain_starts_.find(domain_of(name)); domain != domain_starts_.end())
      consider_steady(domain->second + options_->politeness.domain_delay);
  }
  for (const auto& [id, lease] : leases_) {
    if (lease.state == ModelLease::kOpen && lease.expires != SteadyTime::max())
      consider_steady(lease.expires);
  }
  return next;
}

}  // namespace trawl::test
