#include "tests/frontier/frontier_model.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "base/mix.h"
#include "base/wall_time.h"
#include "frontier/store/queued_url.h"

namespace trawl::test {

namespace {

// Whether a failure of that kind makes its host wait.
bool backs_off(FailureReason reason) {
  return reason != FailureReason::kServerError && reason != FailureReason::kPermanent;
}

}  // namespace

std::int64_t FrontierModel::wall() const {
  return to_milliseconds(options_->testing.wall_clock());
}

std::uint32_t FrontierModel::shard_of(const std::string& host) const {
  return static_cast<std::uint32_t>(
      scale_to(host_id(*options_->testing.hash, host), options_->store.shards));
}

void FrontierModel::restart(bool resumed) {
  leases_.clear();
  held_lately_.clear();
  queues_.clear();
  domain_starts_.clear();
  for (const auto& [name, url] : urls_) {
    if (url.state == ModelUrl::kQueued) queue(name);
  }
  for (auto& [name, host] : hosts_) {
    host.open_starts.clear();
    host.started.reset();
    host.silent_since.reset();
    host.not_before = {};
    host.uncertain_until = {};
  }
  restarted_ = resumed ? std::optional(now()) : std::nullopt;
  totals_.expired = totals_.late = totals_.repeated = 0;
}

void FrontierModel::queue(const std::string& url) {
  const ModelUrl& of = urls_.at(url);
  queues_[of.host].emplace(Order{of.priority, of.place}, url);
}

void FrontierModel::unqueue(const std::string& url) {
  const ModelUrl& of = urls_.at(url);
  queues_[of.host].erase(Order{of.priority, of.place});
}

void FrontierModel::defer(const std::string& url, std::int64_t not_before) {
  ModelUrl& of = urls_.at(url);
  of.state = ModelUrl::kDeferred;
  of.not_before = not_before;
  of.place = next_place_++;
  ++totals_.deferred;
}

std::vector<Admission> FrontierModel::offer(std::span<const UrlRequest> requests,
                                            const std::string& parent) {
  std::vector<Admission> answers;
  std::vector<Url> urls;
  for (const UrlRequest& request : requests) {
    auto url = Url::parse(request.url);
    if (!url || url->href_without_fragment().size() > options_->limits.max_url_length) {
      answers.push_back(url ? Admission::kTooLong : Admission::kInvalid);
      ++totals_.invalid;
      urls.emplace_back();
      continue;
    }
    answers.push_back(Admission::kSeen);
    urls.push_back(*std::move(url));
  }
  const auto parent_of = [&](const UrlRequest& request) {
    return std::string(request.parent.empty() ? parent : request.parent);
  };
  // Links are held before others are admitted.
  for (const bool held : {true, false}) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const UrlRequest& request = requests[i];
      if (answers[i] != Admission::kSeen) continue;
      if ((request.hold.has_value() && !request.seen_only) != held) continue;
      const std::string name(urls[i].href_without_fragment());
      const auto known = urls_.find(name);
      if (held && known == urls_.end()) {
        hold_link(request, name, parent_of(request));
        answers[i] = Admission::kHeld;
      } else if (held) {
        ++totals_.seen;
      } else if (known != urls_.end() && request.seen_only) {
        ++totals_.seen;
      } else if (request.seen_only) {
        urls_[name].state = ModelUrl::kDropped;
        urls_[name].host = politeness_group(urls[i]);
        ++totals_.admitted;
        forget_set_aside(fingerprint(name));
        answers[i] = Admission::kNew;
      } else if (known != urls_.end() && !request.again) {
        known->second.depth = std::min(known->second.depth, request.depth);
        ++totals_.seen;
      } else {
        admit(request, urls[i], parent_of(request));
        answers[i] = Admission::kNew;
      }
    }
  }
  return answers;
}

void FrontierModel::admit(const UrlRequest& request, const Url& url, const std::string& parent) {
  const std::string name(url.href_without_fragment());
  const bool recrawl = urls_.contains(name);
  urls_[name] = {.host = politeness_group(url),
                 .parent = parent,
                 .priority = request.priority,
                 .depth = request.depth,
                 .stored_depth = request.depth,
                 .redirects = request.redirects,
                 .recrawl = recrawl,
                 .place = next_place_++};
  host_names_.insert(urls_[name].host);
  if (request.not_before) {
    defer(name, not_before_milliseconds(*request.not_before));
  } else {
    queue(name);
  }
  ++totals_.admitted;
  forget_set_aside(fingerprint(name));
}

void FrontierModel::begin_lease() {
  std::map<std::pair<std::int64_t, std::uint64_t>, std::string> due;
  for (const auto& [name, url] : urls_) {
    if (url.state == ModelUrl::kDeferred && url.not_before <= wall())
      due.emplace(std::pair(url.not_before, url.place), name);
  }
  for (const auto& [when, name] : due) {
    ModelUrl& url = urls_.at(name);
    url.state = ModelUrl::kQueued;
    url.place = next_place_++;
    --totals_.deferred;
    queue(name);
  }
  for (auto& [id, lease] : leases_) {
    if (lease.state != ModelLease::kOpen || lease.expires > now()) continue;
    lease.state = ModelLease::kExpired;
    ++totals_.expired;
    const std::string& host = urls_.at(lease.url).host;
    hosts_[host].open_starts.erase(hosts_[host].open_starts.find(lease.since));
    note_request(host, lease.since);
    const ModelUrl& url = urls_.at(lease.url);
    if (url.state == ModelUrl::kQueued && url.place == lease.place) queue(lease.url);
  }
}

Milliseconds FrontierModel::delay_of(const ModelHost& host) const {
  return std::max(options_->politeness.delay, host.delay.value_or(Milliseconds(0)));
}

SteadyTime FrontierModel::next_start(const ModelHost& host) const {
  SteadyTime start = host.not_before;
  const Milliseconds delay = delay_of(host);
  if (restarted_) start = std::max(start, *restarted_ + delay);
  if (host.started) start = std::max(start, *host.started + delay);
  return std::max(start, open_start(host));
}

// By its open leases alone: while it has any, it is not forgotten.
SteadyTime FrontierModel::open_start(const ModelHost& host) const {
  return host.open_starts.empty() ? SteadyTime() : *host.open_starts.rbegin() + delay_of(host);
}

std::uint32_t FrontierModel::open_leases() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      leases_, [](const auto& lease) { return lease.second.state == ModelLease::kOpen; }));
}

std::uint32_t FrontierModel::open_leases(const std::string& host) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(leases_, [&](const auto& lease) {
    return lease.second.state == ModelLease::kOpen && urls_.at(lease.second.url).host == host;
  }));
}

// Of these, without those whose requests have ended.
std::uint32_t FrontierModel::open_requests(const std::string& host) const {
  return open_leases(host) -
         static_cast<std::uint32_t>(std::ranges::count_if(leases_, [&](const auto& lease) {
           return lease.second.state == ModelLease::kOpen && lease.second.fetched &&
                  urls_.at(lease.second.url).host == host;
         }));
}

// Why nothing of the host may be leased now. Where that is uncertain: nothing, or with `surely`,
// that it is.
std::optional<std::string> FrontierModel::why_not(const std::string& name, bool surely) const {
  static const ModelHost kUnknown;
  const auto known = hosts_.find(name);
  const ModelHost& host = known != hosts_.end() ? known->second : kUnknown;
  const auto queue = queues_.find(name);
  if (queue == queues_.end() || queue->second.empty()) return "nothing of it waits";
  if (host.given_up) return "it is given up";
  if (host.blocked_until > wall()) return fmt::format("it is blocked until {}", host.blocked_until);
  if (open_requests(name) >= host.max_leases.value_or(options_->politeness.leases_per_host))
    return "it has enough leases";
  if (host.remaining && open_leases(name) >= *host.remaining) return "it is at its limit";
  const bool uncertain = host.uncertain_until > now();
  if (uncertain ? surely || open_start(host) > now() : next_start(host) > now())
    return "its delay has not passed";
  if (options_->politeness.domain_delay.count() > 0) {
    std::optional<SteadyTime> last = restarted_;
    const auto starts = domain_starts_.find(domain_of(name));
    if (surely && starts != domain_starts_.end())
      last = std::max(last, std::optional(starts->second));
    for (const auto& [other, state] : hosts_) {
      if (domain_of(other) != domain_of(name)) continue;
      last = std::max(last, state.started);
      if (!state.open_starts.empty())
        last = std::max(last, std::optional(*state.open_starts.rbegin()));
    }
    if (last && *last + options_->politeness.domain_delay > now())
      return "its domain's delay has not passed";
  }
  return std::nullopt;
}

std::optional<std::string> FrontierModel::check_lease(const Lease& lease, std::uint32_t shard) {
  const auto known = urls_.find(lease.url);
  if (known == urls_.end()) return "it was never admitted";
  ModelUrl& url = known->second;
  if (url.state != ModelUrl::kQueued) return fmt::format("it is in state {}", int{url.state});
  if (const auto reason = why_not(url.host, false)) return reason;
  const Queue& queue = queues_[url.host];
  if (queue.begin()->second != lease.url) return "first comes " + queue.begin()->second;
  if (lease.id == 0 || leases_.contains(lease.id)) return "its number was given before";
  if (shard_of(url.host) != shard) return "it is of another shard";
  const auto actual = std::tie(lease.host, lease.parent, lease.priority, lease.depth,
                               lease.redirects, lease.attempts, lease.recrawl);
  const auto expected = std::tie(url.host, url.parent, url.priority, url.depth, url.redirects,
                                 url.attempts, url.recrawl);
  if (actual != expected) {
    return fmt::format("it is {} and should be {}", actual, expected);
  }
  return std::nullopt;
}

Mismatches FrontierModel::lease(std::size_t max, const std::vector<Lease>& leases,
                                std::uint32_t shard) {
  Mismatches wrong;
  for (const Lease& lease : leases) {
    if (const auto reason = check_lease(lease, shard)) {
      wrong.push_back(fmt::format("{} was leased: {}", lease.url, *reason));
      if (!urls_.contains(lease.url)) continue;
    }
    const ModelUrl& url = urls_.at(lease.url);
    unqueue(lease.url);
    hosts_[url.host].open_starts.insert(now());
    SteadyTime& domain = domain_starts_[domain_of(url.host)];
    domain = std::max(domain, now());
    const auto timeout = options_->limits.lease_timeout;
    leases_[lease.id] = {.url = lease.url,
                         .place = url.place,
                         .since = now(),
                         .expires = timeout.count() > 0 ? now() + timeout : SteadyTime::max()};
  }
  if (leases.size() > max) wrong.push_back("more was leased than asked for");
  if (open_leases() > options_->limits.max_open_leases)
    wrong.push_back("more leases are open than may be");
  if (leases.size() < max && has_work(shard)) {
    for (const auto& [host, queue] : queues_) {
      if (shard_of(host) == shard && !why_not(host, true))
        wrong.push_back(fmt::format("{} was not leased", queue.begin()->second));
    }
  }
  return wrong;
}

bool FrontierModel::has_work(std::uint32_t shard) const {
  if (open_leases() >= options_->limits.max_open_leases) return false;
  return std::ranges::any_of(queues_, [&](const auto& queue) {
    return shard_of(queue.first) == shard && !why_not(queue.first, true);
  });
}

void FrontierModel::note_request(const std::string& name, SteadyTime start) {
  ModelHost& host = hosts_[name];
  host.started = std::max(host.started, std::optional(start));
  SteadyTime& domain = domain_starts_[domain_of(name)];
  domain = std::max(domain, start);
}

std::optional<std::string> FrontierModel::end(std::uint64_t id, const Outcome& outcome,
                                              bool late_counts) {
  ModelLease& lease = leases_.at(id);
  const auto state = std::exchange(lease.state, ModelLease::kEnded);
  if (state == ModelLease::kEnded) return std::nullopt;
  ModelUrl& url = urls_.at(lease.url);
  ModelHost& host = hosts_[url.host];
  if (state == ModelLease::kOpen) {
    host.open_starts.erase(host.open_starts.find(lease.since));
    if (outcome.requested) note_request(url.host, lease.since + outcome.started_after);
  }
  const bool same = url.state == ModelUrl::kQueued && url.place == lease.place;
  if (!same) return std::nullopt;
  if (state == ModelLease::kExpired) {
    if (!late_counts) {
      lease.state = state;
      return std::nullopt;
    }
    ++totals_.late;
    unqueue(lease.url);
  }
  if (url.depth < url.stored_depth) ++totals_.depth_repairs;
  url.stored_depth = url.depth;
  return lease.url;
}

void FrontierModel::complete_url(const std::string& name, const Outcome& outcome) {
  ModelUrl& url = urls_.at(name);
  ++totals_.completed;
  totals_.failed += outcome.error.empty() ? 0 : 1;
  totals_.skipped += outcome.requested ? 0 : 1;
  if (!outcome.recrawl_at) {
    url.state = ModelUrl::kDone;
    if (outcome.error.empty() && outcome.status < 400) return;
    const std::string reason = !outcome.reason.empty() ? outcome.reason
                               : outcome.status >= 400 ? "status"
                                                       : "failed";
    set_url_aside(name, SetAsideState::kFailed, {.reason = reason, .always = outcome.keep_failed},
                  outcome.status);
    return;
  }
  ++totals_.recrawls;
  url.recrawl = true;
  url.attempts = 0;
  url.redirects = 0;
  defer(name, not_before_milliseconds(*outcome.recrawl_at));
}

std::vector<Admission> FrontierModel::complete(std::uint64_t id, const Outcome& outcome,
                                               std::span<const UrlRequest> links) {
  const auto url = end(id, outcome, true);
  if (!url) {
    ++totals_.repeated;
    return offer(links);
  }
  ModelHost& host = hosts_[urls_.at(*url).host];
  if (outcome.requested && outcome.error.empty()) host.failures = 0;
  if (outcome.requested && host.remaining && *host.remaining > 0) --*host.remaining;
  if (outcome.requested && outcome.status != 0) {
    host.answered = true;
    host.silent_since.reset();
  }
  // Links of the page are admitted before it ends: to itself, for one.
  auto answers = offer(links, *url);
  complete_url(*url, outcome);
  return answers;
}

Milliseconds FrontierModel::least_backoff(const ModelHost& host) const {
  auto wait = options_->retry.host_backoff;
  for (std::uint32_t i = 1; i < host.failures && wait < options_->retry.max_host_backoff; ++i)
    wait *= 2;
  return std::min(wait, options_->retry.max_host_backoff) / 2;
}

// As RetryOptions::host_failures has it for 0.
bool FrontierModel::may_be_too_silent(const ModelHost& host, FailureReason reason,
                                      const Outcome& outcome) const {
  const RetryOptions& retry = options_->retry;
  if (retry.host_failures > 0 || !backs_off(reason) || outcome.status != 0) return false;
  const Milliseconds longest =
      std::max<Milliseconds>(6 * retry.max_host_backoff, Milliseconds(60'000));
  return host.answered && host.silent_since && now() - *host.silent_since >= longest;
}

void FrontierModel::fail_unheard(std::uint64_t id, FailureReason reason,
                                 std::optional<Milliseconds> retry_after, const Outcome& outcome,
                                 std::int64_t blocked_until) {
  const auto name = end(id, outcome, false);
  if (!name) {
    ++totals_.repeated;
    return;
  }
  ModelUrl& url = urls_.at(*name);
  ModelHost& host = hosts_[url.host];
  if (outcome.status != 0 || reason == FailureReason::kServerError) {
    host.silent_since.reset();
  } else if (backs_off(reason) && !host.silent_since) {
    host.silent_since = now();
  }
  if (outcome.requested && outcome.status != 0) host.answered = true;
  if (backs_off(reason)) {
    ++host.failures;
    if (options_->retry.host_failures > 0 && host.failures >= options_->retry.host_failures)
      host.given_up = true;
  } else if (reason == FailureReason::kServerError || outcome.status != 0) {
    host.failures = 0;
  }
  if (blocked_until > 0) host.blocked_until = std::max(host.blocked_until, blocked_until);
  if (reason == FailureReason::kPermanent || url.attempts >= options_->retry.retries) {
    Outcome failed = outcome;
    failed.error = "failed";
    if (outcome.requested && host.remaining && *host.remaining > 0) --*host.remaining;
    complete_url(*name, failed);
    return;
  }
  auto wait = options_->retry.retry_delay;
  for (std::uint32_t i = 0; i < url.attempts && wait < options_->retry.max_retry_delay; ++i)
    wait *= 2;
  wait = std::min(wait, options_->retry.max_retry_delay);
  wait = std::max(wait, retry_after.value_or(Milliseconds(0)));
  ++url.attempts;
  ++totals_.retried;
  defer(*name, wall() + wait.count());
}

void FrontierModel::adopt_block(const std::string& host, std::int64_t blocked_until) {
  hosts_[host].blocked_until = std::max(hosts_[host].blocked_until, blocked_until);
}

Mismatches FrontierModel::fail(std::uint64_t id, FailureReason reason,
                               std::optional<Milliseconds> retry_after, const Outcome& outcome,
                               const FailureVerdict& verdict) {
  Mismatches wrong;
  const ModelLease lease = leases_.at(id);
  const std::int64_t blocked_until =
      verdict.host_blocked_until ? to_milliseconds(*verdict.host_blocked_until) : 0;
  const ModelUrl before = urls_.at(lease.url);
  const bool was_given_up = hosts_[before.host].given_up;
  const bool may_park = may_be_too_silent(hosts_[before.host], reason, outcome);
  const std::int64_t was_blocked = hosts_[before.host].blocked_until;
  fail_unheard(id, reason, retry_after, outcome, blocked_until);
  // One that was out of memory for a while is not known to have been silent before.
  if (may_park && verdict.host_parked) hosts_[before.host].given_up = true;
  const ModelUrl& url = urls_.at(lease.url);
  const ModelHost& host = hosts_[url.host];
  if (lease.state != ModelLease::kOpen || before.place != lease.place ||
      before.state != ModelUrl::kQueued) {
    if (verdict.retry_at || verdict.host_blocked_until || verdict.host_parked)
      wrong.push_back("a verdict on a lease that had ended");
    return wrong;
  }
  const bool ended =
      reason == FailureReason::kPermanent || before.attempts >= options_->retry.retries;
  expect_equal(wrong, "retry_at",
               verdict.retry_at ? to_milliseconds(*verdict.retry_at) : std::int64_t{-1},
               url.state == ModelUrl::kDeferred && !ended ? url.not_before : std::int64_t{-1});
  expect_equal(wrong, "host_parked", verdict.host_parked, host.given_up && !was_given_up);
  if (backs_off(reason)) {
    const auto least = std::max(least_backoff(host), retry_after.value_or(Milliseconds(0)));
    const auto most = std::max(2 * least_backoff(host) + Milliseconds(1), least);
    const auto wait = Milliseconds(blocked_until - wall());
    // An earlier block may hold for longer.
    if (wait < least || (wait > most && blocked_until != was_blocked)) {
      wrong.push_back(fmt::format("the host is left alone for {} ms, not for {} to {}",
                                  wait.count(), least.count(), most.count()));
    }
  } else if (reason == FailureReason::kServerError &&
             retry_after.value_or(Milliseconds(0)).count() > 0) {
    if (blocked_until < wall() + retry_after->count())
      wrong.push_back("the host is asked before it said");
  } else if (verdict.host_blocked_until) {
    wrong.push_back("the host is left alone for a failure that is none of its own");
  }
  return wrong;
}

bool FrontierModel::release(std::uint64_t id, std::optional<SteadyTime> next_start,
                            Milliseconds started_after) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.state != ModelLease::kOpen) return false;
  ModelLease& lease = found->second;
  const ModelUrl& url = urls_.at(lease.url);
  // Ended by a late completion of an earlier lease of its URL.
  const bool queued = url.state == ModelUrl::kQueued && url.place == lease.place;
  lease.state = ModelLease::kEnded;
  ModelHost& host = hosts_[url.host];
  host.open_starts.erase(host.open_starts.find(lease.since));
  if (next_start) {
    host.not_before = std::max(host.not_before, *next_start);
    note_request(url.host, lease.since + started_after);
  }
  if (queued) queue(lease.url);
  return true;
}

bool FrontierModel::renew(std::uint64_t id) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.state != ModelLease::kOpen) return false;
  if (options_->limits.lease_timeout.count() > 0)
    found->second.expires = now() + options_->limits.lease_timeout;
  return true;
}

bool FrontierModel::fetched(std::uint64_t id, Milliseconds started_after) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || found->second.state != ModelLease::kOpen) return false;
  ModelLease& lease = found->second;
  if (std::exchange(lease.fetched, true)) return true;
  note_request(urls_.at(lease.url).host, lease.since + started_after);
  return true;
}

void FrontierModel::set_host(const std::string& name, const HostSettings& settings) {
  if (settings.delay) set_host_delay(name, *settings.delay);
  if (settings.leases) set_host_leases(name, *settings.leases);
  if (settings.limit) {
    set_host_limit(name, *settings.limit == HostSettings::kNoLimit ? std::nullopt : settings.limit);
  }
  if (!settings.blocked_until) return;
  if (*settings.blocked_until <= options_->testing.wall_clock()) return revive_host(name);
  block_host(name, to_milliseconds(*settings.blocked_until));
}

void FrontierModel::set_host_delay(const std::string& name, Milliseconds delay) {
  host_names_.insert(name);
  ModelHost& host = hosts_[name];
  const auto before = next_start(host);
  // It may also have been forgotten between its last start and a lease that is open now.
  const bool forgotten = host.started && *host.started + delay_of(host) <= now();
  host.delay = delay.count() > 0 ? std::optional(delay) : std::nullopt;
  if (before <= now()) {
    host.uncertain_until = next_start(host);
  } else if (forgotten) {
    host.uncertain_until = std::max(host.uncertain_until, *host.started + delay_of(host));
  }
}

void FrontierModel::set_host_leases(const std::string& name, std::uint32_t leases) {
  host_names_.insert(name);
  hosts_[name].max_leases = leases > 0 ? std::optional(leases) : std::nullopt;
}

void FrontierModel::set_host_limit(const std::string& name, std::optional<std::uint64_t> urls) {
  host_names_.insert(name);
  hosts_[name].remaining = urls;
}

void FrontierModel::block_host(const std::string& name, std::int64_t until) {
  host_names_.insert(name);
  hosts_[name].blocked_until = until > wall() ? until : 0;
}

void FrontierModel::revive_host(const std::string& name) {
  host_names_.insert(name);
  ModelHost& host = hosts_[name];
  host.failures = 0;
  host.blocked_until = 0;
  host.given_up = false;
}

std::uint64_t FrontierModel::drop_host(const std::string& name, bool deferred_only) {
  std::uint64_t dropped = 0;
  for (auto& [href, url] : urls_) {
    if (url.host != name) continue;
    const bool waits = !deferred_only && url.state == ModelUrl::kQueued &&
                       queues_[name].contains(Order{url.priority, url.place});
    const bool deferred = url.state == ModelUrl::kDeferred;
    if (!waits && !deferred) continue;
    if (waits) unqueue(href);
    if (deferred) --totals_.deferred;
    url.state = ModelUrl::kDropped;
    ++dropped;
  }
  totals_.dropped += dropped;
  return dropped;
}

}  // namespace trawl::test
