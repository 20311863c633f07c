// ShardState: reads of the heads of host queues. head_reads.h shows that they lose nothing.
//
// A read costs a seek in each of the store's tables, whatever it returns. So a host gets many URLs
// at once, and several hosts are read together. Hosts that wait for a read are held back until
// there are enough of them, and until there is room for what they get, as long as others can be
// leased from: with more hosts than there is room for, those in memory are served first, and then
// the next. If there are none, as with delays, the hosts that are due get their shares, however
// small.
#include <algorithm>
#include <cassert>

#include "frontier/schedule/shard_state.h"

namespace trawl {

namespace {

// Leases given before a host that waits is read together with however few others.
constexpr std::size_t kMostPassed = 256;
// ... and is read though there is no room: URLs of hosts that are not due may take it.
constexpr std::size_t kMostHeldBack = 16'384;

}  // namespace

void ShardState::want_head(HostIndex i) {
  Host& host = hosts_[i];
  if (host.wants_head || host.head_under_way) return;
  if (!reads_.any_wanted()) passed_ = 0;
  host.wants_head = true;
  reads_.want(i);
}

// Off the schedule until its head was read: see reschedule().
void ShardState::await_head(HostIndex i) {
  assert(hosts_[i].place == Host::Place::kNowhere && hosts_[i].queue.head_empty());
  want_head(i);
  if (!hosts_[i].awaits_head) ++(hosts_[i].head_under_way ? awaiting_read_ : awaiting_);
  hosts_[i].awaits_head = true;
}

void ShardState::stop_awaiting_head(Host& host) {
  if (!host.awaits_head) return;
  --(host.head_under_way ? awaiting_read_ : awaiting_);
  host.awaits_head = false;
}

void ShardState::begin_read(HostIndex i, std::size_t limit, HeadRead& read) {
  Host& host = hosts_[i];
  assert(host.queue.has_rest() && !host.head_under_way && host.drops == 0);
  if (host.awaits_head) {
    --awaiting_;
    ++awaiting_read_;
  }
  host.wants_head = false;
  host.head_under_way = true;
  reads_.begin(i);
  const std::size_t urls = limit - std::min(limit - 1, host.queue.head_urls());
  read.parts.push_back({.host = i, .queue = static_cast<std::uint32_t>(read.queues.size())});
  read.queues.push_back({.host = host.id,
                         .after = host.queue.rest_after(),
                         .limit = urls,
                         .max_bytes = heads_.most_read(urls)});
}

// Begins the reads of up to `hosts` hosts that wait.
void ShardState::begin_wanted(std::size_t hosts, std::size_t limit, HeadRead& read) {
  while (read.parts.size() < hosts && reads_.any_wanted()) {
    const HostIndex i = reads_.take_wanted();
    if (i >= hosts_.end() || !hosts_[i].wants_head) continue;  // forgotten, or read alone
    Host& host = hosts_[i];
    if (host.queue.has_rest() && host.drops == 0 && host.queue.head_urls() < limit &&
        may_read_now(host.id)) {
      begin_read(i, limit, read);
    } else {
      host.wants_head = false;
      if (!host.awaits_head) continue;
      stop_awaiting_head(host);
      if (!options_.in_ranges || !host.queue.has_urls() || !stops(i)) reschedule(i);
    }
  }
  passed_ = 0;
  std::vector<std::uint32_t> order(read.queues.size());
  for (std::uint32_t n = 0; n < order.size(); ++n)
    order[n] = n;
  std::ranges::sort(order, {}, [&](std::uint32_t n) { return read.queues[n].host; });
  std::vector<QueueRead> sorted;
  sorted.reserve(order.size());
  for (std::uint32_t n = 0; n < order.size(); ++n) {
    sorted.push_back(std::move(read.queues[order[n]]));
    read.parts[order[n]].queue = n;
  }
  read.queues = std::move(sorted);
  read.reserved = heads_.reserve(read.parts.size(), limit);
}

HeadRead ShardState::begin_read_ahead() {
  HeadRead read;
  if (closed() || options_.deterministic || !reads_.any_wanted()) return read;
  const bool is_late = passed_ >= kMostPassed;
  if (!is_late && reads_.wanted() < QueueHeadCache::kHostsAtOnce) return read;
  const std::size_t limit = heads_.ahead_limit();
  const std::size_t fit = heads_.hosts_that_fit(limit);
  if (passed_ >= kMostHeldBack && fit == 0) {
    const std::size_t least = heads_.read_limit();
    begin_wanted(heads_.hosts_that_must_fit(least), least, read);
    return read;
  }
  if (fit == 0 || (!is_late && fit < QueueHeadCache::kHostsAtOnce)) return read;
  read.is_ahead = true;
  begin_wanted(std::min(fit, QueueHeadCache::kHostsAtOnce), limit, read);
  return read;
}

HeadRead ShardState::begin_needed_read() {
  HeadRead read;
  const bool one_first = read_first_ != kNoHost && !hosts_[read_first_].head_under_way;
  if (closed() || !needs_read_ || (!one_first && awaiting_ == 0)) return read;
  if (options_.deterministic) {
    begin_read(read_first_, heads_.read_limit(), read);
    return read;
  }
  std::size_t limit = heads_.ahead_limit();
  std::size_t hosts = std::min(heads_.hosts_that_fit(limit), QueueHeadCache::kHostsAtOnce);
  read.is_ahead = hosts > 0;
  if (hosts == 0) {
    limit = heads_.read_limit();
    hosts = heads_.hosts_that_must_fit(limit);
  }
  if (one_first) begin_read(read_first_, limit, read);
  begin_wanted(hosts, limit, read);
  return read;
}

HeadRead ShardState::begin_read_of(HostId id) {
  HeadRead read;
  const HostIndex i = hosts_.find(id);
  if (closed() || i == kNoHost) return read;
  const Host& host = hosts_[i];
  if (!host.queue.head_empty() || !host.queue.has_rest() || host.head_under_way || host.drops > 0)
    return read;
  const std::size_t limit = heads_.read_limit();
  begin_read(i, limit, read);
  read.reserved = heads_.reserve(1, limit);
  return read;
}

bool ShardState::reads_head_of(HostId id) const {
  const HostIndex i = hosts_.find(id);
  return i != kNoHost && hosts_[i].head_under_way;
}

void ShardState::end_read(HeadRead& read, bool succeeded) {
  heads_.unreserve(read.reserved);
  for (const HeadRead::Part& part : read.parts) {
    QueueRead& queue = read.queues[part.queue];
    if (queue.away) put_off_reads(queue.host);
    end_read_of(part.host, queue, read.is_ahead, succeeded && !queue.away);
    if (hosts_[part.host].gone) {
      remove_if_read(part.host);
    } else {
      reschedule(part.host);
    }
  }
}

void ShardState::end_read_of(HostIndex i, QueueRead& read, bool is_ahead, bool succeeded) {
  Host& host = hosts_[i];
  assert(host.id == read.host && host.head_under_way);
  stop_awaiting_head(host);
  host.head_under_way = false;
  HeadReads::Changes changes = reads_.end(i);
  if (!succeeded || host.gone) return;
  if (options_.forget_changes) options_.forget_changes(changes);
  HeadReads::merge(host.queue, read, changes);
  // Leased URLs may be in the rest, if URLs of higher priority pushed others out of the head.
  std::erase_if(read.urls, [&](const QueuedUrl& url) {
    return leases_.is_taken(read.host, url.order.sequence);
  });
  if (!read.urls.empty()) heads_.refill(i, read.urls, is_ahead);
}

}  // namespace trawl
