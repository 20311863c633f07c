#include "frontier/host_shard.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace trawl {

namespace {

// URLs of a host kept in memory, and read from the store at once.
constexpr std::size_t kHeadLimit = 64;
// With very many hosts each keeps fewer, so that the heads together stay bounded.
constexpr std::size_t kHeadLimitOfMany = 4;
constexpr std::size_t kManyHosts = 20'000;
constexpr std::size_t kLongInbox = 4096;

}  // namespace

void HostShard::relieve_inbox() {
  if (inbox_.size_approx() < kLongInbox) return;
  const std::lock_guard lock(mutex_);
  take_inbox();
}

void HostShard::take_inbox() {
  InboxItem items[64];
  while (const std::size_t n = inbox_.try_dequeue_bulk(items, std::size(items))) {
    for (std::size_t i = 0; i < n; ++i) {
      if (auto* url = std::get_if<QueuedUrl>(&items[i])) {
        add(std::move(*url));
      } else {
        leases_.erase(std::get<std::uint64_t>(items[i]));
      }
    }
  }
}

void HostShard::add(QueuedUrl url) {
  if (leases_.contains(url.order.sequence)) return;
  HostQueue& host = host_queue(url.host);
  host.add(std::move(url), hosts_.size() < kManyHosts ? kHeadLimit : kHeadLimitOfMany);
  schedule(host);
}

HostQueue& HostShard::host_queue(const std::string& name) {
  const auto [it, is_new] = hosts_.try_emplace(name, name);
  if (is_new && options_.restarted) {
    it->second.next_start = *options_.restarted + delay_of(name);
  }
  return it->second;
}

std::chrono::milliseconds HostShard::delay_of(const std::string& host) const {
  const auto own = own_delays_.find(host);
  return own != own_delays_.end() ? own->second : options_.delay;
}

// A host without URLs is scheduled too, once: it is forgotten when its turn comes, and not before
// its delay has passed, lest a new URL be asked for too early.
void HostShard::schedule(HostQueue& host) {
  if (host.scheduled || host.leased >= options_.leases_per_host) return;
  host.scheduled = true;
  schedule_.push({host.next_start, next_ticket_++, &host});
}

void HostShard::restore_queue(std::vector<QueuedUrl> head, bool more) {
  const std::lock_guard lock(mutex_);
  HostQueue& host = host_queue(head.front().host);
  if (more) host.read_up_to = head.back().order;
  for (auto& url : head) {
    const QueueOrder order = url.order;
    host.head.emplace(order, std::move(url));
  }
  schedule(host);
}

void HostShard::set_delay(const std::string& name, std::chrono::milliseconds delay) {
  const std::lock_guard lock(mutex_);
  const auto before = delay_of(name);
  own_delays_[name] = delay;
  // The request before this one started a full old delay ahead of next_start.
  if (const auto it = hosts_.find(name);
      it != hosts_.end() && it->second.next_start != SteadyTime{}) {
    it->second.next_start += delay - before;
  }
}

Result<bool> HostShard::fill_head(HostQueue& host) {
  if (!host.head.empty()) return true;
  if (!host.read_up_to) return false;
  auto urls = store_->read_queue(
      host.name, host.read_up_to, kHeadLimit,
      [&](const QueueOrder& order) { return !leases_.contains(order.sequence); });
  if (!urls) return tl::unexpected(urls.error());
  if (urls->size() < kHeadLimit) {
    host.read_up_to.reset();
  } else {
    host.read_up_to = urls->back().order;
  }
  for (auto& url : *urls) {
    const QueueOrder order = url.order;
    host.head.emplace(order, std::move(url));
  }
  return !host.head.empty();
}

Result<void> HostShard::lease(std::size_t max, SteadyTime now, std::vector<QueuedUrl>& out) {
  const std::lock_guard lock(mutex_);
  if (store_ == nullptr) return fail(ErrorCode::kClosed, "the frontier is closed");
  take_inbox();
  max = std::min(max, options_.max_leases - std::min(options_.max_leases, leases_.size()));
  for (std::size_t given = 0; given < max && !schedule_.empty() && schedule_.top().time <= now;) {
    HostQueue& host = *schedule_.top().host;
    schedule_.pop();
    host.scheduled = false;
    if (host.next_start > now) {  // its delay was raised meanwhile
      schedule(host);
      continue;
    }
    const auto filled = fill_head(host);
    if (!filled) {
      schedule(host);
      return tl::unexpected(filled.error());
    }
    if (!*filled) {
      if (host.leased == 0) hosts_.erase(hosts_.find(host.name));
      continue;
    }
    auto node = host.head.extract(host.head.begin());
    ++host.leased;
    const SteadyTime start_before = std::exchange(host.next_start, now + delay_of(host.name));
    if (host.has_urls()) schedule(host);
    leases_.emplace(node.key().sequence, LeaseState{.url = node.mapped(),
                                                    .since = now,
                                                    .start_before = start_before,
                                                    .start_after = host.next_start});
    out.push_back(std::move(node.mapped()));
    ++given;
  }
  return {};
}

std::optional<SteadyTime> HostShard::next_due() const {
  const std::lock_guard lock(mutex_);
  if (inbox_.size_approx() > 0) return SteadyTime::min();
  if (schedule_.empty() || leases_.size() >= options_.max_leases) return std::nullopt;
  return schedule_.top().time;
}

void HostShard::close() {
  const std::lock_guard lock(mutex_);
  store_ = nullptr;
}

Result<HostShard::LeaseState*> HostShard::open_lease(std::uint64_t sequence) {
  const auto it = leases_.find(sequence);
  if (it == leases_.end() || it->second.ended) {
    return fail(ErrorCode::kNotFound,
                "the lease is not open: it was completed or released before, or it is of an "
                "earlier run");
  }
  return &it->second;
}

void HostShard::free_place(HostQueue& host) {
  --host.leased;
  schedule(host);
}

// No request was made after all: unless others were made since, the host is as it was.
void HostShard::undo_start(HostQueue& host, const LeaseState& lease) {
  if (host.next_start == lease.start_after) host.next_start = lease.start_before;
}

Result<QueuedUrl> HostShard::begin_completion(std::uint64_t sequence, const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  const auto lease = open_lease(sequence);
  if (!lease) return tl::unexpected(lease.error());
  LeaseState& state = **lease;
  state.ended = true;
  HostQueue& host = hosts_.at(state.url.host);
  if (outcome.requested) {
    const SteadyTime start = state.since + outcome.started_after;
    host.next_start = std::max(host.next_start, start + delay_of(host.name));
  } else {
    undo_start(host, state);
  }
  free_place(host);
  return state.url;
}

Result<void> HostShard::release(std::uint64_t sequence, std::optional<SteadyTime> next_start) {
  const std::lock_guard lock(mutex_);
  const auto lease = open_lease(sequence);
  if (!lease) return tl::unexpected(lease.error());
  const LeaseState state = std::move(**lease);
  leases_.erase(sequence);
  HostQueue& host = hosts_.at(state.url.host);
  if (next_start) {
    host.next_start = std::max(host.next_start, *next_start);
  } else {
    undo_start(host, state);
  }
  --host.leased;
  add(state.url);
  return {};
}

std::size_t HostShard::leased() const {
  const std::lock_guard lock(mutex_);
  return leases_.size();
}

std::size_t HostShard::hosts() const {
  const std::lock_guard lock(mutex_);
  return hosts_.size();
}

}  // namespace trawl
