// ShardState: hosts that sleep, since there are more than most_awake.
//
// A host may sleep if its next request may start and all else that matters is in the store,
// except the number of its URLs. So it is like a host that was forgotten, and its URLs are like
// those of a restart: nothing is lost if it sleeps, and nothing changes for it but the order of
// turns. Its number of URLs goes on to be counted while it sleeps.
//
// A host wakes when there is room, when no other is due, or when a call needs it. As long as others
// sleep, it sleeps again after some leases. So each has its turns, however many there are; with
// some leases at a time, as each time its record and the head of its queue must be read.
//
// It wakes `unread`, and its stored record is read as that of every other host that comes into
// memory: see shard_records.cc.
#include <algorithm>
#include <cassert>
#include <utility>

#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

constexpr std::size_t kMostWokenAtOnce = 64;
// Leases after which a host sleeps: if its head must be read, and if URLs of it are in memory.
constexpr std::uint8_t kLeastTurns = 4;
constexpr std::uint8_t kMostTurns = 32;

}  // namespace

// The host comes into memory. The caller sets its record, or has it read.
HostIndex ShardState::wake(HostId id, std::uint64_t urls) {
  const HostIndex i = add_host(id);
  hosts_[i].queued = static_cast<std::int64_t>(urls);
  hosts_[i].queue.set_rest_all();
  if (const auto address = sleeping_addresses_.extract(id); !address.empty())
    groups_[i].address = address.mapped();
  update_counts(hosts_[i]);
  return i;
}

// Adds a URL of a host that sleeps, or that must sleep. False if its host is awake, or must be.
bool ShardState::add_asleep(HostId id) {
  if (sleeping_.empty() && hosts_.size() < options_.most_awake) return false;
  if (const std::uint64_t urls = sleeping_.urls(id); urls > 0) {
    if (urls == SleepingHosts::kMostUrls) return false;
    sleeping_.set(id, urls + 1);
    return true;
  }
  if (hosts_.size() < options_.most_awake || hosts_.find(id) != kNoHost) return false;
  sleeping_.set(id, 1);
  return true;
}

// The end of a URL became durable after its host had fallen asleep.
void ShardState::end_asleep(HostId id) {
  const std::uint64_t urls = sleeping_.urls(id);
  if (urls == 1) {
    sleeping_.remove(id);
    sleeping_addresses_.erase(id);
  }
  if (urls > 1) sleeping_.set(id, urls - 1);
}

// URLs of the host may have been queued before it is restored.
bool ShardState::restore_asleep(HostId id, const std::optional<HostRecord>& record,
                                const QueueBeginning& queue) {
  const std::uint64_t urls = sleeping_.urls(id);
  const std::uint64_t all = urls + queue.urls.size();
  if (!queue.whole || all == 0 || all > SleepingHosts::kMostUrls) return false;
  if (urls > 0) {
    sleeping_.set(id, all);
    return true;
  }
  if (hosts_.size() < options_.most_awake || (record && !may_sleep_with(*record))) return false;
  sleeping_.set(id, all);
  return true;
}

// So many wake together, unless no other host is due.
std::size_t ShardState::woken_at_once() const {
  return std::clamp<std::size_t>(options_.most_awake / 8, 1, kMostWokenAtOnce);
}

// Of the hosts in memory those that may be leased from soon. However many others there are, which
// are blocked, parked, or wait for their domain's or address's turn, they keep no host from waking.
std::size_t ShardState::ready_hosts() const {
  const std::size_t others = blocked_.size() + group_queues_.size();
  return leasable_ - std::min(leasable_, others);
}

std::size_t ShardState::room_to_wake() const {
  return options_.most_awake - std::min(options_.most_awake, ready_hosts());
}

// When a host that sleeps may wake if no other is due; SteadyTime::max() if enough are awake. After
// a restart none may start before its delay has passed.
SteadyTime ShardState::wake_time() const {
  if (sleeping_.empty() || ready_hosts() >= 2 * options_.most_awake + kMostWokenAtOnce)
    return SteadyTime::max();
  if (options_.in_ranges) return std::max(last_now_, wake_not_before_);
  if (!options_.restarted) return last_now_;
  return std::max(last_now_, *options_.restarted + options_.politeness.delay);
}

// What is stored of a host that sleeps does not keep it from being leased from.
bool ShardState::may_sleep_with(const HostRecord& record) const {
  return !record.given_up && record.remaining != 0 && record.failures == 0 &&
         record.blocked_until <= wall_now();
}

bool ShardState::is_time_to_sleep(HostIndex i) {
  const Host& host = hosts_[i];
  if (sleeping_.empty() || room_to_wake() >= woken_at_once()) return false;
  if (host.turns < (host.queue.head_empty() ? kLeastTurns : kMostTurns)) return false;
  if (host.leased > 0 || host.drops > 0 || host.head_under_way || !host.is_counted) return false;
  if (!is_restored(host.id) || unsent_.contains(host.id)) return false;
  if (host.extra && (host.extra->silent_since || !may_sleep_with(host.extra->record))) return false;
  if (host.queued < 1 || host.queued > std::int64_t{SleepingHosts::kMostUrls}) return false;
  if (host.nameless || host.revived || idle_until(i) > last_now_) return false;
  return is_saved(host);
}

void ShardState::put_to_sleep(HostIndex i) {
  unschedule(i);
  Host& host = hosts_[i];
  const HostId id = host.id;
  const auto urls = static_cast<std::uint64_t>(host.queued);
  if (const GroupId address = groups_of(i).address; address != 0) sleeping_addresses_[id] = address;
  if (host.extra) {
    blocked_.erase({host.extra->unblocked, i});
    host.extra.reset();
  }
  heads_.drop(i);
  host.queue.set_no_rest();
  update_counts(host);
  hosts_.remove(i);
  sleeping_.set(id, urls);
}

bool ShardState::has_due_host() {
  take_inbox();
  return any_awaits_head() || next_turn() <= look_at_clock();
}

RecordRead ShardState::begin_waking() {
  RecordRead read;
  if (closed() || sleeping_.empty() || reads_records()) return read;
  return_ended_leases();
  if (options_.leases != nullptr && !options_.leases->has_any()) return read;
  const bool others_are_due = has_due_host();  // which may end some that sleep
  if (wake_time() > last_now_ || (others_are_due && room_to_wake() < woken_at_once())) return read;
  while (read.hosts.size() < woken_at_once()) {
    const auto next = next_to_wake();
    if (!next) break;
    const HostIndex i = wake(next->id, next->urls);
    hosts_[i].unread = true;
    begin_record(i, read);
  }
  return read;
}

}  // namespace trawl
