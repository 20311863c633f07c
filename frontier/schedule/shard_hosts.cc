// ShardState: restoring, forgetting and changing hosts.
#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "trawl/url_groups.h"

#include "base/wall_time.h"
#include "frontier/common/queue_names.h"
#include "frontier/schedule/host_record_info.h"
#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

// When a host that could not be forgotten yet is examined again.
constexpr std::chrono::seconds kForgetLater(1);
// The most open leases of a host whose requests are recorded for an address that becomes known.
constexpr int kMostMoved = 64;

// Roughly: nodes of two words more, and buckets.
template <class Map>
std::uint64_t bytes_of(const Map& map) {
  return map.size() * (sizeof(typename Map::value_type) + 2 * sizeof(void*)) +
         map.bucket_count() * sizeof(void*);
}

}  // namespace

// The first URLs are available now; later each host would need a separate read. They are added like
// admitted URLs, so that all hosts' shares are equal in the end.
void ShardState::restore_host(HostId id, const std::optional<HostRecord>& record,
                              const QueueBeginning& queue) {
  if (!note_restored(id)) return;
  if (hosts_.find(id) == kNoHost && restore_asleep(id, record, queue)) return;
  HostIndex i = hosts_.find(id);
  if (const std::uint64_t urls = sleeping_.remove(id); urls > 0) {
    i = wake(id, urls);
    set_record(i, record);
  }
  if (i != kNoHost) return merge_restored(i, queue);
  i = add_host(id);
  set_record(i, record);
  hosts_[i].is_counted = queue.whole;
  if (queue.whole) hosts_[i].queued = static_cast<std::int64_t>(queue.urls.size());
  HostQueue& waiting = hosts_[i].queue;
  if (queue.whole) {
    waiting.set_no_rest();
  } else if (!queue.urls.empty()) {
    waiting.set_rest_after(queue.urls.back().order);
  } else {
    waiting.set_rest_all();
  }
  for (const QueuedUrl& url : queue.urls) {
    if (!waiting.in_rest(url.order)) heads_.insert(i, url.order, url.record);
  }
  reschedule(i);
}

// A host that came into memory before its queue was restored: some of its URLs are in the head. The
// queue is read again.
void ShardState::merge_restored(HostIndex i, const QueueBeginning& queue) {
  Host& host = hosts_[i];
  host.is_counted = queue.whole;
  if (queue.whole) host.queued += static_cast<std::int64_t>(queue.urls.size());
  if (host.head_under_way) reads_.note_dropped(i);
  heads_.drop(i);
  host.queue.set_rest_all();
  reschedule(i);
}

// Forgets a host without URLs and leases whose delay has passed, unless its record is not stored
// yet: when the host comes into memory again it must be found there. It also stays until the ends
// of its last URLs are durable, since its count would be lost with it.
void ShardState::forget_if_idle(HostIndex i) {
  Host& host = hosts_[i];
  if (host.queue.has_urls() || host.leased > 0) return reschedule(i);
  assert(host.place == Host::Place::kNowhere);
  if (!is_saved(host) || host.queued != 0 || !host.is_counted || !is_restored(host.id)) {
    update_counts(host);
    schedule_.push(last_now_ + kForgetLater, i);
    host.place = Host::Place::kScheduled;
    return;
  }
  if (host.extra) {
    blocked_.erase({host.extra->unblocked, i});
    host.extra.reset();
  }
  update_counts(host);
  hosts_.remove(i);
}

// Most hosts have no record in memory: Host::answered is kept apart from it.
void ShardState::note_answer(HostIndex i, EndedLease& ended) {
  Host& host = hosts_[i];
  host.nameless = false;
  if (host.extra) host.extra->silent_since.reset();
  if (host.answered) return;
  host.answered = host.record_unsaved = true;
  ended.host_changed = true;
}

std::int64_t ShardState::wall_now() const {
  return to_milliseconds(options_.wall_clock());
}

// Sets the end of the block on the clock of delays. The two clocks may drift apart, so the end is
// checked again when it has come.
void ShardState::update_block(HostIndex i) {
  assert(hosts_[i].extra);
  HostExtra& extra = *hosts_[i].extra;
  blocked_.erase({extra.unblocked, i});
  extra.unblocked = SteadyTime::min();
  const std::int64_t until = extra.record.blocked_until;
  if (until == 0) return;
  const std::int64_t now = wall_now();
  if (until <= now) return;
  // Unsigned, since the difference may overflow signed numbers.
  const std::uint64_t wait = static_cast<std::uint64_t>(until) - static_cast<std::uint64_t>(now);
  extra.unblocked =
      options_.clock() + milliseconds(std::min<std::uint64_t>(wait, kMaxDelay.count()));
  if (!extra.record.given_up) blocked_.emplace(extra.unblocked, i);
}

// Returns the number of the change; 0 if the record is unchanged.
std::uint64_t ShardState::change_record(HostIndex i, std::string_view name,
                                        const RecordChange& change) {
  Host& host = hosts_[i];
  const HostRecord before = host.extra ? host.extra->record : HostRecord{};
  HostRecord record = before;
  trawl::change_record(record, name, change);
  if (record == before) return 0;
  pending_changes_.try_emplace(host.id, before).first->second.add(next_change_, name, change);
  const bool keep = !record.is_default();
  if (!host.extra) host.extra = std::make_unique<HostExtra>();
  host.extra->record = std::move(record);
  update_block(i);
  if (!keep) host.extra.reset();
  host.record_unsaved = true;
  reschedule(i);
  return next_change_++;
}

std::uint64_t ShardState::change_host(HostId id, std::string_view name,
                                      const RecordChange& change) {
  assert(is_known(id));
  const HostIndex i = hosts_.find(id);
  const std::uint64_t number = change_record(i, name, change);
  reschedule(i);
  return number;
}

// Removes the host's failures and block.
std::uint64_t ShardState::revive(HostIndex i) {
  if (hosts_[i].extra) hosts_[i].extra->silent_since.reset();
  return change_record(i, {}, [](HostRecord& record) {
    record.failures = 0;
    record.blocked_until = 0;
    record.given_up = false;
  });
}

bool ShardState::revive_if_given_up(HostId id) {
  assert(is_known(id));
  const HostIndex i = hosts_.find(id);
  if (!hosts_[i].given_up()) return false;
  revive(i);
  return true;
}

HostGroups ShardState::groups_of(HostIndex i) const {
  return i < groups_.size() ? groups_[i] : HostGroups{};
}

// The host's name comes from one of its URLs, and is needed only once. If the record cannot be
// decoded, the host counts as a domain of its own.
void ShardState::learn_groups(HostIndex i) {
  Host& host = hosts_[i];
  if (host.groups_known) return;
  host.groups_known = true;
  std::optional<UrlRecord> record;
  if (!host.queue.head_empty()) record = decode_record(host.queue.front_record());
  if (record && record->given.named) {
    host.apart = true;
    groups_[i] = {};
    return;
  }
  learn_domain(i, host.extra ? host.extra->record.name : record ? queue_of(*record) : "");
}

void ShardState::learn_domain(HostIndex i, std::string_view name) {
  if (options_.domains == nullptr || hosts_[i].apart || groups_[i].domain != 0) return;
  groups_[i].domain = name.empty() ? std::max<GroupId>(hosts_[i].id, 1)
                                   : options_.domains->id(registrable_domain(without_port(name)));
  rest_group(hosts_[i].id, *options_.domains, groups_[i].domain);
}

// Running requests stay recorded for their own address.
void ShardState::learn_address_only(HostIndex i, std::string_view text) {
  if (options_.addresses == nullptr || text.empty() || hosts_[i].apart) return;
  const GroupId address = options_.addresses->id(text);
  if (groups_[i].address == address) return;
  if (hosts_[i].place == Host::Place::kGroupQueue) unschedule(i);
  groups_[i].address = address;
  rest_group(hosts_[i].id, *options_.addresses, address);
  reschedule(i);
}

// The host's running requests may go to that address too: records them for it, at most the last
// kMostMoved.
void ShardState::learn_address(HostIndex i, GroupId address) {
  if (groups_[i].address == address || hosts_[i].apart) return;
  if (hosts_[i].place == Host::Place::kGroupQueue) unschedule(i);
  groups_[i].address = address;
  if (address != 0) {
    rest_group(hosts_[i].id, *options_.addresses, address);
    LeaseIndex lease = hosts_[i].newest_lease;
    for (int n = 0; n < kMostMoved && lease != kNoLease; ++n) {
      LeaseSlot& slot = leases_[lease];
      if (slot.groups.address != address)
        options_.addresses->note_start(address, slot.started.value_or(slot.since));
      slot.groups.address = address;
      lease = slot.before;
    }
  }
  reschedule(i);
}

// A new host is kept for a while, until its first URL arrives.
void ShardState::set_address(HostId id, std::string_view address) {
  assert(is_known(id) && knows_addresses());
  take_inbox();
  const HostIndex i = hosts_.find(id);
  learn_address(i, options_.addresses->id(address));
  if (hosts_[i].queue.has_urls() || hosts_[i].leased > 0) return;
  unschedule(i);
  const auto keep = std::max<milliseconds>(options_.addresses->delay(), kForgetLater);
  schedule_.push(std::max(idle_until(i), options_.clock() + keep), i);
  hosts_[i].place = Host::Place::kScheduled;
}

void ShardState::begin_drop(HostId id) {
  assert(is_known(id));
  take_inbox();
  const HostIndex i = hosts_.find(id);
  heads_.drop(i);
  if (hosts_[i].head_under_way) reads_.note_dropped(i);
  // URLs admitted during the drop stay in the store.
  hosts_[i].queue.set_rest_all();
  ++hosts_[i].drops;
  reschedule(i);
}

bool ShardState::is_leased(HostId host, std::uint64_t sequence) {
  if (leases_.is_taken(host, sequence)) return true;
  leases_.forget_expired(host, sequence);  // their completions now come too late
  return false;
}

void ShardState::end_drop(HostId id, std::uint64_t dropped) {
  take_inbox();  // URLs admitted before or during the drop: see begin_drop()
  const HostIndex i = hosts_.find(id);
  if (i == kNoHost || hosts_[i].drops == 0) return;
  hosts_[i].queued -= static_cast<std::int64_t>(dropped);
  --hosts_[i].drops;
  reschedule(i);
}

std::optional<HostInfo> ShardState::info(HostId id) {
  take_inbox();
  const HostIndex i = hosts_.find(id);
  if (i == kNoHost || hosts_[i].unread) return std::nullopt;
  const Host& host = hosts_[i];
  HostInfo info;
  if (const HostRecord* record = host.record()) {
    info = host_info(*record, wall_now());
  } else if (const auto url = host.queue.head_empty() ? std::nullopt
                                                      : decode_record(host.queue.front_record())) {
    info.host = queue_of(*url);
  }
  info.leased = host.leased;
  return info;
}

ShardStats ShardState::stats() {
  take_inbox();  // ends of leases not processed yet
  const SteadyTime now = options_.clock();
  while (!blocked_.empty() && blocked_.begin()->first <= now)
    blocked_.erase(blocked_.begin());
  return {.leased = leases_.leased(),
          .hosts = hosts_.size() + sleeping_.size(),
          .blocked = blocked_.size(),
          .given_up = given_up_,
          .leasable = leasable_ + sleeping_.size(),
          .waiting = waiting_ + sleeping_.size(),
          .leased_hosts = leases_.leased_hosts(),
          .next_turn = closed() ? SteadyTime::max() : next_turn_with_urls(),
          .expired = expired_,
          .late = late_,
          .repeated = repeated_,
          .memory = hosts_.bytes() + sleeping_.bytes() + groups_.capacity() * sizeof(HostGroups) +
                    leases_.bytes() + schedule_.bytes() + group_queues_.bytes() + heads_.bytes() +
                    reads_.bytes() + arrived_.size() * sizeof(HostIndex) +
                    bytes_of(sleeping_addresses_) + bytes_of(uncommitted_)};
}

}  // namespace trawl
