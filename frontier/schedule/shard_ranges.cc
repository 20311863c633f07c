// ShardState: ranges of hosts that come and go, the buckets of a shared frontier.
//
// Taking a range: it is known from begin_taking() on, and its hosts are restored. P1: the owner
// before may have started requests until a moment, `since`. So each host of the range, also one
// that comes into memory later, has its last request then, and so has its domain, and each address
// that it is known to have (rest_group()).
//
// Forgetting a range: from begin_forgetting() on is_here() is false for its hosts. That is asked
// wherever a host or a lease comes from outside, under the lock: calls find neither, nothing of the
// inbox is taken for it, and none of its hosts has a turn or comes into memory. So what is in
// memory of the range only shrinks, and is removed in parts, while other threads get the lock in
// between: leases first, which refer to hosts. A host whose head or record is being read is `gone`:
// nothing leads to it, and its number remains in use until the read ends, which then changes
// nothing. The same host may have come back with another number by then.
//
// While ShardOptions::may_lease() is false for a range, its hosts that are due leave the schedule,
// each once, until it is true again: a million of them must not hold up the others. So do hosts
// without URLs in memory while the store does not answer for their range.
#include <algorithm>
#include <cassert>
#include <utility>

#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

// How often may_lease() is asked about a range with hosts that are due, and how many of them are
// put back on the schedule at once.
constexpr std::chrono::milliseconds kAskAgain(25);
constexpr std::size_t kResumedAtOnce = 1024;
// The pause before the store is asked again about a range for which it did not answer. It answers
// without waiting while it knows that it cannot.
constexpr std::chrono::milliseconds kReadAgain(100);

}  // namespace

void ShardState::begin_taking(const HostRange& range, SteadyTime since) {
  assert(options_.in_ranges);
  take_inbox();  // what is left of an earlier time is dropped
  ranges_.take(range, since);
}

void ShardState::end_taking(const HostRange& range) {
  HostRanges::Taken* const taken = ranges_.find(range.first);
  if (taken == nullptr) return;  // it was lost meanwhile
  assert(taken->hosts == range);
  taken->whole = true;
}

bool ShardState::note_restored(HostId id) {
  restored_to_ = std::max(restored_to_, id);
  if (!options_.in_ranges) return true;
  HostRanges::Taken* const range = ranges_.find(id);
  if (range != nullptr) range->restored_to = std::max(range->restored_to, std::optional(id));
  return range != nullptr;
}

bool ShardState::is_restored(HostId id) const {
  if (!options_.in_ranges) return id <= restored_to_;
  const HostRanges::Taken* const range = ranges_.find(id);
  return range == nullptr || range->whole || (range->restored_to && id <= *range->restored_to);
}

std::optional<SteadyTime> ShardState::rests_since(HostId id) const {
  if (!options_.in_ranges) return options_.restarted;
  const HostRanges::Taken* const range = ranges_.find(id);
  return range == nullptr ? std::nullopt : std::optional(range->since);
}

// The host's domain or address, which has just become known. After a restart all groups rest.
void ShardState::rest_group(HostId id, GroupRateLimiter& clocks, GroupId group) const {
  if (!options_.in_ranges) return;
  const HostRanges::Taken* const range = ranges_.find(id);
  if (range != nullptr && range->since + clocks.delay() > last_now_)
    clocks.note_start(group, range->since);
}

bool ShardState::may_lease_from(const HostRanges::Taken& range) const {
  return !options_.may_lease || options_.may_lease(range.hosts.first);
}

bool ShardState::may_lease_now(HostId id) const {
  if (!options_.in_ranges) return true;
  const HostRanges::Taken* const range = ranges_.find(id);
  return range != nullptr && may_lease_from(*range);
}

bool ShardState::may_read_now(HostId id) const {
  if (!may_lease_now(id)) return false;
  return !options_.in_ranges || ranges_.find(id)->read_again <= last_now_;
}

void ShardState::put_off_reads(HostId id) {
  HostRanges::Taken* const range = options_.in_ranges ? ranges_.find(id) : nullptr;
  if (range != nullptr) range->read_again = look_at_clock() + kReadAgain;
}

// Takes a host whose turn has come off the schedule if nothing can be leased from it now.
bool ShardState::stops(HostIndex i) {
  HostRanges::Taken* const range = ranges_.find(hosts_[i].id);
  const bool may_lease = range != nullptr && may_lease_from(*range);
  const bool waits = may_lease && hosts_[i].queue.head_empty() && range->read_again > last_now_;
  if (may_lease && !waits) return false;
  unschedule(i);
  if (range == nullptr) return true;  // it is being forgotten
  hosts_[i].stopped = true;
  range->stopped.push_back(i);
  const SteadyTime before = range->ask_again;
  if (waits) {
    range->ask_again = range->read_again;  // also if others were about to be resumed
  } else if (before == SteadyTime::max()) {
    range->ask_again = last_now_ + kAskAgain;
  }
  if (range->ask_again != before) stopped_until_ = ranges_.ask_again();
  return true;
}

void ShardState::resume_stopped(SteadyTime now) {
  if (stopped_until_ > now) return;
  for (HostRanges::Taken& range : ranges_.all()) {
    if (range.ask_again > now) continue;
    if (!may_lease_from(range)) {
      range.ask_again = now + kAskAgain;
      continue;
    }
    const std::size_t end = std::min(range.stopped.size(), range.resumed + kResumedAtOnce);
    for (; range.resumed < end; ++range.resumed) {
      const HostIndex i = range.stopped[range.resumed];
      if (i >= hosts_.end() || !hosts_[i].stopped) continue;
      hosts_[i].stopped = false;
      reschedule(i);
    }
    if (range.resumed == range.stopped.size()) {
      range.stopped = {};
      range.resumed = 0;
      range.ask_again = SteadyTime::max();
    } else if (range.resumed > range.stopped.size() / 2) {
      // They may stop again and again.
      range.stopped.erase(range.stopped.begin(),
                          range.stopped.begin() + static_cast<std::ptrdiff_t>(range.resumed));
      range.resumed = 0;
    }
  }
  stopped_until_ = ranges_.ask_again();
}

// Leases that were given before a read, which took some time: those of hosts that were forgotten
// meanwhile are gone, and those of hosts that may not be leased from any more are put back.
void ShardState::take_back(std::vector<NumberedLease>& leases, std::size_t from) {
  if (!options_.in_ranges) return;
  const auto is_back = [this](const NumberedLease& lease) {
    const auto open = open_lease(lease.number);
    if (open && may_lease_now(lease.url.host)) return false;
    if (open) static_cast<void>(release(lease.number, std::nullopt, std::nullopt));
    return true;
  };
  const auto first = leases.begin() + static_cast<std::ptrdiff_t>(from);
  leases.erase(std::remove_if(first, leases.end(), is_back), leases.end());
}

bool ShardState::may_wake_in(const HostRanges::Taken& range) const {
  return range.since + options_.politeness.delay <= last_now_ && range.read_again <= last_now_ &&
         may_lease_from(range);
}

bool ShardState::may_wake(HostId id) const {
  const HostRanges::Taken* const range = ranges_.find(id);
  return range != nullptr && may_wake_in(*range);
}

// The next host that sleeps and may wake. There may be very many others.
std::optional<SleepingHosts::Host> ShardState::next_to_wake() {
  constexpr std::size_t kMostPassed = 4096;
  if (sleeping_.empty()) return std::nullopt;
  if (!options_.in_ranges) return sleeping_.next();
  const bool any_may = std::ranges::any_of(
      ranges_.all(), [this](const HostRanges::Taken& range) { return may_wake_in(range); });
  if (!any_may) {
    wake_not_before_ = last_now_ + kAskAgain;
    return std::nullopt;
  }
  const std::size_t most = std::min(kMostPassed, sleeping_.size());
  const bool are_all = most == sleeping_.size();
  const auto next = sleeping_.next(most, [this](HostId id) { return may_wake(id); });
  if (!next) wake_not_before_ = last_now_ + (are_all ? kAskAgain : std::chrono::milliseconds(1));
  return next;
}

bool ShardState::begin_forgetting(const HostRange& range) {
  take_inbox();
  if (!ranges_.begin_forgetting(range)) return false;
  stopped_until_ = ranges_.ask_again();
  return true;
}

// The leases from number `from` on, at most `most`; returns the number after them. So do the next
// two.
LeaseIndex ShardState::forget_leases(const HostRange& range, LeaseIndex from, std::size_t most) {
  const auto end = static_cast<LeaseIndex>(std::min<std::size_t>(from + most, leases_.end()));
  for (LeaseIndex i = from; i < end && i < leases_.end(); ++i) {
    if (range.contains(leases_[i].host_id) && leases_.is_used(i)) leases_.forget(i);
  }
  return end;
}

LeaseIndex ShardState::count_leases(const HostRange& range, LeaseIndex from, std::size_t most,
                                    std::size_t& leases) {
  if (from == 0) take_inbox();
  const auto end = static_cast<LeaseIndex>(std::min<std::size_t>(from + most, leases_.end()));
  for (LeaseIndex i = from; i < end; ++i) {
    const LeaseSlot& slot = leases_[i];
    if (slot.state != LeaseSlot::State::kExpired && range.contains(slot.host_id) &&
        leases_.is_used(i))
      ++leases;
  }
  return end;
}

HostIndex ShardState::forget_some(const HostRange& range, HostIndex from, std::size_t most) {
  const auto end = static_cast<HostIndex>(std::min<std::size_t>(from + most, hosts_.end()));
  for (HostIndex i = from; i < end && i < hosts_.end(); ++i) {
    if (range.contains(hosts_[i].id) && hosts_.is_found(i)) forget_host(i);
  }
  return end;
}

void ShardState::forget_host(HostIndex i) {
  Host& host = hosts_[i];
  assert(host.leased == 0 && !is_here(host.id));
  unschedule(i);
  stop_awaiting_head(host);
  host.wants_head = false;
  if (read_first_ == i) read_first_ = kNoHost;
  heads_.drop(i);
  host.queue.set_no_rest();
  if (host.extra) {
    blocked_.erase({host.extra->unblocked, i});
    host.extra.reset();
  }
  host.queued = 0;
  update_counts(host);
  if (i < groups_.size()) groups_[i] = {};
  hosts_.detach(i);
  remove_if_read(i);
}

// A host that is `gone`, unless a read of it is under way.
void ShardState::remove_if_read(HostIndex i) {
  const Host& host = hosts_[i];
  assert(host.gone);
  if (!host.head_under_way && !host.record_under_way) hosts_.remove(i);
}

bool ShardState::lost_any(const HeadRead& read) const {
  return std::ranges::any_of(
      read.parts, [this](const HeadRead::Part& part) { return is_forgotten(part.host); });
}

bool ShardState::lost_any(const RecordRead& read) const {
  return std::ranges::any_of(read.hosts, [this](HostIndex host) { return is_forgotten(host); });
}

void ShardState::forget_sleeping(const HostRange& range, std::size_t table) {
  std::vector<HostId> hosts;
  sleeping_.visit(table, [&](HostId id, std::uint64_t) {
    if (range.contains(id)) hosts.push_back(id);
  });
  for (const HostId id : hosts) {
    sleeping_.remove(id);
    sleeping_addresses_.erase(id);
  }
}

void ShardState::end_forgetting(const HostRange& range) {
  const auto is_in_it = [&](const auto& entry) { return range.contains(entry.first); };
  std::erase_if(uncommitted_, is_in_it);
  std::erase_if(pending_changes_, is_in_it);
  std::erase_if(unsent_, is_in_it);
  std::erase_if(elsewhere_, [&](const auto& entry) {
    const Elsewhere& others = entry.second;
    if (!is_in_it(entry)) return false;
    // Hosts of other ranges need not wait for it.
    if (others.next && options_.addresses != nullptr)
      options_.addresses->undo_start(others.groups.address, *others.next);
    return true;
  });
  ranges_.end_forgetting(range);
}

}  // namespace trawl
