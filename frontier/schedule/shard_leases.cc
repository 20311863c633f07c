// ShardState: giving and expiring leases.
#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <utility>
#include <variant>

#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

using std::chrono::milliseconds;

// Expired leases are kept for late completions: as many as may be open, and at least this many.
constexpr std::size_t kLeastExpiredKept = 1024;
// Hosts that are read into the processor's caches together.
constexpr std::size_t kReadAtOnce = 64;

}  // namespace

ShardState::ShardState(ShardOptions options, ShardInbox& inbox)
    : inbox_(inbox),
      options_(std::move(options)),
      sleeping_(options_.shards),
      leases_(options_.first_lease, hosts_),
      schedule_(HostMoved{&hosts_}),
      group_queues_(options_.domains != nullptr ? options_.domains->delay() : milliseconds(0),
                    options_.addresses != nullptr ? options_.addresses->delay() : milliseconds(0),
                    hosts_),
      heads_(options_.max_head_bytes, hosts_),
      backoff_(options_.retry.host_backoff, options_.retry.max_host_backoff, options_.seed) {
  const bool rests_all = options_.restarted && !options_.in_ranges;
  for (GroupRateLimiter* const clocks : {options_.domains, options_.addresses}) {
    if (clocks != nullptr && rests_all) clocks->restarted(*options_.restarted);
  }
}

// With many hosts each is somewhere else in memory: they are read all at once, ahead.
void ShardState::prefetch(std::span<const HostId> ids) {
  std::array<HostId, kReadAtOnce> all;
  std::ranges::copy(ids, all.begin());
  const auto hosts = hosts_.prefetch(all, ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (hosts[i] != kNoHost && hosts_[hosts[i]].place == Host::Place::kScheduled)
      schedule_.prefetch(hosts_[hosts[i]].position);
  }
}

void ShardState::take_inbox() {
  InboxItem items[kReadAtOnce];
  while (const std::size_t n = inbox_.items.try_dequeue_bulk(items, kReadAtOnce)) {
    std::array<HostId, kReadAtOnce> ids;
    const auto host_of = [](const auto& item) -> HostId {
      if constexpr (requires { item.host; }) return item.host;
      return 0;
    };
    for (std::size_t i = 0; i < n; ++i)
      ids[i] = std::visit(host_of, items[i]);
    prefetch({ids.data(), n});
    for (std::size_t i = 0; i < n; ++i) {
      if (const auto* part = std::get_if<QueuedPart>(&items[i])) {
        add(*part);
        items[i] = EndedUrl{};  // its memory is not needed any more
        continue;
      }
      if (!is_here(ids[i])) continue;
      if (const auto* url = std::get_if<QueuedUrl>(&items[i])) {
        add(url->host, url->order, url->record);
      } else if (const auto* ended = std::get_if<EndedUrl>(&items[i])) {
        end_url(*ended);
      } else {
        note_saved(std::get<SavedHost>(items[i]));
      }
    }
  }
}

void ShardState::add(const QueuedPart& part) {
  const QueueRun::Part& of_run = part.get();
  inbox_.in_parts.fetch_sub(part.weight(), std::memory_order_relaxed);
  RunReader reader = part.run->read(of_run);
  std::array<RunUrl, kReadAtOnce> urls;
  std::array<HostId, kReadAtOnce> ids;
  [[maybe_unused]] std::size_t added = 0;
  for (std::size_t n = 0;; added += n) {
    n = 0;
    for (; n < kReadAtOnce; ++n) {
      const auto url = reader.next();
      if (!url) break;
      urls[n] = *url;
      ids[n] = url->host;
    }
    if (n == 0) break;
    prefetch({ids.data(), n});
    for (std::size_t i = 0; i < n; ++i) {
      if (is_here(ids[i])) add(ids[i], urls[i].order, urls[i].record);
    }
  }
  assert(added == of_run.urls);
}

void ShardState::add(HostId id, const QueueOrder& order, std::string_view record) {
  if (add_asleep(id)) return;
  HostIndex host = hosts_.find(id);
  if (host == kNoHost) {
    host = add_unread(id);
    arrived_.push_back(host);
  }
  ++hosts_[host].queued;
  if (leases_.is_taken(id, order.sequence)) {
    reschedule(host);  // it may have come into memory for this count alone
  } else {
    queue_url(host, order, record);
  }
}

// The host is in memory while it has URLs in the store: see forget_if_idle().
void ShardState::end_url(const EndedUrl& url) {
  leases_.forget_url(url.host, url.sequence);
  const HostIndex host = hosts_.find(url.host);
  if (host == kNoHost) return end_asleep(url.host);
  if (hosts_[host].head_under_way) reads_.note_ended(host, url.sequence);
  // What kept it in memory may be gone.
  if (--hosts_[host].queued == 0 && !hosts_[host].queue.has_urls()) reschedule(host);
}

Result<void> ShardState::lease(std::size_t max, std::vector<NumberedLease>& out) {
  if (closed()) return error(ErrorCode::kClosed, "the frontier is closed");
  const SteadyTime now = end_leases();
  if (error_) return tl::unexpected(*error_);
  return_ended_leases();
  handed_out_.clear();
  needs_read_ = false;
  read_first_ = kNoHost;
  while (handed_out_.size() < max) {
    // One at a time, so that other shards find leases while this one searches for a URL.
    if (options_.leases != nullptr && options_.leases->take(1) == 0) break;
    ++taken_;
    const HostIndex host = next_host(now);
    if (host == kNoHost) {
      needs_read_ = read_first_ != kNoHost || any_awaits_head();
      break;
    }
    assert(!hosts_[host].queue.head_empty());
    lease_from(host, now, out);
  }
  note_starts(now);
  return {};
}

void ShardState::count_ended_leases() {
  if (!closed()) end_leases();
}

SteadyTime ShardState::end_leases() {
  take_inbox();
  const SteadyTime now = look_at_clock();
  expire_leases(now);
  resume_stopped(now);
  return now;
}

SteadyTime ShardState::look_at_clock() {
  const SteadyTime now = options_.clock();
  last_now_ = std::max(last_now_, now);
  return now;
}

void ShardState::return_ended_leases() {
  if (taken_ <= leases_.leased()) return;
  if (options_.leases != nullptr) options_.leases->give_back(taken_ - leases_.leased());
  taken_ = leases_.leased();
}

void ShardState::lease_from(HostIndex i, SteadyTime now, std::vector<NumberedLease>& out) {
  // P1: a host is leased from only when its turn has come, which its last request sets.
  assert(may_lease(hosts_[i]) && next_start(hosts_[i]) <= now);
  assert(hosts_[i].queue.has_urls());
  const QueueOrder order = hosts_[i].queue.front();
  std::string record = heads_.pop_front(i);
  LeasedUrl url{{.host = hosts_[i].id, .order = order, .record = record},
                !groups_.empty() || delay_of(hosts_[i]).count() > 0};
  const LeaseIndex lease = leases_.open(i, order, std::move(record), now);
  leases_[lease].groups = groups_of(i);
  if (hosts_[i].turns < std::numeric_limits<std::uint8_t>::max()) ++hosts_[i].turns;
  handed_out_.push_back(lease);
  out.push_back({leases_[lease].number, std::move(url)});
  if (reads_.any_wanted()) ++passed_;
  const HostQueue& queue = hosts_[i].queue;
  if (!options_.deterministic && queue.has_rest() && !queue.head_empty() &&
      queue.head_urls() <= std::min(QueueHeadCache::kLowUrls, heads_.ahead_limit() / 4))
    want_head(i);
  reschedule(i);
}

void ShardState::hold_starts(std::span<const NumberedLease> leases) {
  for (const NumberedLease& lease : leases) {
    const LeaseIndex i = leases_.find(lease.number);
    if (i == kNoLease || leases_[i].state != LeaseSlot::State::kOpen) continue;
    const HostIndex host = leases_[i].host;
    if (delay_of(hosts_[host]).count() == 0) continue;
    leases_[i].held = true;
    reschedule(host);
  }
}

void ShardState::note_handed_out(std::span<const NumberedLease> leases) {
  const SteadyTime start = options_.clock();
  for (const NumberedLease& lease : leases) {
    const LeaseIndex i = leases_.find(lease.number);
    if (i == kNoLease || leases_[i].state != LeaseSlot::State::kOpen) continue;
    LeaseSlot& slot = leases_[i];
    slot.held = false;
    if (options_.domains != nullptr)
      options_.domains->note_start(slot.groups.domain, start, slot.since);
    if (options_.addresses != nullptr)
      options_.addresses->note_start(slot.groups.address, start, slot.since);
    slot.since = start;
    if (options_.lease_timeout.count() > 0) leases_.renew(i, start + options_.lease_timeout);
    reschedule(slot.host);
  }
}

// The requests start now at the earliest, which may be long after `assumed`, since the store was
// read.
void ShardState::note_starts(SteadyTime assumed) {
  if (handed_out_.empty()) return;
  const SteadyTime start = options_.clock();
  const bool expires = options_.lease_timeout.count() > 0;
  for (const LeaseIndex i : handed_out_) {
    leases_[i].since = start;
    leases_[i].expires = expires ? start + options_.lease_timeout : SteadyTime::max();
  }
  if (start == assumed) return;
  for (const LeaseIndex i : handed_out_) {
    const HostIndex host = leases_[i].host;
    const HostGroups groups = leases_[i].groups;
    if (options_.domains != nullptr) options_.domains->note_start(groups.domain, start, assumed);
    if (options_.addresses != nullptr)
      options_.addresses->note_start(groups.address, start, assumed);
    reschedule(host);
  }
}

SteadyTime ShardState::next_turn() const {
  const SteadyTime turn = group_queues_.next_turn();
  return schedule_.empty() ? turn : std::min(turn, schedule_.top().time);
}

bool ShardState::has_turn() {
  if (closed()) return false;
  if (any_awaits_head() || any_unread()) return true;
  const SteadyTime now = look_at_clock();  // so that no host is scheduled for this moment again
  resume_stopped(now);
  while (!schedule_.empty() && schedule_.top().time <= now) {
    const HostIndex host = schedule_.top().number;
    if (hosts_[host].queue.has_urls()) {
      if (options_.in_ranges && stops(host)) continue;
      return true;
    }
    take_turn(host, false, now);  // it is forgotten, or its turn comes later
  }
  return inbox_.items.size_approx() > 0 || group_queues_.next_turn() <= now || wake_time() <= now;
}

std::optional<SteadyTime> ShardState::next_due() const {
  if (inbox_.items.size_approx() > 0 || any_awaits_head() || any_unread()) return options_.clock();
  SteadyTime due = std::min({next_turn(), wake_time(), stopped_until_});
  if (const auto expiry = next_expiry()) due = std::min(due, *expiry);
  return due == SteadyTime::max() ? std::nullopt : std::optional(due);
}

std::optional<SteadyTime> ShardState::next_expiry() const {
  const LeaseIndex first = leases_.first_to_expire();
  if (first == kNoLease || leases_[first].expires == SteadyTime::max()) return std::nullopt;
  return leases_[first].expires;
}

// Puts the URLs back into their places. Whether the requests were made is unknown, so they count.
void ShardState::expire_leases(SteadyTime now) {
  for (;;) {
    const LeaseIndex first = leases_.first_to_expire();
    if (first == kNoLease || leases_[first].expires > now) break;
    const LeaseSlot& slot = leases_[first];
    assert(slot.state == LeaseSlot::State::kOpen);
    const HostIndex host = slot.host;
    const QueueOrder order = slot.order;
    ++expired_;
    hosts_[host].surely_started = std::max(hosts_[host].surely_started, slot.since);
    if (slot.url_ended) {
      leases_.remove(first);
      reschedule(host);
    } else {
      queue_url(host, order, leases_.expire(first));
    }
  }
  leases_.limit_expired(std::max(options_.max_expired, kLeastExpiredKept));
}

}  // namespace trawl
