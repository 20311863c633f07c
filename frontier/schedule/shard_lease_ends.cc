// ShardState: ending leases, and what their outcomes mean for hosts.
#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "base/wall_time.h"
#include "frontier/common/outcome_rules.h"
#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The weight of the last request in the smoothed response time.
constexpr float kNewestResponse = 0.25f;

SteadyTime start_of(SteadyTime since, microseconds started_after) {
  return since + std::clamp<microseconds>(started_after, microseconds(0), kMaxDelay);
}

// std::exchange() takes no bit-fields.
bool take_revived(Host& host) {
  const bool revived = host.revived;
  host.revived = false;
  return revived;
}

std::uint32_t one_more(std::uint32_t failures) {
  return failures + (failures < std::numeric_limits<std::uint32_t>::max() ? 1 : 0);
}

}  // namespace

// kNoLease: the lease was given and is forgotten.
Result<LeaseIndex> ShardState::given_lease(std::uint64_t number) const {
  if (leases_.was_given(number)) {
    const LeaseIndex lease = leases_.find(number);
    return lease == kNoLease || is_here(leases_[lease].host_id) ? lease : kNoLease;
  }
  return error(ErrorCode::kNotFound,
               "there is no lease " + std::to_string(number) + ": it may be of an earlier run");
}

Result<LeaseIndex> ShardState::open_lease(std::uint64_t number) const {
  const auto lease = given_lease(number);
  if (!lease) return lease;
  if (*lease == kNoLease || leases_[*lease].state != LeaseSlot::State::kOpen) {
    return error(ErrorCode::kNotFound, "the lease " + std::to_string(number) +
                                           " is not open: it was completed or released before, or "
                                           "it expired");
  }
  return *lease;
}

Result<std::string> ShardState::open_record(std::uint64_t number) const {
  const auto lease = given_lease(number);
  if (!lease) return tl::unexpected(lease.error());
  return *lease == kNoLease ? std::string() : leases_[*lease].record;
}

Result<EndedLease> ShardState::begin_completion(std::uint64_t number, const Outcome& outcome,
                                                const std::optional<std::string>& late) {
  const auto lease = given_lease(number);
  if (!lease) return tl::unexpected(lease.error());
  if (*lease != kNoLease && leases_[*lease].state == LeaseSlot::State::kOpen) {
    const HostIndex host = leases_[*lease].host;
    EndedLease ended = end_open(*lease, outcome);
    if (ended.end == LeaseEnd::kOpen) {
      count_completion(host, outcome, ended);
      if (outcome.requested && outcome.status != 0) note_answer(host, ended);
      // The host may have been revived since.
      ended.host_changed |= take_revived(hosts_[host]);
    }
    reschedule(host);
    return ended;
  }
  if (*lease != kNoLease && leases_[*lease].state == LeaseSlot::State::kExpired)
    return end_late(*lease, outcome, late);
  ++repeated_;
  return EndedLease{};
}

// The caller must reschedule the host.
EndedLease ShardState::end_open(LeaseIndex lease, const Outcome& outcome) {
  const LeaseSlot& slot = leases_[lease];
  const HostIndex host = slot.host;
  const Charge charge = charge_of(slot);
  EndedLease ended;
  if (slot.url_ended) {
    ++repeated_;
    leases_.remove(lease);
  } else {
    ended.end = LeaseEnd::kOpen;
    ended.url.host = slot.host_id;
    ended.url.order = slot.order;
    ended.url.record = leases_.end(lease);
  }
  if (outcome.requested) {
    note_request(host, charge, outcome.started_after);
    note_outcome(host, charge, outcome);
  } else {
    undo_request(charge);
  }
  return ended;
}

// The URL waits again, is leased again, or was ended by another of its leases.
EndedLease ShardState::end_late(LeaseIndex lease, const Outcome& outcome,
                                const std::optional<std::string>& late) {
  const auto record = take_late_record(lease, late);
  if (!record) {
    ++repeated_;
    return EndedLease{};
  }
  ++late_;
  leases_.end_late(lease);
  const LeaseSlot& slot = leases_[lease];
  EndedLease ended{.end = LeaseEnd::kLate,
                   .url = {.host = slot.host_id, .order = slot.order, .record = *record}};
  const HostIndex host = hosts_.find(slot.host_id);
  assert(host != kNoHost);  // see take_late_record()
  if (outcome.requested) {
    const Charge charge = charge_of(slot);
    note_request(host, charge, outcome.started_after);
    note_outcome(host, charge, outcome);
  }
  count_completion(host, outcome, ended);
  if (outcome.requested && outcome.status != 0) note_answer(host, ended);
  reschedule(host);
  return ended;
}

// Removes the URL of an expired lease from where it is now; nothing if it has ended. If it has not,
// its host is in memory.
std::optional<std::string> ShardState::take_late_record(LeaseIndex lease,
                                                        const std::optional<std::string>& late) {
  const QueueOrder order = leases_[lease].order;
  const HostId id = leases_[lease].host_id;
  const HostIndex host = hosts_.find(id);
  assert(leases_.newest_of(id, order.sequence) != kNoLease);
  LeaseSlot& newest = leases_[leases_.newest_of(id, order.sequence)];
  if (newest.state == LeaseSlot::State::kOpen) {
    if (std::exchange(newest.url_ended, true)) return std::nullopt;
    return newest.record;
  }
  if (host == kNoHost || leases_.is_taken(id, order.sequence)) return std::nullopt;
  if (auto record = heads_.take(host, order)) return record;
  return hosts_[host].queue.in_rest(order) ? late : std::nullopt;
}

std::optional<HostId> ShardState::late_host(std::uint64_t number) const {
  const auto lease = given_lease(number);
  if (!lease || *lease == kNoLease || leases_[*lease].state != LeaseSlot::State::kExpired)
    return std::nullopt;
  const HostId host = leases_[*lease].host_id;
  return is_present(host) ? std::optional(host) : std::nullopt;
}

// A record never changes, and a URL that is not in the store never returns to its place. So it may
// be read without the lock, and the answer holds if the lease still needs it.
std::optional<ShardState::LateRecord> ShardState::late_record(std::uint64_t number) const {
  const auto id = late_host(number);
  if (!id) return std::nullopt;
  assert(is_known(*id));
  const LeaseSlot& slot = leases_[*given_lease(number)];
  if (leases_.is_taken(*id, slot.order.sequence)) return std::nullopt;
  if (!hosts_[hosts_.find(*id)].queue.in_rest(slot.order)) return std::nullopt;
  return LateRecord{.host = *id, .order = slot.order};
}

Result<HostFailure> ShardState::begin_failure(std::uint64_t number, FailureReason reason,
                                              std::optional<milliseconds> retry_after,
                                              const Outcome& outcome) {
  const auto lease = given_lease(number);
  if (!lease) return tl::unexpected(lease.error());
  HostFailure failure;
  if (*lease == kNoLease || leases_[*lease].state != LeaseSlot::State::kOpen) {
    ++repeated_;
    return failure;
  }
  const HostIndex host = leases_[*lease].host;
  if (!leases_[*lease].url_ended && !ends_url(host, reason, outcome)) {
    failure.released = true;
    failure.lease.end = LeaseEnd::kOpen;
    failure.lease.url.host = hosts_[host].id;
    const std::string record = leases_[*lease].record;
    note_request(host, charge_of(leases_[*lease]), outcome.started_after);
    put_back(*lease);
    count_failure(host, reason, retry_after, outcome, record, failure);
    failure.lease.host_changed |= take_revived(hosts_[host]);
    reschedule(host);
    return failure;
  }
  failure.lease = end_open(*lease, outcome);
  if (failure.lease.end == LeaseEnd::kOpen)
    count_failure(host, reason, retry_after, outcome, failure.lease.url.record, failure);
  reschedule(host);
  return failure;
}

// Whether the failure counts for the URL: not if the host failed before the URL was requested. A
// name that does not exist ends the URLs of a host that never answered, but only after the second
// lookup; URLs leased before that wait began have to wait too.
bool ShardState::ends_url(HostIndex i, FailureReason reason, const Outcome& outcome) const {
  if (reason == FailureReason::kPermanent) return true;
  const Host& host = hosts_[i];
  // With host_failures 0 a host that never answered is not given up (is_too_silent()), so its URLs
  // must end.
  if (reason != FailureReason::kNoSuchHost)
    return outcome.requested || (options_.retry.host_failures == 0 && !host.answered);
  const bool waits = host.extra && host.extra->unblocked > options_.clock();
  return host.nameless && !waits && !host.answered;
}

void ShardState::put_back(LeaseIndex lease) {
  const LeaseSlot& slot = leases_[lease];
  const HostIndex host = slot.host;
  const QueueOrder order = slot.order;
  queue_url(host, order, leases_.remove(lease));
}

Result<bool> ShardState::fetched(std::uint64_t number, microseconds started_after) {
  const auto lease = open_lease(number);
  if (!lease) return tl::unexpected(lease.error());
  LeaseSlot& slot = leases_[*lease];
  if (slot.fetched) return false;
  const HostIndex host = slot.host;
  const bool could_lease = may_lease(hosts_[host]);
  // P1: the host's next URL may be leased before this lease ends.
  note_request(host, charge_of(slot), started_after);
  slot.started = std::max(slot.started, std::optional(start_of(slot.since, started_after)));
  leases_.note_fetched(*lease);
  reschedule(host);
  return !could_lease && may_lease(hosts_[host]) && hosts_[host].queue.has_urls();
}

Result<void> ShardState::renew(std::uint64_t number) {
  const auto lease = open_lease(number);
  if (!lease) return tl::unexpected(lease.error());
  if (options_.lease_timeout.count() > 0)
    leases_.renew(*lease, options_.clock() + options_.lease_timeout);
  return {};
}

Result<void> ShardState::release(std::uint64_t number, std::optional<SteadyTime> next_start,
                                 std::optional<microseconds> started_after) {
  const auto lease = open_lease(number);
  if (!lease) return tl::unexpected(lease.error());
  const LeaseSlot& slot = leases_[*lease];
  const HostIndex host = slot.host;
  const Charge charge = charge_of(slot);
  const QueueOrder order = slot.order;
  const bool url_ended = slot.url_ended;
  const std::string record = leases_.remove(*lease);
  // The host got another request meanwhile, or must wait.
  if (next_start) hosts_[host].not_before = std::max(hosts_[host].not_before, *next_start);
  if (next_start && started_after) {
    note_request(host, charge, *started_after);
  } else {
    undo_request(charge);
  }
  if (url_ended) {
    reschedule(host);
  } else {
    queue_url(host, order, record);
  }
  return {};
}

void ShardState::note_request(HostIndex i, const Charge& charge, microseconds started_after) {
  const auto& [since, groups, started] = charge;
  const SteadyTime start = start_of(since, started_after);
  Host& host = hosts_[i];
  host.surely_started = std::max(host.surely_started, start);
  if (start == since) return;
  const auto noted = started ? std::nullopt : std::optional(since);
  if (options_.domains != nullptr) options_.domains->note_start(groups.domain, start, noted);
  if (options_.addresses != nullptr) options_.addresses->note_start(groups.address, start, noted);
}

// Updates the host from the outcome of a request.
void ShardState::note_outcome(HostIndex i, const Charge& charge, const Outcome& outcome) {
  Host& host = hosts_[i];
  if (outcome.response_time) {
    const auto time =
        static_cast<float>(std::clamp(*outcome.response_time, milliseconds(0), kMaxDelay).count());
    host.response_time = host.response_time < 0
                             ? time
                             : host.response_time + (time - host.response_time) * kNewestResponse;
  }
  if (options_.addresses == nullptr || outcome.address.empty()) return;
  const GroupId address = options_.addresses->id(outcome.address);
  if (charge.groups.address != address)
    options_.addresses->note_start(address, start_of(charge.since, outcome.started_after));
  learn_address(i, address);
}

// The request of a lease was not made: removes its records from its groups.
void ShardState::undo_request(const Charge& charge) {
  const auto& [since, groups, started] = charge;
  if (started) return;
  if (options_.domains != nullptr) {
    options_.domains->undo_start(groups.domain, since);
    group_queues_.wake(true, groups.domain, last_now_);
  }
  if (options_.addresses != nullptr) {
    options_.addresses->undo_start(groups.address, since);
    group_queues_.wake(false, groups.address, last_now_);
  }
}

// Only hosts with a record have counts to change.
void ShardState::count_completion(HostIndex host, const Outcome& outcome, EndedLease& ended) {
  if (!hosts_[host].extra || !outcome.requested) return;
  const auto change = [succeeded = outcome.error.empty(), now = wall_now()](HostRecord& record) {
    if (record.remaining && *record.remaining > 0) --*record.remaining;
    if (succeeded) record.failures = 0;
    if (record.blocked_until != 0 && record.blocked_until <= now) record.blocked_until = 0;
  };
  ended.host_change = change_record(host, {}, change);
  ended.host_changed = ended.host_change != 0;
}

void ShardState::count_failure(HostIndex host, FailureReason reason,
                               std::optional<milliseconds> retry_after, const Outcome& outcome,
                               std::string_view url_record, HostFailure& failure) {
  const bool no_such_host = reason == FailureReason::kNoSuchHost;
  const bool was_nameless = hosts_[host].nameless;
  hosts_[host].nameless = no_such_host;
  if (outcome.requested && outcome.status != 0) note_answer(host, failure.lease);
  const bool backs_off = makes_host_back_off(reason);
  const bool answered = reason == FailureReason::kServerError ||
                        (reason == FailureReason::kPermanent && outcome.status != 0);
  if (reason == FailureReason::kPermanent) retry_after.reset();
  if (!backs_off && !retry_after && !hosts_[host].extra) return;
  const auto url = decode_record(url_record);
  const bool url_ends =
      reason == FailureReason::kPermanent || (url && url->attempts >= options_.retry.retries);
  const SteadyTime now = options_.clock();
  const HostExtra* const extra = hosts_[host].extra.get();
  const bool waits = extra && extra->unblocked > now;
  auto silent_since = extra ? extra->silent_since : std::nullopt;
  if (outcome.status != 0 || answered) {
    silent_since.reset();
  } else if (backs_off && !silent_since) {
    silent_since = now;
  }
  const HostRecord before = extra ? extra->record : HostRecord{};
  // A host that never answered is not given up: its URLs end one by one.
  const bool counts = backs_off && !(no_such_host && was_nameless);
  milliseconds wait(0);
  if (counts) {
    const std::uint32_t failures = one_more(answered ? 0 : before.failures);
    wait = no_such_host ? options_.retry.no_such_host_wait : backoff_.wait_after(failures);
    const bool too_often =
        options_.retry.host_failures > 0
            ? failures >= options_.retry.host_failures
            : hosts_[host].answered && is_too_silent(options_.retry, silent_since, now);
    failure.given_up = !before.given_up && too_often;
  } else if (backs_off) {
    failure.given_up = !before.given_up && hosts_[host].answered && !waits;
  }
  if (failure.given_up) wait = std::max(wait, options_.retry.park_time);
  if (retry_after) wait = std::max(wait, std::min(*retry_after, kMaxDelay));
  const std::int64_t until = wait.count() > 0 ? wall_now() + wait.count() : 0;
  if (until > 0) failure.blocked_until = from_milliseconds(std::max(before.blocked_until, until));
  const auto change = [=, ends = outcome.requested && url_ends,
                       given_up = failure.given_up](HostRecord& record) {
    if (ends && record.remaining && *record.remaining > 0) --*record.remaining;
    if (answered) record.failures = 0;
    if (counts) record.failures = one_more(record.failures);
    record.given_up |= given_up;
    if (until > 0) record.blocked_until = std::max(record.blocked_until, until);
  };
  failure.lease.host_change = change_record(host, url ? queue_of(*url) : std::string(), change);
  failure.lease.host_changed |= failure.lease.host_change != 0;
  if (hosts_[host].extra) hosts_[host].extra->silent_since = silent_since;
}

}  // namespace trawl
