// HostShard: the calls that read the store, which they do without the mutex.
#include "frontier/schedule/host_shard.h"

#include <span>

namespace trawl {

namespace {

// Hosts that a call of lease() wakes, at most, and some more: the next call goes on.
constexpr std::size_t kMostWoken = 256;
// Hosts that came into memory and whose records are read though others may be due: otherwise those
// would have several turns before their first.
constexpr std::size_t kMostArrivals = 1024;

}  // namespace

// What is read is this thread's alone, and close() waits for it. Others find its hosts marked.
template <class Read>
Result<void> HostShard::read_store(const std::function<void()>& after_read, Read&& read) {
  state_.return_ended_leases();
  ++reads_;
  Result<void> done;
  const SteadyTime since = state_.now();
  {
    const MutexUnlock unlocked(mutex_);
    done = read();
    if (after_read) after_read();
  }
  state_.note_standstill(since);
  --reads_;
  read_ended_.notify_all();
  return done;
}

Result<void> HostShard::read_heads(HeadRead& read) {
  auto done = read_store(after_read_, [&] { return store_.read_queues_at_once(read.queues); });
  const bool failed = !done && !state_.lost_any(read);
  state_.end_read(read, done.has_value());
  return failed ? done : Result<void>{};
}

Result<void> HostShard::read_records(RecordRead& read) {
  auto done = read_store(after_record_read_, [&] { return store_.read_hosts(read.records); });
  const bool failed = !done && !state_.lost_any(read);
  state_.end_records(read, done.has_value());
  return failed ? done : Result<void>{};
}

Result<void> HostShard::learn_record(HostId host) {
  while (!state_.is_here(host) || !state_.is_known(host)) {
    if (!state_.is_here(host)) {
      return error(ErrorCode::kUnavailable,
                   "the host's bucket does not belong to this crawler now: ask again later");
    }
    if (state_.closed()) return error(ErrorCode::kClosed, "the frontier is closed");
    if (RecordRead read = state_.begin_record_of(host); read.empty()) {
      read_ended_.wait(mutex_);
    } else if (auto done = read_records(read); !done) {
      return done;
    }
  }
  return {};
}

Result<void> HostShard::try_learn_record(HostId host) {
  auto done = learn_record(host);
  if (!done && state_.is_here(host)) state_.fail(done.error());
  return done;
}

Result<void> HostShard::lease(std::size_t max, std::vector<NumberedLease>& out) {
  const std::size_t before = out.size();
  const auto given = [&] { return std::span(out).subspan(before); };
  const MutexLock lock(mutex_);
  Result<void> done;
  // First, as the requests of what is leased are to start at once.
  for (std::size_t hosts = 0; done && hosts < kMostArrivals;) {
    RecordRead arrived = state_.begin_arrivals();
    if (arrived.empty()) break;
    hosts += arrived.hosts.size();
    done = read_records(arrived);
  }
  std::size_t woken_hosts = 0;
  if (done) {
    RecordRead woken = state_.begin_waking();
    woken_hosts = woken.hosts.size();
    if (!woken.empty()) done = read_records(woken);
  }
  if (done) {
    if (HeadRead ahead = state_.begin_read_ahead(); !ahead.empty()) done = read_heads(ahead);
  }
  bool held = false;
  // What is leased already waits for a read.
  const auto hold = [&] {
    mutex_.assert_held();
    held |= !given().empty();
    state_.hold_starts(given());
  };
  while (done) {
    done = state_.lease(max - given().size(), out);
    if (!done || given().size() == max) break;
    if (HeadRead heads = state_.begin_needed_read(); !heads.empty()) {
      hold();
      done = read_heads(heads);
    } else if (RecordRead arrived = state_.begin_arrivals(); !arrived.empty()) {
      hold();
      done = read_records(arrived);
    } else if (RecordRead woken = woken_hosts < kMostWoken ? state_.begin_waking() : RecordRead();
               !woken.empty()) {
      woken_hosts += woken.hosts.size();
      hold();
      done = read_records(woken);
    } else if (given().empty() && (state_.waits_for_reads() || state_.reads_records())) {
      // Another thread reads the heads of all hosts that are due, or records.
      state_.return_ended_leases();
      read_ended_.wait(mutex_);
    } else {
      break;
    }
  }
  if (held) {
    state_.take_back(out, before);
    state_.note_handed_out(given());
  }
  state_.return_ended_leases();
  return done;
}

void HostShard::set_address(HostId host, std::string_view address) {
  const MutexLock lock(mutex_);
  const Settling settling{state_};
  if (!state_.knows_addresses() || state_.closed()) return;
  if (try_learn_record(host)) state_.set_address(host, address);
}

Result<void> HostShard::begin_drop(HostId host) {
  const MutexLock lock(mutex_);
  const Settling settling{state_};
  auto known = try_learn_record(host);
  if (known) state_.begin_drop(host);
  return known;
}

void HostShard::end_drop(HostId host, std::uint64_t dropped) {
  const MutexLock lock(mutex_);
  state_.end_drop(host, dropped);
  for (;;) {
    if (HeadRead read = state_.begin_read_of(host); !read.empty()) {
      if (auto done = read_heads(read); !done) return state_.fail(done.error());
      if (read.queues.front().away) break;  // read when it is to be leased from
    } else if (state_.reads_head_of(host)) {
      read_ended_.wait(mutex_);
    } else {
      break;
    }
  }
  state_.return_ended_leases();
}

std::optional<HostInfo> HostShard::info(HostId host) {
  const MutexLock lock(mutex_);
  const Settling settling{state_};
  state_.take_inbox();
  if (state_.is_unread(host) && !try_learn_record(host)) return std::nullopt;
  return state_.info(host);
}

std::optional<HostCounts> HostShard::counts(HostId host) {
  const MutexLock lock(mutex_);
  const Settling settling{state_};
  state_.take_inbox();
  if (!state_.is_present(host) || !try_learn_record(host)) return std::nullopt;
  return state_.counts(host);
}

// Only a late completion needs the store: its host may sleep, and its URL is not in memory.
Result<EndedLease> HostShard::begin_completion(std::uint64_t lease, const Outcome& outcome) {
  const MutexLock lock(mutex_);
  const Settling settling{state_};
  const auto learn_host = [&]() -> Result<void> {
    mutex_.assert_held();
    const auto host = state_.late_host(lease);
    if (!host) return {};
    auto done = learn_record(*host);
    return done || state_.late_host(lease) ? done : Result<void>{};
  };
  if (auto done = learn_host(); !done) return tl::unexpected(done.error());
  std::optional<std::string> record;
  if (const auto late = state_.late_record(lease)) {
    if (state_.closed()) return error(ErrorCode::kClosed, "the frontier is closed");
    HostQueue from_there;
    from_there.set_rest_from(late->order);
    QueueRead read{.host = late->host, .after = from_there.rest_after(), .limit = 1};
    auto done = read_store(after_read_, [&] { return store_.read_queues(std::span(&read, 1)); });
    if (!done && !state_.late_host(lease)) done = {};  // it was forgotten
    if (done) done = learn_host();                     // it may sleep again
    if (!done) return tl::unexpected(done.error());
    if (!read.urls.empty() && read.urls.front().order == late->order)
      record = std::move(read.urls.front().record);
  }
  return state_.begin_completion(lease, outcome, record);
}

void HostShard::forget_hosts(const HostRange& range) {
  if (!locked(&ShardState::begin_forgetting, range)) return;
  in_parts(kForgottenAtOnce, [&](LeaseIndex from) {
    return locked(&ShardState::forget_leases, range, from, kForgottenAtOnce);
  });
  in_parts(kForgottenAtOnce, [&](HostIndex from) {
    return locked(&ShardState::forget_some, range, from, kForgottenAtOnce);
  });
  for (std::size_t table = 0; table < SleepingHosts::kTables; ++table)
    locked(&ShardState::forget_sleeping, range, table);
  locked(&ShardState::end_forgetting, range);
}

std::size_t HostShard::leased_in(const HostRange& range) {
  std::size_t leases = 0;
  in_parts(kHostsAtOnce, [&](LeaseIndex from) {
    return locked(&ShardState::count_leases, range, from, kHostsAtOnce, leases);
  });
  return leases;
}

void HostShard::close() {
  const MutexLock lock(mutex_);
  state_.close();
  while (reads_ > 0)
    read_ended_.wait(mutex_);
}

}  // namespace trawl
