// HostShard: the host queues of one shard, and the schedule of their hosts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "trawl/lease.h"

#include "base/mutex.h"
#include "frontier/schedule/shard_state.h"

namespace trawl {

// Thread-safe. Its mutex is uncontended while one thread leases from the shard: the committer only
// pushes into the inbox, and asks for the records of changed hosts. When the inbox grows long
// because no thread leases, those that offer URLs take the mutex. When leases run out, other
// shards' threads count the ended leases here.
//
// The inbox is in commit order, since one thread at a time pushes, that which commits: a URL's
// admission comes before the end of its lease. If a URL is read from the store before its admission
// is taken from the inbox, the admission then finds it in its host's head or among the leases, and
// does not queue it twice.
//
// The store is read without the mutex: head_reads.h and shard_records.cc show why nothing is lost.
// A thread that leases reads for all; one that finds no due host but those that another reads for
// waits for it.
class HostShard {
 public:
  HostShard(const ShardReads& store, ShardOptions options)
      : store_(store),
        after_read_(options.after_read),
        after_record_read_(options.after_record_read),
        state_(std::move(options), inbox_) {}

  // Called by the committer with what has become durable. push_ended: a leased URL has left its
  // place in the queue: it is completed or deferred. push_saved: once for each record_of(), before
  // the end of a lease that was committed with it.
  void push_admitted(QueuedUrl url) { inbox_.push(std::move(url)); }
  void push_part(const std::shared_ptr<const QueueRun>& run, std::uint32_t part) {
    QueuedPart item{.run = run, .part = part};
    inbox_.in_parts.fetch_add(item.weight(), std::memory_order_relaxed);
    inbox_.push(std::move(item));
  }
  void push_ended(HostId host, std::uint64_t sequence) {
    inbox_.push(EndedUrl{.host = host, .sequence = sequence});
  }
  void push_saved(HostId host) { inbox_.push(SavedHost{.host = host}); }
  // Processes the inbox; leases that ended no longer count.
  void take_inbox() { locked(&ShardState::take_inbox); }
  // So that memory stays bounded while no thread leases, the threads that offer URLs process it.
  bool has_long_inbox() const noexcept { return inbox_.size_approx() >= kLongInbox; }
  // Nothing while another thread has the mutex, or if the inbox is short.
  void relieve_inbox() {
    if (!has_long_inbox() || !mutex_.try_lock()) return;
    {
      const Settling settling{state_};
      state_.take_inbox();
    }
    mutex_.unlock();
  }
  // Processes the inbox and expires leases; leases that ended no longer count.
  void count_ended_leases() { locked(&ShardState::count_ended_leases); }
  // The record to store for a host when its change number `change` is committed (by default all
  // changes): the result of this change and those committed before. A default record: delete the
  // stored one. Absent: the stored record is right, since the host was forgotten. A host whose
  // record changed (EndedLease::host_changed, change_host()) stays in memory until this was called
  // for each of its changes, and push_saved() after it, so that none is lost.
  std::optional<HostRecord> record_of(HostId host,
                                      std::uint64_t change = PendingHostChanges::kEvery) {
    return locked(&ShardState::record_of, host, change);
  }

  // For recovery: adds a host with URLs in the store. `first` are the first of them; `record` is
  // the stored record, if any. Unless the queue is whole, add_counted() must follow, with the
  // number of the host's URLs in the store at this time; the host stays in memory until then.
  void restore_host(HostId host, const std::optional<HostRecord>& record,
                    const QueueBeginning& queue = {}) {
    locked(&ShardState::restore_host, host, record, queue);
  }

  // From begin_restore() to end_restore() hosts are restored in ascending order, and any other call
  // may come in between. Those that are not restored yet may have URLs in the store that are not
  // counted.
  void begin_restore() { locked(&ShardState::begin_restore); }
  void end_restore() { locked(&ShardState::end_restore); }

  // Ranges of hosts, the buckets of a shared frontier, if ShardOptions::in_ranges. They come and go
  // while other calls are made; those for hosts that the shard does not have find nothing, and
  // those that need such a host's record return kUnavailable. A range is taken and forgotten as a
  // whole, and no two ranges overlap.
  //
  // begin_taking(): the shard has the hosts from now on. P1: none of their requests starts before
  // `since` and the delay of the host, of its domain, and of its address. Then the hosts with URLs
  // are restored in ascending order, and end_taking() follows; other calls may come in between, but
  // no push_admitted() for the range. What was begun before an earlier forget_hosts() must not be
  // pushed afterwards.
  void begin_taking(const HostRange& range, SteadyTime since) {
    locked(&ShardState::begin_taking, range, since);
  }
  void end_taking(const HostRange& range) { locked(&ShardState::end_taking, range); }
  // Forgets the range's hosts and leases; what was pushed before is dropped. A lease that was open
  // counts as ended: begin_completion() and begin_failure() answer kRepeated. Nothing, if the shard
  // does not have the range. Other threads get the mutex in between. Changes of records that are
  // not durable are lost, as is what was pushed for the range.
  void forget_hosts(const HostRange& range);
  // Open leases of the range, including those whose end is not durable. Exact while may_lease() is
  // false for it: then none is added.
  std::size_t leased_in(const HostRange& range);

  // Leases up to `max` URLs whose hosts are due, and appends them to `out`.
  Result<void> lease(std::size_t max, std::vector<NumberedLease>& out);
  // Open leases, including those whose end is not durable.
  std::size_t leased() const { return locked(&ShardState::leased); }
  // Whether a host is due, ignoring max_open_leases. Forgets idle hosts.
  bool has_turn() { return locked(&ShardState::has_turn); }
  // When lease() may next return something, ignoring max_open_leases; includes expiries.
  std::optional<SteadyTime> next_due() const { return locked(&ShardState::next_due); }
  // When the first open lease expires; nothing if none does.
  std::optional<SteadyTime> next_expiry() const { return locked(&ShardState::next_expiry); }
  // Afterwards lease() returns kClosed, and the store is no longer used.
  void close();

  // The request of a lease has ended: frees its place at the host. The lease is kept until
  // push_ended(), so that its URL is not read from the store again. Errors, here and below:
  // kNotFound if this shard never gave such a lease (for release(), renew() and fetched():
  // if it is not open).
  Result<EndedLease> begin_completion(std::uint64_t lease, const Outcome& outcome);
  // The record of an open lease's URL; empty if it has ended.
  Result<std::string> open_record(std::uint64_t lease) const {
    return locked(&ShardState::open_record, lease);
  }
  Result<HostFailure> begin_failure(std::uint64_t lease, FailureReason reason,
                                    std::optional<std::chrono::milliseconds> retry_after,
                                    const Outcome& outcome) {
    return locked(&ShardState::begin_failure, lease, reason, retry_after, outcome);
  }
  // See Frontier::fetched(). True: the host was at its most leases, and may have URLs.
  Result<bool> fetched(std::uint64_t lease, std::chrono::microseconds started_after) {
    return locked(&ShardState::fetched, lease, started_after);
  }
  Result<void> renew(std::uint64_t lease) { return locked(&ShardState::renew, lease); }
  // Puts a leased URL back.
  Result<void> release(
      std::uint64_t lease, std::optional<SteadyTime> next_start,
      std::optional<std::chrono::microseconds> started_after = std::chrono::microseconds(0)) {
    return locked(&ShardState::release, lease, next_start, started_after);
  }
  // See the calls of Frontier with these names; `name` is the host's.
  Result<StartTurn> start(std::uint64_t lease, std::string_view address) {
    return locked(&ShardState::start, lease, address);
  }
  Result<StartTurn> start_elsewhere(HostId host, std::string_view name, std::string_view address) {
    return with_record(&ShardState::start_elsewhere, host, name, address);
  }
  void sent(const StartTurn& turn, std::optional<SteadyTime> when, std::string_view address) {
    locked(&ShardState::sent, turn, when, address);
  }

  // Changes a host's record; returns the number of the change, or 0 if `change` left the record
  // unchanged. A host that is not in memory is read from the store; a new one gets `name`. Takes
  // effect immediately, for example a removed block or a raised limit.
  Result<std::uint64_t> change_host(HostId host, std::string_view name,
                                    const RecordChange& change) {
    return with_record(&ShardState::change_host, host, name, change);
  }
  void set_address(HostId host, std::string_view address);

  // Dropping a host's queue. Between begin_drop() and end_drop() none of its URLs is leased, and
  // its head is forgotten. is_leased() returns whether a URL must stay; if not, a late completion
  // of it counts as repeated from then on. end_drop() sets the queue to what the store then has;
  // everything committed before must have been pushed before. Several drops of a host may overlap.
  Result<void> begin_drop(HostId host);
  bool is_leased(HostId host, std::uint64_t sequence) {
    return locked(&ShardState::is_leased, host, sequence);
  }
  // Whether the URL has a lease that is open or whose end is not yet durable.
  bool has_lease(HostId host, std::uint64_t sequence) const {
    return locked(&ShardState::has_lease, host, sequence);
  }
  // `dropped`: how many URLs left the queue.
  void end_drop(HostId host, std::uint64_t dropped = 0);

  // Revives a host if it is parked; returns whether it was.
  Result<bool> revive_if_given_up(HostId host) {
    return with_record(&ShardState::revive_if_given_up, host);
  }

  // State and leases of a host in memory; nothing if it is not in memory.
  std::optional<HostInfo> info(HostId host);
  ShardStats stats() { return locked(&ShardState::stats); }

  void add_counted(HostId host, std::uint64_t urls) {
    locked(&ShardState::add_counted, host, urls);
  }
  // Adds all hosts with URLs or failures, with their ranks. Other threads get the mutex in between.
  void rank_hosts(HostOrder order, RankedHosts& ranked) {
    in_parts(kHostsAtOnce, [&](HostIndex from) {
      return locked(&ShardState::rank_hosts, order, from, kHostsAtOnce, ranked);
    });
    if (order != HostOrder::kQueued) return;  // those that sleep have no failures
    for (std::size_t table = 0; table < SleepingHosts::kTables; ++table)
      locked(&ShardState::rank_sleeping_hosts, table, ranked);
  }
  // The delay in effect for a host that is not in memory.
  std::chrono::milliseconds delay_of_record(const HostRecord& record) const {
    return locked(&ShardState::delay_of_record, record);
  }
  std::optional<HostCounts> counts(HostId host);
  // The delays of domains and addresses are those of ShardOptions::domains and addresses.
  void set_politeness(const PolitenessOptions& politeness, const RetryOptions& retry) {
    locked(&ShardState::set_politeness, politeness, retry);
    in_parts(kHostsAtOnce, [&](HostIndex from) {
      return locked(&ShardState::reschedule_some, from, kHostsAtOnce);
    });
  }

 private:
  // Admissions and ends of leases; this number takes about a megabyte.
  static constexpr std::size_t kLongInbox = 4096;
  // Hosts that one call looks at while others wait for the mutex: some ten microseconds.
  static constexpr std::size_t kHostsAtOnce = 4096;

  // The same for hosts that may have to be forgotten: half a millisecond.
  static constexpr std::size_t kForgottenAtOnce = 1024;

  // `call` handles `most` hosts or leases from a number on, and returns the number after them.
  template <class Call>
  static void in_parts(std::size_t most, Call&& call) {
    for (std::uint32_t from = 0;;) {
      const std::uint32_t next = call(from);
      if (next - from < most) return;
      std::this_thread::yield();  // a mutex is not fair: those that wait for it come first
      from = next;
    }
  }

  template <class R, class... P, class... A>
  R locked(R (ShardState::*call)(P...), A&&... arguments) {
    const MutexLock lock(mutex_);
    const Settling settling{state_};
    return (state_.*call)(std::forward<A>(arguments)...);
  }
  // A call that changes nothing ends no lease, so that there is nothing to settle.
  template <class R, class... P, class... A>
  R locked(R (ShardState::*call)(P...) const, A&&... arguments) const {
    const MutexLock lock(mutex_);
    return (state_.*call)(std::forward<A>(arguments)...);
  }
  // For calls that need the record of a host; it comes into memory.
  template <class R, class... P, class... A>
  Result<R> with_record(R (ShardState::*call)(HostId, P...), HostId host, A&&... arguments) {
    const MutexLock lock(mutex_);
    const Settling settling{state_};
    if (auto done = learn_record(host); !done) return tl::unexpected(done.error());
    return (state_.*call)(host, std::forward<A>(arguments)...);
  }
  // Has the host's record read unless it is known. It is when this returns.
  Result<void> learn_record(HostId host) TRAWL_REQUIRES(mutex_);
  // The same; an error of the store is that of the next lease() too.
  Result<void> try_learn_record(HostId host) TRAWL_REQUIRES(mutex_);
  // Without the mutex; several threads may read at once.
  template <class Read>
  Result<void> read_store(const std::function<void()>& after_read, Read&& read)
      TRAWL_REQUIRES(mutex_);
  Result<void> read_heads(HeadRead& read) TRAWL_REQUIRES(mutex_);
  Result<void> read_records(RecordRead& read) TRAWL_REQUIRES(mutex_);
  struct Settling {
    ShardState& state;
    ~Settling() { state.return_ended_leases(); }
  };

  const ShardReads& store_;
  const std::function<void()> after_read_;
  const std::function<void()> after_record_read_;
  ShardInbox inbox_;  // has its own synchronisation
  mutable Mutex mutex_;
  ShardState state_ TRAWL_GUARDED_BY(mutex_);
  std::size_t reads_ TRAWL_GUARDED_BY(mutex_) = 0;  // of the store, under way
  Condition read_ended_;
};

}  // namespace trawl
