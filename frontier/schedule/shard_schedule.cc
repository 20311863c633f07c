// ShardState: the schedule of hosts, and the heads of their queues.
#include <algorithm>
#include <cassert>
#include <utility>

#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

}  // namespace

milliseconds ShardState::delay_of_record(const HostRecord& record) const {
  const milliseconds own = std::min(record.delay.value_or(milliseconds(0)), kMaxDelay);
  return record.exact_delay ? own : std::max(options_.politeness.delay, own);
}

milliseconds ShardState::delay_of(const Host& host) const {
  milliseconds delay = options_.politeness.delay;
  if (const HostRecord* const record = host.record(); record != nullptr) {
    delay = delay_of_record(*record);
    if (record->exact_delay) return delay;
  }
  if (options_.politeness.adaptive_delay > 0 && host.response_time >= 0) {
    const double wanted =
        options_.politeness.adaptive_delay * static_cast<double>(host.response_time);
    const double most = static_cast<double>(options_.politeness.max_adaptive_delay.count());
    delay = std::max(delay, milliseconds(static_cast<std::int64_t>(std::min(wanted, most))));
  }
  return delay;
}

// When the next request may start according to the host's earlier requests (P1).
SteadyTime ShardState::own_start(const Host& host) const {
  const SteadyTime last = std::max(host.surely_started, leases_.newest_start(host));
  return std::max(host.not_before, last + delay_of(host));
}

SteadyTime ShardState::next_start(const Host& host) const {
  const SteadyTime own = own_start(host);
  return host.extra ? std::max(own, host.extra->unblocked) : own;
}

// How long a host without URLs stays in memory: until the delay of its address has passed, since
// the address would be lost with the host.
SteadyTime ShardState::idle_until(HostIndex i) const {
  const SteadyTime own = own_start(hosts_[i]);
  const GroupId address = groups_of(i).address;
  return address == 0 ? own : std::max(own, options_.addresses->next_start(address));
}

bool ShardState::may_lease(const Host& host) const {
  if (host.drops > 0 || host.given_up()) return false;
  const HostRecord* record = host.record();
  const std::uint32_t requested = host.leased - host.fetched_leases;
  if (record == nullptr) return requested < options_.politeness.leases_per_host;
  if (record->remaining && host.leased >= *record->remaining) return false;
  return requested < record->max_leases.value_or(options_.politeness.leases_per_host);
}

bool ShardState::awaits_revival(const Host& host) const {
  return options_.retry.park_time.count() > 0 && host.drops == 0 && host.given_up() &&
         !host.at_limit();
}

void ShardState::update_counts(Host& host) {
  const bool leasable = host.queue.has_urls() && !host.given_up() && !host.at_limit();
  assert(!host.counted_leasable || leasable_ > 0);
  assert(!host.counted_given_up || given_up_ > 0);
  if (leasable != host.counted_leasable) leasable ? ++leasable_ : --leasable_;
  host.counted_leasable = leasable;
  const bool waiting = leasable && host.leased == 0;
  assert(!host.counted_waiting || waiting_ > 0);
  if (waiting != host.counted_waiting) waiting ? ++waiting_ : --waiting_;
  host.counted_waiting = waiting;
  if (host.given_up() != host.counted_given_up) host.given_up() ? ++given_up_ : --given_up_;
  host.counted_given_up = host.given_up();
}

void ShardState::unschedule(HostIndex i) {
  Host& host = hosts_[i];
  if (host.place == Host::Place::kScheduled) schedule_.remove(host.position);
  if (host.place == Host::Place::kGroupQueue) group_queues_.leave(i);
  host.place = Host::Place::kNowhere;
}

// Must be called whenever something about a host has changed. A host without URLs is scheduled too:
// it is forgotten at its turn, which is not before its delay has passed, so that a new URL is not
// requested too early. Hosts that are due already are scheduled for now, so that they have their
// turns in the order in which they became ready.
void ShardState::reschedule(HostIndex i) {
  Host& host = hosts_[i];
  update_counts(host);
  if (host.unread) return;   // end_records() schedules it
  if (host.stopped) return;  // resume_stopped() schedules it
  if (host.awaits_head) {
    // end_read() schedules it.
    if (host.queue.head_empty() && host.queue.has_rest() &&
        (host.wants_head || host.head_under_way))
      return;
    stop_awaiting_head(host);
  }
  const bool idle = !host.queue.has_urls();
  if (idle ? host.leased > 0 : !may_lease(host) && !awaits_revival(host)) return unschedule(i);
  // An idle host need not stay until the end of its block, which the store has.
  const SteadyTime time = std::max(idle ? idle_until(i) : next_start(host), last_now_);
  if (host.place == Host::Place::kGroupQueue) {
    if (time <= last_now_ && !idle) return;
    unschedule(i);
  }
  if (host.place == Host::Place::kScheduled) {
    const SteadyTime before = schedule_.time_at(host.position);
    if (before != time && (before > last_now_ || time > last_now_))
      schedule_.move(host.position, time);
    return;
  }
  assert(host.place == Host::Place::kNowhere);
  schedule_.push(time, i);
  host.place = Host::Place::kScheduled;
}

// Takes the next due host, with a URL in its head, off the schedule; kNoHost if none is due.
HostIndex ShardState::next_host(SteadyTime now) {
  for (;;) {
    const SteadyTime in_group_queue = group_queues_.next_turn();
    const SteadyTime own = schedule_.empty() ? SteadyTime::max() : schedule_.top().time;
    if (std::min(in_group_queue, own) > now || (schedule_.empty() && group_queues_.empty()))
      return kNoHost;
    const bool is_in_group_queue = in_group_queue <= own && !group_queues_.empty();
    const HostIndex i = is_in_group_queue ? group_queues_.choose(now) : schedule_.top().number;
    if (i == kNoHost) continue;
    if (take_turn(i, is_in_group_queue, now)) return i;
    if (read_first_ != kNoHost) return kNoHost;
  }
}

// Handles a host whose turn has come. True: it may be leased from and is taken off the schedule;
// false: it was rescheduled or joined a line.
bool ShardState::take_turn(HostIndex i, bool in_group_queue, SteadyTime now) {
  Host& host = hosts_[i];
  assert(host.place == (in_group_queue ? Host::Place::kGroupQueue : Host::Place::kScheduled));
  if (options_.in_ranges && host.queue.has_urls() && stops(i)) return false;
  if (host.extra && host.extra->record.blocked_until != 0) update_block(i);
  if (awaits_revival(host) && host.extra->unblocked <= now) {
    commit_change(host.id, revive(i));  // it belongs to no operation
    host.revived = true;
  }
  if (!host.queue.has_urls() ? own_start(host) > now : !may_lease(host) || next_start(host) > now) {
    unschedule(i);
    reschedule(i);
    return false;
  }
  const bool in_groups = !groups_.empty();
  if (in_groups && !in_group_queue && host.groups_known && joins_group_queue(i, now)) return false;
  if (!in_group_queue && is_time_to_sleep(i)) {
    put_to_sleep(i);
    return false;
  }
  if (!host.queue.has_urls()) {
    unschedule(i);
    forget_if_idle(i);
    return false;
  }
  if (host.queue.head_empty()) {
    if (in_group_queue || options_.deterministic) {
      read_first_ = i;  // it keeps its place
    } else {
      unschedule(i);
      await_head(i);
    }
    return false;
  }
  if (in_groups) return take_turn_of_groups(i, in_group_queue, now);
  unschedule(i);
  return true;
}

// If other hosts wait for this host's groups, it joins their line.
bool ShardState::joins_group_queue(HostIndex i, SteadyTime now) {
  if (!group_queues_.must_wait(groups_[i].domain, groups_[i].address, now)) return false;
  unschedule(i);
  group_queues_.join(i, groups_[i].domain, groups_[i].address, std::nullopt, now);
  return true;
}

bool ShardState::take_turn_of_groups(HostIndex i, bool in_group_queue, SteadyTime now) {
  assert(i < groups_.size());
  learn_groups(i);
  if (!in_group_queue && joins_group_queue(i, now)) return false;
  const HostGroups groups = groups_[i];
  std::optional<GroupRateLimiter::Refusal> refusal;
  if (in_group_queue) refusal = group_queues_.reserved(now);
  if (!refusal) {
    refusal = GroupRateLimiter::start(options_.domains, groups.domain, options_.addresses,
                                      groups.address, now);
  }
  if (!in_group_queue) {
    unschedule(i);
    if (refusal) group_queues_.join(i, groups.domain, groups.address, refusal, now);
  } else if (refusal) {
    group_queues_.put_off(*refusal);
  } else {
    const GroupRateLimiter& clocks =
        group_queues_.turn_is_domains() ? *options_.domains : *options_.addresses;
    group_queues_.serve(now + clocks.delay());
  }
  return !refusal;
}

void ShardState::queue_url(HostIndex i, const QueueOrder& order, std::string_view record) {
  if (!hosts_[i].queue.in_rest(order)) {
    heads_.insert(i, order, record);
  } else if (hosts_[i].head_under_way) {
    reads_.note_added(i, order);
  }
  reschedule(i);
}

}  // namespace trawl
