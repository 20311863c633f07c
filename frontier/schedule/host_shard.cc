// HostShard: the calls that read the store, which they do without the mutex.
#include "frontier/schedule/host_shard.h"

#include <span>

namespace trawl {

namespace {

// Hosts that a call of lease() wakes, at most, and some more: the next call goes on.
constexpr std::size_t kMostWoken = 256;

}  // namespace

// `read` is this thread's alone, and close() waits for it. Others find its hosts marked.
Result<void> HostShard::read_heads(HeadRead& read) {
  state_.return_ended_leases();
  mutex_.unlock();
  auto done = store_.read_queues(read.queues);
  if (after_read_) after_read_();
  mutex_.lock();
  state_.end_read(read, done.has_value());
  read_ended_.notify_all();
  return done;
}

// The same for the records of hosts.
Result<void> HostShard::wake_hosts(WakeRead& read) {
  state_.return_ended_leases();
  mutex_.unlock();
  Result<void> done;
  for (WakeRead::Host& host : read.hosts) {
    auto record = store_.host(host.id);
    if (!record) {
      done = tl::unexpected(record.error());
      break;
    }
    host.record = std::move(*record);
  }
  mutex_.lock();
  state_.end_waking(read, done.has_value());
  read_ended_.notify_all();
  return done;
}

Result<void> HostShard::lease(std::size_t max, std::vector<NumberedLease>& out) {
  const std::size_t before = out.size();
  const auto given = [&] { return std::span(out).subspan(before); };
  const MutexLock lock(mutex_);
  Result<void> done;
  // First, as the requests of what is leased are to start at once.
  std::size_t woken_hosts = 0;
  if (WakeRead woken = state_.begin_waking(); !woken.empty()) {
    woken_hosts += woken.hosts.size();
    done = wake_hosts(woken);
  }
  if (done) {
    if (HeadRead ahead = state_.begin_read_ahead(); !ahead.empty()) done = read_heads(ahead);
  }
  bool held = false;
  while (done) {
    done = state_.lease(max - given().size(), out);
    if (!done || given().size() == max) break;
    HeadRead read = state_.begin_needed_read();
    if (!read.empty()) {
      held |= !given().empty();
      state_.hold_starts(given());
      done = read_heads(read);
    } else if (WakeRead woken = woken_hosts < kMostWoken ? state_.begin_waking() : WakeRead();
               !woken.empty()) {
      woken_hosts += woken.hosts.size();
      held |= !given().empty();
      state_.hold_starts(given());
      done = wake_hosts(woken);
    } else if (given().empty() && (state_.waits_for_reads() || state_.is_waking())) {
      // Another thread reads the heads of all hosts that are due, or wakes hosts.
      state_.return_ended_leases();
      read_ended_.wait(mutex_);
    } else {
      break;
    }
  }
  if (held) state_.note_handed_out(given());
  state_.return_ended_leases();
  return done;
}

void HostShard::end_drop(HostId host, std::uint64_t dropped) {
  const MutexLock lock(mutex_);
  state_.end_drop(host, dropped);
  for (;;) {
    if (HeadRead read = state_.begin_read_of(host); !read.empty()) {
      if (auto done = read_heads(read); !done) return state_.fail(done.error());
    } else if (state_.reads_head_of(host)) {
      read_ended_.wait(mutex_);
    } else {
      break;
    }
  }
  state_.return_ended_leases();
}

Result<EndedLease> HostShard::begin_completion(std::uint64_t lease, const Outcome& outcome) {
  const MutexLock lock(mutex_);
  std::optional<std::string> record;
  if (const auto late = state_.late_record(lease)) {
    if (state_.closed()) return error(ErrorCode::kClosed, "the frontier is closed");
    HostQueue from_there;
    from_there.set_rest_from(late->order);
    QueueRead read{.host = late->host, .after = from_there.rest_after(), .limit = 1};
    ++single_reads_;
    mutex_.unlock();
    auto done = store_.read_queues(std::span(&read, 1));
    if (after_read_) after_read_();
    mutex_.lock();
    --single_reads_;
    read_ended_.notify_all();
    if (!done) return tl::unexpected(done.error());
    if (!read.urls.empty() && read.urls.front().order == late->order)
      record = std::move(read.urls.front().record);
  }
  auto ended = state_.begin_completion(lease, outcome, record);
  state_.return_ended_leases();
  return ended;
}

void HostShard::close() {
  const MutexLock lock(mutex_);
  state_.close();
  while (state_.reads_under_way() + single_reads_ > 0 || state_.is_waking())
    read_ended_.wait(mutex_);
}

}  // namespace trawl
