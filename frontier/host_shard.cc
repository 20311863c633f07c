#include "frontier/host_shard.h"

#include <algorithm>
#include <iterator>
#include <utility>

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
        end_lease(std::get<std::uint64_t>(items[i]));
      }
    }
  }
}

void HostShard::add(QueuedUrl url) {
  if (lease_of_.contains(url.order.sequence)) return;
  HostQueue& host = host_queue(url.host);
  host.add(std::move(url), head_limit());
  schedule(host);
}

void HostShard::end_lease(std::uint64_t sequence) {
  const auto lease = lease_of_.extract(sequence);
  if (!lease.empty()) leases_.erase(lease.mapped());
}

HostQueue& HostShard::host_queue(const std::string& name) {
  const auto [it, is_new] = hosts_.try_emplace(name, name);
  if (is_new) it->second.surely_started = options_.restarted;
  return it->second;
}

std::size_t HostShard::head_limit() const {
  return hosts_.size() < kManyHosts ? kHeadLimit : kHeadLimitOfMany;
}

std::chrono::milliseconds HostShard::delay_of(const std::string& host) const {
  const auto own = own_delays_.find(host);
  return own != own_delays_.end() ? std::max(own->second, options_.delay) : options_.delay;
}

// A host without URLs is scheduled too: it is forgotten when its turn comes, and not before its
// delay has passed, lest a new URL be asked for too early. An entry that comes up too early is put
// back by next_host(); one that is too late is replaced here.
void HostShard::schedule(HostQueue& host) {
  if (host.leased >= options_.leases_per_host) return;
  const SteadyTime due = host.next_start(delay_of(host.name));
  if (host.ticket && host.scheduled_for <= due) return;
  host.ticket = next_ticket_++;
  host.scheduled_for = due;
  ++host.entries;
  schedule_.push({due, *host.ticket, &host});
}

// Takes the next host that is due off the schedule; null if none is.
HostQueue* HostShard::next_host(SteadyTime now) {
  while (!schedule_.empty() && schedule_.top().time <= now) {
    const ScheduleEntry entry = schedule_.top();
    schedule_.pop();
    HostQueue& host = *entry.host;
    --host.entries;
    if (host.ticket != entry.ticket) {
      forget_if_idle(host);
      continue;
    }
    host.ticket.reset();
    if (host.next_start(delay_of(host.name)) <= now) return &host;
    schedule(host);
  }
  return nullptr;
}

void HostShard::forget_if_idle(HostQueue& host) {
  if (host.entries == 0 && host.leased == 0 && !host.has_urls())
    hosts_.erase(hosts_.find(host.name));
}

void HostShard::restore_queue(std::vector<QueuedUrl> head, bool more) {
  const std::lock_guard lock(mutex_);
  HostQueue& host = host_queue(head.front().host);
  if (more) host.read_up_to = head.back().order;
  host.append(std::move(head));
  schedule(host);
}

bool HostShard::set_delay(const std::string& name, std::chrono::milliseconds delay) {
  const std::lock_guard lock(mutex_);
  const auto own = own_delays_.find(name);
  const bool known = own != own_delays_.end();
  if (delay == (known ? own->second : std::chrono::milliseconds(0))) return false;
  if (delay.count() > 0) {
    own_delays_[name] = delay;
  } else if (known) {
    own_delays_.erase(own);  // as with none of its own
  }
  if (const auto it = hosts_.find(name); it != hosts_.end()) schedule(it->second);
  return true;
}

Result<bool> HostShard::fill_head(HostQueue& host) {
  if (!host.head.empty()) return true;
  if (!host.read_up_to) return false;
  const std::size_t limit = head_limit();
  // Leased URLs may be behind `read_up_to`: one that was leased before URLs of a higher priority
  // pushed others out.
  auto urls = store_->read_queue(host.name, host.read_up_to, limit, [&](const QueueOrder& order) {
    return !lease_of_.contains(order.sequence);
  });
  if (!urls) return tl::unexpected(urls.error());
  if (urls->size() < limit) {
    host.read_up_to.reset();
  } else {
    host.read_up_to = urls->back().order;
  }
  host.append(std::move(*urls));
  return !host.head.empty();
}

Result<void> HostShard::lease(std::size_t max, std::vector<NumberedLease>& out) {
  const std::lock_guard lock(mutex_);
  if (store_ == nullptr) return fail(ErrorCode::kClosed, "the frontier is closed");
  take_inbox();
  max = std::min(max, options_.max_leases - std::min(options_.max_leases, leases_.size()));
  const SteadyTime now = options_.clock();
  const std::size_t first = out.size();
  while (out.size() - first < max) {
    HostQueue* host = next_host(now);
    if (host == nullptr) break;
    const auto filled = fill_head(*host);
    if (!filled) return tl::unexpected(filled.error());
    if (!*filled) {
      forget_if_idle(*host);
      continue;
    }
    auto node = host->head.extract(host->head.begin());
    const std::uint64_t number = next_lease_++;
    lease_of_.emplace(node.key().sequence, number);
    leases_.emplace(number, LeaseState{.url = node.mapped(), .since = now});
    host->open_starts.insert(now);
    out.push_back({number, std::move(node.mapped())});
    ++host->leased;
    if (host->has_urls()) schedule(*host);
  }
  // The requests start now at the earliest, which may be well after the store was read.
  const SteadyTime start = options_.clock();
  for (std::size_t i = first; i < out.size(); ++i) {
    leases_.at(out[i].number).since = start;
    HostQueue& host = hosts_.at(out[i].url.host);
    end_start(host, now);
    host.open_starts.insert(start);
  }
  return {};
}

std::optional<SteadyTime> HostShard::next_due() const {
  const std::lock_guard lock(mutex_);
  if (inbox_.size_approx() > 0) return options_.clock();
  if (schedule_.empty() || leases_.size() >= options_.max_leases) return std::nullopt;
  return schedule_.top().time;
}

void HostShard::close() {
  const std::lock_guard lock(mutex_);
  store_ = nullptr;
}

Result<HostShard::LeaseState*> HostShard::open_lease(std::uint64_t lease) {
  const auto it = leases_.find(lease);
  if (it == leases_.end() || it->second.ended) {
    return fail(ErrorCode::kNotFound,
                "the lease is not open: it was completed or released before, or it is of an "
                "earlier run");
  }
  return &it->second;
}

void HostShard::end_start(HostQueue& host, SteadyTime start) {
  host.open_starts.erase(host.open_starts.find(start));
}

void HostShard::note_request(HostQueue& host, const LeaseState& lease,
                             std::chrono::milliseconds started_after) {
  const auto after = std::clamp(started_after, std::chrono::milliseconds(0), kMaxDelay);
  host.surely_started = std::max(host.surely_started, std::optional(lease.since + after));
}

Result<QueuedUrl> HostShard::begin_completion(std::uint64_t number, const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  const auto lease = open_lease(number);
  if (!lease) return tl::unexpected(lease.error());
  LeaseState& state = **lease;
  state.ended = true;
  HostQueue& host = hosts_.at(state.url.host);
  end_start(host, state.since);
  if (outcome.requested) note_request(host, state, outcome.started_after);
  --host.leased;
  schedule(host);
  return state.url;
}

Result<void> HostShard::release(std::uint64_t number, std::optional<SteadyTime> next_start,
                                std::chrono::milliseconds started_after) {
  const std::lock_guard lock(mutex_);
  const auto lease = open_lease(number);
  if (!lease) return tl::unexpected(lease.error());
  const LeaseState state = std::move(**lease);
  end_lease(state.url.order.sequence);
  HostQueue& host = hosts_.at(state.url.host);
  end_start(host, state.since);
  if (next_start) {  // the host was asked for something else meanwhile, or is to be left alone
    host.not_before = std::max(host.not_before, *next_start);
    note_request(host, state, started_after);
  }
  --host.leased;
  add(state.url);
  schedule(host);
  return {};
}

std::size_t HostShard::leased() {
  const std::lock_guard lock(mutex_);
  take_inbox();  // ends of leases that nobody has looked at yet
  return leases_.size();
}

std::size_t HostShard::hosts() const {
  const std::lock_guard lock(mutex_);
  return hosts_.size();
}

}  // namespace trawl
