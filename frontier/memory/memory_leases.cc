// MemoryState: giving, ending and expiring leases.
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/wall_time.h"
#include "frontier/common/outcome_rules.h"
#include "frontier/memory/memory_state.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

// Expired leases are kept for late completions: as many as may be open, and at least this many.
constexpr std::size_t kLeastExpiredKept = 1024;
// The weight of the last request in the smoothed response time.
constexpr double kNewestResponse = 0.25;

SteadyTime start_of(const MemoryLease& lease, std::chrono::microseconds started_after) {
  return lease.since +
         std::clamp<std::chrono::microseconds>(started_after, milliseconds(0), kMaxDelay);
}

}  // namespace

// Visits the hosts in a circle, beginning after the host that gave a lease last, so that none is
// preferred.
std::vector<Lease> MemoryState::lease(std::size_t max) {
  const SteadyTime now = options_.clock();
  promote_due();
  expire(now);
  std::vector<Lease> leases;
  const auto is_full = [&] {
    return leases.size() >= max || open_leases_ >= options_.limits.max_open_leases;
  };
  for (bool found = true; found && !is_full();) {
    found = false;
    auto next = hosts_.upper_bound(last_leased_);
    for (std::size_t i = 0; i < hosts_.size() && !is_full(); ++i, ++next) {
      if (next == hosts_.end()) next = hosts_.begin();
      MemoryHost& host = next->second;
      if (host.queue.empty()) continue;
      if (awaits_revival(host) && !is_blocked(host)) {
        host.failures = 0;
        host.parked = false;
        host.silent_since.reset();
      }
      if (!may_lease(host) || is_blocked(host) || next_start(host) > now) continue;
      leases.push_back(hand_out(host, now));
      last_leased_ = host.name;
      found = true;
    }
  }
  return leases;
}

Lease MemoryState::hand_out(MemoryHost& host, SteadyTime now) {
  MemoryLease& lease = leases_[++last_lease_];
  lease.url = host.queue.extract(host.queue.begin()).mapped();
  lease.number = lease.url->place.number;
  lease.host = &host;
  lease.since = now;
  const milliseconds timeout = options_.limits.lease_timeout;
  lease.expires = timeout.count() > 0 ? now + timeout : SteadyTime::max();
  next_expiry_ = std::min(next_expiry_, lease.expires);
  const auto clocks = clocks_of(host);
  for (const Delayed& delayed : clocks) {
    delayed.clock->hand_out(now);
    lease.clocks.push_back(delayed.clock);
  }
  ++host.leased;
  ++open_leases_;
  MemoryUrl& url = *lease.url;
  url.state = MemoryUrl::State::kLeased;
  return {.id = last_lease_,
          .url = url.url,
          .host = url.queue,
          .parent = url.parent,
          .priority = url.place.priority,
          .depth = known_[url.key].depth,
          .redirects = url.redirects,
          .attempts = url.attempts,
          .recrawl = url.recrawl,
          .paced = is_paced(host),
          .note = url.note};
}

// Puts the URLs back into their places. Whether the requests were made is unknown, so they count.
void MemoryState::expire(SteadyTime now) {
  if (now < next_expiry_) return;
  next_expiry_ = SteadyTime::max();
  for (auto& [id, lease] : leases_) {
    if (lease.state != MemoryLease::State::kOpen) continue;
    if (lease.expires > now) {
      next_expiry_ = std::min(next_expiry_, lease.expires);
      continue;
    }
    ++totals_.expired;
    lease.state = MemoryLease::State::kExpired;
    expired_.push_back(id);
    note_began(lease, lease.since);
    leave_host(lease);
    const bool waits = lease.url->state == MemoryUrl::State::kLeased;
    if (waits && lease.url->place.number == lease.number) put_back(lease.url);
  }
  const std::size_t most =
      std::max<std::size_t>(options_.limits.max_open_leases, kLeastExpiredKept);
  for (; expired_.size() > most; expired_.pop_front()) {
    const auto oldest = leases_.find(expired_.front());
    if (oldest != leases_.end()) leases_.erase(oldest);
  }
}

// Null: the lease was given, has ended, and is forgotten.
Result<MemoryLease*> MemoryState::given(std::uint64_t id) {
  if (id == 0 || id > last_lease_)
    return error(ErrorCode::kNotFound,
                 fmt::format("there is no lease {}: this frontier never gave it", id));
  const auto found = leases_.find(id);
  return found != leases_.end() ? &found->second : nullptr;
}

Result<MemoryLease*> MemoryState::open(std::uint64_t id) {
  const auto lease = given(id);
  if (!lease || (*lease != nullptr && (*lease)->state == MemoryLease::State::kOpen)) return lease;
  return error(ErrorCode::kNotFound,
               fmt::format("the lease {} is not open: it was completed or released before, or it "
                           "expired",
                           id));
}

// Records when the lease's request began, or that it was never made (nothing). Ignored if start()
// has already let it begin.
void MemoryState::note_began(MemoryLease& lease, std::optional<SteadyTime> began) {
  for (RequestRateLimiter* const clock : std::exchange(lease.clocks, {}))
    clock->note_began(lease.since, began);
  if (began) lease.host->clock.note(*began);
}

// Updates the host from the outcome of a request.
void MemoryState::note_outcome(MemoryLease& lease, const Outcome& outcome) {
  MemoryHost& host = *lease.host;
  const SteadyTime start = start_of(lease, outcome.started_after);
  note_began(lease, start);
  if (outcome.response_time) {
    const auto time =
        static_cast<double>(std::clamp(*outcome.response_time, milliseconds(0), kMaxDelay).count());
    const double before = host.response_time.value_or(time);
    host.response_time = before + (time - before) * kNewestResponse;
  }
  if (options_.politeness.ip_delay.count() == 0 || outcome.address.empty()) return;
  learn_address(host, outcome.address);
  if (!host.named) addresses_[outcome.address].note(start);
}

void MemoryState::leave_host(MemoryLease& lease) {
  --lease.host->leased;
  if (std::exchange(lease.fetched, false)) --lease.host->fetched;
  --open_leases_;
}

MemoryUrlPointer MemoryState::end(std::uint64_t id, const Outcome& outcome) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return nullptr;
  MemoryLease lease = std::move(found->second);
  const bool was_open = lease.state == MemoryLease::State::kOpen;
  // The URL may have been leased again, queued again or ended since.
  const bool is_its =
      lease.url->place.number == lease.number && (lease.url->state == MemoryUrl::State::kLeased ||
                                                  lease.url->state == MemoryUrl::State::kQueued);
  leases_.erase(found);
  if (was_open) {
    leave_host(lease);
  } else {
    std::erase(expired_, id);
  }
  if (was_open || is_its)
    outcome.requested ? note_outcome(lease, outcome) : note_began(lease, std::nullopt);
  if (!is_its) return nullptr;
  if (!was_open) ++totals_.late;
  if (lease.url->state == MemoryUrl::State::kQueued) lease.host->queue.erase(lease.url->place);
  KnownUrl& known = known_[lease.url->key];
  if (known.depth < known.noted_depth) ++totals_.depth_repairs;
  known.noted_depth = known.depth;
  end_url(lease.url);
  return lease.url;
}

Result<void> MemoryState::check_note(const Outcome& outcome) const {
  const std::size_t bytes = outcome.note ? outcome.note->size() : 0;
  if (bytes <= options_.limits.max_note_bytes) return {};
  return error(ErrorCode::kInvalidArgument,
               fmt::format("Outcome::note takes {} bytes, more than limits.max_note_bytes = {}",
                           bytes, options_.limits.max_note_bytes));
}

Result<std::vector<Admission>> MemoryState::complete(std::uint64_t id, const Outcome& outcome,
                                                     std::span<const UrlRequest> links,
                                                     const HoldReason* held) {
  if (auto valid = check_note(outcome); !valid) return tl::unexpected(valid.error());
  const auto lease = given(id);
  if (!lease) return tl::unexpected(lease.error());
  totals_.seen += outcome.known_links;
  if (*lease != nullptr && (*lease)->state == MemoryLease::State::kEndsLater) {
    const MemoryLease ending = std::move(leases_.extract(id).mapped());
    --open_leases_;
    auto answers = offer(links, ending.url->url);
    end_url(ending.url);
    const HoldReason reason{.reason = ending.held, .rules = ending.held_rules};
    finish(ending.url, ending.outcome, ending.held.empty() ? nullptr : &reason);
    return answers;
  }
  const MemoryUrlPointer url = end(id, outcome);
  if (url == nullptr) {
    ++totals_.repeated;
    return offer(links);
  }
  MemoryHost& host = add_host(url->queue);
  if (outcome.requested) {
    if (host.set.limit && *host.set.limit > 0) --*host.set.limit;
    if (outcome.error.empty()) host.failures = 0;
    if (outcome.status != 0) {
      host.answered = true;
      host.nameless = false;
      host.silent_since.reset();
    }
  }
  // Admit the links before the page ends, since a page may link to itself.
  auto answers = offer(links, url->url);
  if (outcome.end_later) {
    end_later(id, url, outcome, held);
  } else {
    finish(url, outcome, held);
  }
  return answers;
}

// The URL stays leased until the second complete().
void MemoryState::end_later(std::uint64_t id, const MemoryUrlPointer& url, const Outcome& outcome,
                            const HoldReason* held) {
  url->state = MemoryUrl::State::kEnding;
  known_[url->key].waiting.push_back(url);
  leases_[id] = {.state = MemoryLease::State::kEndsLater,
                 .url = url,
                 .number = url->place.number,
                 .host = &add_host(url->queue),
                 .outcome = outcome,
                 .held = std::string(held != nullptr ? held->reason : std::string_view()),
                 .held_rules = held != nullptr ? held->rules : 0};
  ++open_leases_;
}

// Decides what follows for a URL whose lease is over.
void MemoryState::finish(const MemoryUrlPointer& url, const Outcome& outcome,
                         const HoldReason* held) {
  KnownUrl& known = known_[url->key];
  ++totals_.completed;
  totals_.failed += outcome.error.empty() || held != nullptr ? 0 : 1;
  totals_.skipped += outcome.requested ? 0 : 1;
  totals_.succeeded += has_succeeded(outcome) ? 1 : 0;
  totals_.seeds_succeeded += has_succeeded(outcome) && outcome.seed ? 1 : 0;
  if (outcome.requested) {
    known.was_done = true;
    ++known.fetches;
    known.status = outcome.status;
    known.done = to_milliseconds(options_.wall_clock());
  }
  MemorySetAside aside{.url = *url, .status = outcome.status};
  aside.url.depth = known.noted_depth;  // depths found later are noted again
  if (held != nullptr) {
    aside.reason = held->reason.substr(0, kMaxReasonBytes);
    aside.rules = held->rules;
    aside.status = 0;
    put_aside(std::move(aside));
  } else if (outcome.recrawl_at) {
    ++totals_.recrawls;
    url->recrawl = true;
    url->attempts = 0;
    url->redirects = 0;
    if (outcome.note) url->note = *outcome.note;
    known.waiting.push_back(url);
    defer(url, clock_.from_wall(*outcome.recrawl_at));
  } else if (has_failed(outcome)) {
    aside.state = SetAsideState::kFailed;
    aside.reason = reason_of(outcome).substr(0, kMaxReasonBytes);
    put_aside(std::move(aside));
  }
}

Result<FailureVerdict> MemoryState::fail(std::uint64_t id, FailureReason reason,
                                         std::optional<milliseconds> retry_after,
                                         const Outcome& outcome) {
  if (auto valid = check_note(outcome); !valid) return tl::unexpected(valid.error());
  const auto found = given(id);
  if (!found) return tl::unexpected(found.error());
  FailureVerdict verdict;
  if (*found == nullptr || (*found)->state != MemoryLease::State::kOpen) {
    ++totals_.repeated;
    return verdict;
  }
  MemoryLease& lease = **found;
  MemoryHost& host = *lease.host;
  const bool has_ended =
      lease.url->state != MemoryUrl::State::kLeased || lease.url->place.number != lease.number;
  if (!has_ended && !ends_url(host, reason, outcome)) {
    const MemoryUrlPointer url = lease.url;
    note_began(lease, start_of(lease, outcome.started_after));
    leave_host(lease);
    leases_.erase(id);
    put_back(url);
    count_failure(host, reason, retry_after, outcome, *url, verdict);
    verdict.retry_at = verdict.host_blocked_until.value_or(options_.wall_clock());
    return verdict;
  }
  const MemoryUrlPointer url = end(id, outcome);
  if (url == nullptr) {
    ++totals_.repeated;
    return verdict;
  }
  totals_.seen += outcome.known_links;
  count_failure(host, reason, retry_after, outcome, *url, verdict);
  if (is_transient(reason) && url->attempts < options_.retry.retries) {
    const std::int64_t at =
        clock_.now() + retry_wait(options_.retry, url->attempts, retry_after).count();
    ++totals_.retried;
    ++url->attempts;
    known_[url->key].waiting.push_back(url);
    defer(url, at);
    verdict.retry_at = clock_.to_wall(at);
    return verdict;
  }
  Outcome failed = outcome;
  if (failed.error.empty()) failed.error = to_string(reason);
  if (outcome.end_later) {
    verdict.awaits_end = true;
    end_later(id, url, failed, nullptr);
  } else {
    finish(url, failed, nullptr);
  }
  return verdict;
}

// Whether the failure counts for the URL: not if the host failed before the URL was requested. A
// name that does not exist, on its second lookup, ends the URLs of a host that never answered.
bool MemoryState::ends_url(const MemoryHost& host, FailureReason reason,
                           const Outcome& outcome) const {
  if (reason == FailureReason::kPermanent) return true;
  if (reason != FailureReason::kNoSuchHost)
    return outcome.requested || (options_.retry.host_failures == 0 && !host.answered);
  return host.nameless && !is_blocked(host) && !host.answered;
}

void MemoryState::count_failure(MemoryHost& host, FailureReason reason,
                                std::optional<milliseconds> retry_after, const Outcome& outcome,
                                const MemoryUrl& url, FailureVerdict& verdict) {
  const RetryOptions& retry = options_.retry;
  const bool no_such_host = reason == FailureReason::kNoSuchHost;
  const bool was_nameless = std::exchange(host.nameless, no_such_host);
  const SteadyTime now = options_.clock();
  if (outcome.status != 0 && outcome.requested) {
    host.answered = true;
    host.nameless = false;
  }
  if (outcome.status != 0 || reason == FailureReason::kServerError) {
    host.silent_since.reset();
  } else if (makes_host_back_off(reason) && !host.silent_since) {
    host.silent_since = now;
  }
  if (reason == FailureReason::kServerError ||
      (reason == FailureReason::kPermanent && outcome.status != 0))
    host.failures = 0;
  bool parks = false;
  milliseconds wait(0);
  if (makes_host_back_off(reason) && !(no_such_host && was_nameless)) {
    ++host.failures;
    wait = no_such_host ? retry.no_such_host_wait : backoff_.wait_after(host.failures);
    parks = retry.host_failures > 0 ? host.failures >= retry.host_failures
                                    : host.answered && is_too_silent(retry, host.silent_since, now);
  } else if (makes_host_back_off(reason)) {
    // A host that never answered is not given up: its URLs end one by one.
    parks = host.answered && !is_blocked(host);
  }
  verdict.host_parked = parks && !host.parked;
  host.parked |= parks;
  if (verdict.host_parked) wait = std::max(wait, retry.park_time);
  if (retry_after && reason != FailureReason::kPermanent)
    wait = std::max(wait, std::min(*retry_after, kMaxDelay));
  const bool url_ends = reason == FailureReason::kPermanent || url.attempts >= retry.retries;
  if (outcome.requested && url_ends && host.set.limit && *host.set.limit > 0) --*host.set.limit;
  if (wait.count() == 0) return;
  host.blocked_until = std::max(host.blocked_until, clock_.now() + wait.count());
  verdict.host_blocked_until = clock_.to_wall(host.blocked_until);
}

Result<void> MemoryState::release(std::uint64_t id, std::optional<SteadyTime> next_start,
                                  std::optional<std::chrono::microseconds> started_after) {
  const auto lease = open(id);
  if (!lease) return tl::unexpected(lease.error());
  MemoryHost& host = *(*lease)->host;
  if (next_start) host.not_before = std::max(host.not_before, *next_start);
  note_began(**lease, next_start && started_after ? std::optional(start_of(**lease, *started_after))
                                                  : std::nullopt);
  const MemoryUrlPointer url = (*lease)->url;
  const bool waits =
      url->state == MemoryUrl::State::kLeased && url->place.number == (*lease)->number;
  leave_host(**lease);
  leases_.erase(id);
  if (waits) put_back(url);
  return {};
}

Result<bool> MemoryState::fetched(std::uint64_t id, std::chrono::microseconds started_after) {
  const auto lease = open(id);
  if (!lease) return tl::unexpected(lease.error());
  MemoryHost& host = *(*lease)->host;
  if ((*lease)->fetched) return false;
  const SteadyTime began = start_of(**lease, started_after);
  (*lease)->began = began;
  host.clock.note(began);
  for (RequestRateLimiter* const clock : (*lease)->clocks)
    clock->note(began);
  if (host.fetched == kMaxFetchedLeases) return false;
  const bool could_lease = may_lease(host);
  (*lease)->fetched = true;
  ++host.fetched;
  return !could_lease && may_lease(host) && !host.queue.empty();
}

Result<void> MemoryState::renew(std::uint64_t id) {
  const auto lease = open(id);
  if (!lease) return tl::unexpected(lease.error());
  const milliseconds timeout = options_.limits.lease_timeout;
  if (timeout.count() > 0) (*lease)->expires = options_.clock() + timeout;
  return {};
}

}  // namespace trawl
