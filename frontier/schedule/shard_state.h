// ShardState: the state of a HostShard.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <concurrentqueue/concurrentqueue.h>

#include "trawl/lease.h"

#include "base/quota.h"
#include "frontier/common/host_backoff.h"
#include "frontier/schedule/group_rate_limiter.h"
#include "frontier/schedule/group_wait_queues.h"
#include "frontier/schedule/head_reads.h"
#include "frontier/schedule/host_ranges.h"
#include "frontier/schedule/host_table.h"
#include "frontier/schedule/lease_table.h"
#include "frontier/schedule/queue_head_cache.h"
#include "frontier/schedule/ranked_hosts.h"
#include "frontier/schedule/sleeping_hosts.h"
#include "frontier/schedule/time_heap.h"
#include "frontier/store/host_record.h"
#include "frontier/store/pending_host_changes.h"
#include "frontier/store/queue_run.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/store.h"

namespace trawl {

struct ShardOptions {
  PolitenessOptions politeness = {};
  RetryOptions retry = {};
  std::chrono::milliseconds lease_timeout{3'600'000};  // see LimitOptions

  std::size_t max_expired = 1'000'000;       // expired leases kept, at least 1,024
  std::uint64_t max_head_bytes = 64u << 20;  // of queued URLs in memory
  std::uint32_t shards = 1;  // there are as many, chosen by the highest bits of a HostId
  // As many hosts are in memory, with all that is known of them; others with URLs may sleep.
  std::size_t most_awake = std::size_t{1} << 19;
  std::function<SteadyTime()> clock;
  std::function<SystemTime()> wall_clock;
  // The time of a restart, if there was one: requests just before it are unknown, so every host
  // waits its delay from then on (P1).
  std::optional<SteadyTime> restarted;
  // For a shared frontier: the shard has the hosts of the ranges that it takes, and starts with
  // none; `restarted` does not count. Otherwise it has all hosts.
  bool in_ranges = false;
  // Whether URLs of a host may be leased now, the same for all hosts of a range; null: always.
  // Called under the shard's lock, often.
  std::function<bool(HostId)> may_lease = nullptr;
  std::uint64_t first_lease = 1;  // number of the first lease; above those of all earlier runs
  std::uint64_t seed = 0;         // for the random part of waits
  // Heads are read in turn, so that the same calls give the same answers.
  bool deterministic = false;
  // For tests. Called with the changes of each read: tests must fail if some are forgotten.
  std::function<void(HeadReads::Changes&)> forget_changes = nullptr;
  bool forget_uncommitted = false;  // the same for records that are not durable yet
  // Called without the lock, before what was read of queues, or of records, is used.
  std::function<void()> after_read = nullptr;
  std::function<void()> after_record_read = nullptr;
  // Shared by all shards; null: none.
  Quota* leases = nullptr;  // leases that may still be given
  GroupRateLimiter* domains = nullptr;
  GroupRateLimiter* addresses = nullptr;
};

// A leased URL with the number of its lease.
struct LeasedUrl : QueuedUrl {
  bool paced = false;  // see Lease::paced
};
struct NumberedLease {
  std::uint64_t number;
  LeasedUrl url;
};

// The effect of ending a lease.
enum class LeaseEnd : std::uint8_t {
  kOpen,      // it was open: its URL ends
  kLate,      // it had expired, but its URL has not ended since: the URL ends
  kRepeated,  // it, or another lease of its URL, had ended: nothing changes
};
struct EndedLease {
  LeaseEnd end = LeaseEnd::kRepeated;
  QueuedUrl url;                  // unset for kRepeated
  bool host_changed = false;      // record_of() the host has changed
  std::uint64_t host_change = 0;  // number of the change; 0: only by changes that are durable
                                  // already
};

// The effect of a failed fetch on its host. Reasons that make a host back off count as failures in
// a row. Any answer ends the row: kServerError, kPermanent with a status, or a completion with a
// request and without an error. kPermanent without a status says nothing about the host. A failure
// of an expired lease is kRepeated.
struct HostFailure {
  EndedLease lease;
  std::optional<SystemTime> blocked_until;
  bool given_up = false;
  bool released = false;  // the URL went back to its place; `lease` is unset
};

struct ShardStats {
  std::size_t leased = 0;
  std::size_t hosts = 0;
  std::size_t blocked = 0;
  std::size_t given_up = 0;
  std::size_t leasable = 0;  // hosts with URLs that are neither parked nor at their limit
  std::size_t waiting = 0;   // of these, without open leases
  std::size_t leased_hosts = 0;
  SteadyTime next_turn = SteadyTime::max();  // see FrontierStats
  std::uint64_t expired = 0;
  std::uint64_t late = 0;
  std::uint64_t repeated = 0;
  std::uint64_t memory = 0;  // approximate bytes
};

// What became durable, in commit order: a URL that has left its host's queue, a record that
// record_of() returned, or a URL that waits to be leased.
struct EndedUrl {
  HostId host;
  std::uint64_t sequence;
};
struct SavedHost {
  HostId host;
};
// Or many of them: a part of a run.
struct QueuedPart {
  std::shared_ptr<const QueueRun> run;
  std::uint32_t part;
  const QueueRun::Part& get() const noexcept { return run->parts()[part]; }
  // M1: in URLs; at least what the whole run takes, which it keeps.
  std::size_t weight() const noexcept {
    return std::max<std::size_t>(get().urls, run->size() / kBytesOfAUrl);
  }

 private:
  static constexpr std::size_t kBytesOfAUrl = 256;
};
using InboxItem = std::variant<EndedUrl, SavedHost, QueuedUrl, QueuedPart>;
struct ShardInbox {
  moodycamel::ConcurrentQueue<InboxItem> items;
  // The queue keeps the order of one producer: threads that commit in turn push as the same.
  moodycamel::ProducerToken producer{items};
  std::atomic<std::size_t> in_parts{0};  // QueuedPart::weight()

  void push(InboxItem item) { items.enqueue(producer, std::move(item)); }

  // About how much there is to do.
  std::size_t size_approx() const noexcept {
    return items.size_approx() + in_parts.load(std::memory_order_relaxed);
  }
};

// A read of the stored records of hosts. It belongs to the thread that reads.
struct RecordRead {
  std::vector<HostIndex> hosts;
  std::vector<HostRead> records;  // in the same order

  bool empty() const noexcept { return hosts.empty(); }
};

// The HostShard guards it with a mutex. It knows no store: what it needs from there the HostShard
// reads, without the mutex.
class ShardState {
 public:
  ShardState(ShardOptions options, ShardInbox& inbox);

  // See the members of HostShard with the same names.
  void take_inbox();
  std::optional<HostRecord> record_of(HostId host, std::uint64_t change);
  void restore_host(HostId host, const std::optional<HostRecord>& record,
                    const QueueBeginning& queue);
  void begin_restore() { restored_to_ = 0; }
  void end_restore() { restored_to_ = std::numeric_limits<HostId>::max(); }
  Result<void> lease(std::size_t max, std::vector<NumberedLease>& out);
  bool has_turn();
  std::optional<SteadyTime> next_due() const;
  std::optional<SteadyTime> next_expiry() const;
  void close() { closed_ = true; }
  bool closed() const noexcept { return closed_; }
  Result<std::string> open_record(std::uint64_t number) const;
  // `late`: the stored record of late_record(), empty if there is none.
  Result<EndedLease> begin_completion(std::uint64_t lease, const Outcome& outcome,
                                      const std::optional<std::string>& late);
  Result<HostFailure> begin_failure(std::uint64_t lease, FailureReason reason,
                                    std::optional<std::chrono::milliseconds> retry_after,
                                    const Outcome& outcome);
  Result<bool> fetched(std::uint64_t lease, std::chrono::microseconds started_after);
  Result<void> renew(std::uint64_t lease);
  Result<void> release(std::uint64_t lease, std::optional<SteadyTime> next_start,
                       std::optional<std::chrono::microseconds> started_after);
  Result<StartTurn> start(std::uint64_t lease, std::string_view address);
  void sent(const StartTurn& turn, std::optional<SteadyTime> when, std::string_view address);
  // The host is_known(), here and below.
  StartTurn start_elsewhere(HostId host, std::string_view name, std::string_view address);
  std::uint64_t change_host(HostId host, std::string_view name, const RecordChange& change);
  bool revive_if_given_up(HostId host);
  bool knows_addresses() const noexcept { return options_.addresses != nullptr; }
  void set_address(HostId host, std::string_view address);
  void begin_drop(HostId host);
  std::size_t leased() const noexcept { return leases_.leased(); }
  void count_ended_leases();
  bool is_leased(HostId host, std::uint64_t sequence);
  bool has_lease(HostId host, std::uint64_t sequence) const {
    return leases_.is_taken(host, sequence);
  }
  void end_drop(HostId host, std::uint64_t dropped);
  std::optional<HostInfo> info(HostId host);
  // In shard_counts.cc.
  void add_counted(HostId host, std::uint64_t urls);
  HostIndex rank_hosts(HostOrder order, HostIndex from, std::size_t most, RankedHosts& ranked);
  void rank_sleeping_hosts(std::size_t table, RankedHosts& ranked) const;
  std::chrono::milliseconds delay_of_record(const HostRecord& record) const;
  std::optional<HostCounts> counts(HostId host);
  void set_politeness(const PolitenessOptions& politeness, const RetryOptions& retry);
  HostIndex reschedule_some(HostIndex from, std::size_t most);
  ShardStats stats();
  // In shard_ranges.cc: ranges of hosts, if options_.in_ranges.
  void begin_taking(const HostRange& range, SteadyTime since);
  void end_taking(const HostRange& range);
  // False: there is not such a range.
  bool begin_forgetting(const HostRange& range);
  LeaseIndex forget_leases(const HostRange& range, LeaseIndex from, std::size_t most);
  HostIndex forget_some(const HostRange& range, HostIndex from, std::size_t most);
  void forget_sleeping(const HostRange& range, std::size_t table);
  void end_forgetting(const HostRange& range);
  LeaseIndex count_leases(const HostRange& range, LeaseIndex from, std::size_t most,
                          std::size_t& leases);
  // In shard_starts.cc: the thread that leases stood still from `since` until now.
  void note_standstill(SteadyTime since);
  SteadyTime now() const { return options_.clock(); }
  // Whether the shard has the host's range.
  bool is_here(HostId id) const { return !options_.in_ranges || ranges_.find(id) != nullptr; }
  // Before a read ends: whether a host of it was forgotten. The read may have failed because of it,
  // and the others are read again.
  bool lost_any(const HeadRead& read) const;
  bool lost_any(const RecordRead& read) const;
  void take_back(std::vector<NumberedLease>& leases, std::size_t from);
  // Gives back what was taken for leases that ended.
  void return_ended_leases();

  // In shard_records.cc: reads of records, begun and ended under the lock. begin_*() return what
  // the caller is to read; nothing if there is nothing to read, or others read it.
  //
  // Whether the host is in memory with its record.
  bool is_known(HostId host) const;
  // Whether it has URLs, or is in memory for another reason.
  bool is_present(HostId host) const;
  // Whether it is in memory without its record.
  bool is_unread(HostId host) const;
  // Hosts that came into memory, the first of them.
  RecordRead begin_arrivals();
  // A host that is not known; it comes into memory.
  RecordRead begin_record_of(HostId host);
  void end_records(const RecordRead& read, bool succeeded);
  bool reads_records() const noexcept { return records_under_way_ > 0; }

  // In shard_reads.cc: reads of heads, in the same way.
  //
  // Hosts that wait, if they are many enough and there is room.
  HeadRead begin_read_ahead();
  // After lease(): hosts that are due, if it found none with a head.
  HeadRead begin_needed_read();
  // A host whose head is empty.
  HeadRead begin_read_of(HostId host);
  void end_read(HeadRead& read, bool succeeded);
  bool reads_head_of(HostId host) const;
  // Whether lease() lacked hosts that others read.
  bool waits_for_reads() const noexcept { return needs_read_ && reads_.under_way() > 0; }
  void fail(const Error& error) { error_ = error; }
  // Leases that lease() gave are handed out later, after a read: until then() their hosts with a
  // delay have no turn (P1).
  void hold_starts(std::span<const NumberedLease> leases);
  void note_handed_out(std::span<const NumberedLease> leases);
  // What begin_completion() needs of the store; nothing if it needs nothing.
  struct LateRecord {
    HostId host = 0;
    QueueOrder order;
  };
  std::optional<LateRecord> late_record(std::uint64_t lease) const;
  // The host of a lease that has expired, if it is present.
  std::optional<HostId> late_host(std::uint64_t lease) const;

  // In shard_sleep.cc: hosts that sleep and are to wake; nothing if enough are awake.
  RecordRead begin_waking();

 private:
  // When the next host is due, as far as is known; SteadyTime::max() if none waits for a time.
  SteadyTime next_turn() const;
  // Of the hosts with URLs only. Looks at kMostIdleHosts others at most, and is too early then.
  SteadyTime next_turn_with_urls() const;
  // Reads the clock. Hosts are scheduled for this time at the earliest.
  SteadyTime look_at_clock();
  // Takes the inbox in and ends what has expired. Now.
  SteadyTime end_leases();
  struct HostMoved {
    HostTable* hosts;
    void operator()(HostIndex host, std::uint32_t position) const {
      (*hosts)[host].position = position;
    }
  };
  // A request of a lease, and the groups for which it is recorded.
  struct Charge {
    SteadyTime since;
    HostGroups groups;
    bool started = false;  // with its real start
  };
  static Charge charge_of(const LeaseSlot& slot) {
    return {slot.since, slot.groups, slot.started.has_value()};
  }
  // A request that began and was not sent yet; others wait for it for a limited time.
  struct Unsent {
    SteadyTime begun;
    SteadyTime waited_for_until;
  };
  // Requests to a host on behalf of others. Of the refused ones the next has the host's turn at
  // `next`, recorded in `groups`; the others got later times.
  struct Elsewhere {
    std::optional<SteadyTime> next;
    HostGroups groups;
    SteadyTime last = SteadyTime::min();  // the time given to the last of them
  };

  // shard_records.cc: hosts come into memory, and their records.
  HostIndex add_host(HostId id);
  void set_record(HostIndex host, const std::optional<HostRecord>& record);
  HostIndex add_unread(HostId id);
  void begin_record(HostIndex host, RecordRead& read);
  // The record to store for it.
  HostRecord record_of(const Host& host) const;
  bool is_saved(const Host& host) const;
  bool any_unread() const noexcept { return !arrived_.empty() || reads_records(); }
  void note_saved(const SavedHost& saved);
  void commit_change(HostId host, std::uint64_t change);

  // shard_hosts.cc: forgetting and changing hosts.
  void forget_if_idle(HostIndex host);
  void note_answer(HostIndex host, EndedLease& ended);
  std::uint64_t change_record(HostIndex host, std::string_view name, const RecordChange& change);
  void update_block(HostIndex host);
  std::uint64_t revive(HostIndex host);
  std::int64_t wall_now() const;
  void learn_groups(HostIndex host);
  void learn_domain(HostIndex host, std::string_view name);
  void learn_address_only(HostIndex host, std::string_view address);
  void learn_address(HostIndex host, GroupId address);
  HostGroups groups_of(HostIndex host) const;

  // shard_sleep.cc.
  bool has_due_host();
  HostIndex wake(HostId id, std::uint64_t urls);
  bool add_asleep(HostId id);
  void end_asleep(HostId id);
  bool restore_asleep(HostId id, const std::optional<HostRecord>& record,
                      const QueueBeginning& queue);
  void merge_restored(HostIndex host, const QueueBeginning& queue);
  std::size_t woken_at_once() const;
  std::size_t ready_hosts() const;
  std::size_t room_to_wake() const;
  SteadyTime wake_time() const;
  bool may_sleep_with(const HostRecord& record) const;
  bool is_time_to_sleep(HostIndex host);
  void put_to_sleep(HostIndex host);

  // shard_ranges.cc. note_restored(): false if the shard does not have the host. is_restored():
  // false if the host may have URLs in the store that the shard does not know of.
  bool note_restored(HostId id);
  bool is_restored(HostId id) const;
  // P1: the host has its last request then, if not later.
  std::optional<SteadyTime> rests_since(HostId id) const;
  void rest_group(HostId id, GroupRateLimiter& clocks, GroupId group) const;
  bool may_lease_from(const HostRanges::Taken& range) const;
  bool may_lease_now(HostId id) const;
  bool may_read_now(HostId id) const;
  bool stops(HostIndex host);
  void put_off_reads(HostId id);
  void resume_stopped(SteadyTime now);
  bool may_wake_in(const HostRanges::Taken& range) const;
  bool may_wake(HostId id) const;
  std::optional<SleepingHosts::Host> next_to_wake();
  void forget_host(HostIndex host);
  bool is_forgotten(HostIndex i) const { return hosts_[i].gone || !is_here(hosts_[i].id); }
  void remove_if_read(HostIndex host);

  // shard_schedule.cc: the schedule of hosts, and their heads.
  std::chrono::milliseconds delay_of(const Host& host) const;
  SteadyTime own_start(const Host& host) const;
  SteadyTime next_start(const Host& host) const;
  SteadyTime idle_until(HostIndex host) const;
  bool may_lease(const Host& host) const;
  // Parked, but revived when park_time is over.
  bool awaits_revival(const Host& host) const;
  std::chrono::milliseconds effective_delay(HostIndex host) const;
  std::optional<SteadyTime> expected_start(HostIndex host) const;
  void update_counts(Host& host);
  void reschedule(HostIndex host);
  void unschedule(HostIndex host);
  HostIndex next_host(SteadyTime now);
  bool take_turn(HostIndex host, bool in_group_queue, SteadyTime now);
  bool joins_group_queue(HostIndex host, SteadyTime now);
  bool take_turn_of_groups(HostIndex host, bool in_group_queue, SteadyTime now);
  void queue_url(HostIndex host, const QueueOrder& order, std::string_view record);

  // shard_reads.cc: reads of heads.
  void want_head(HostIndex host);
  void await_head(HostIndex host);
  void stop_awaiting_head(Host& host);
  bool any_awaits_head() const noexcept { return awaiting_ + awaiting_read_ > 0; }
  void begin_read(HostIndex host, std::size_t limit, HeadRead& read);
  void begin_wanted(std::size_t hosts, std::size_t limit, HeadRead& read);
  void end_read_of(HostIndex host, QueueRead& read, bool is_ahead, bool succeeded);

  // shard_starts.cc: starts of requests.
  std::optional<GroupRateLimiter::Refusal> host_refusal(HostIndex host, SteadyTime last,
                                                        SteadyTime now) const;
  StartTurn granted(HostIndex host, const HostGroups& groups, SteadyTime now);
  StartTurn told_later(HostIndex host, Elsewhere& others, const HostGroups& groups,
                       const GroupRateLimiter::Refusal& refusal, SteadyTime now);
  std::chrono::milliseconds longest_delay(HostIndex host) const;
  void forget_passed_starts(SteadyTime now);

  // shard_leases.cc: giving and expiring leases.
  // A URL was admitted.
  void add(HostId id, const QueueOrder& order, std::string_view record);
  void add(const QueuedPart& part);
  // Has the hosts read into the processor's caches.
  void prefetch(std::span<const HostId> ids);
  void end_url(const EndedUrl& url);
  void lease_from(HostIndex host, SteadyTime now, std::vector<NumberedLease>& out);
  void note_starts(SteadyTime assumed);
  void expire_leases(SteadyTime now);

  // shard_lease_ends.cc: ending leases, and what their outcomes mean for hosts.
  Result<LeaseIndex> given_lease(std::uint64_t number) const;
  Result<LeaseIndex> open_lease(std::uint64_t number) const;
  EndedLease end_open(LeaseIndex lease, const Outcome& outcome);
  EndedLease end_late(LeaseIndex lease, const Outcome& outcome,
                      const std::optional<std::string>& late);
  std::optional<std::string> take_late_record(LeaseIndex lease,
                                              const std::optional<std::string>& late);
  void note_request(HostIndex host, const Charge& charge, std::chrono::microseconds started_after);
  void note_outcome(HostIndex host, const Charge& charge, const Outcome& outcome);
  void undo_request(const Charge& charge);
  void count_completion(HostIndex host, const Outcome& outcome, EndedLease& ended);
  void count_failure(HostIndex host, FailureReason reason,
                     std::optional<std::chrono::milliseconds> retry_after, const Outcome& outcome,
                     std::string_view record, HostFailure& failure);
  bool ends_url(HostIndex host, FailureReason reason, const Outcome& outcome) const;
  void put_back(LeaseIndex lease);

  ShardInbox& inbox_;
  ShardOptions options_;
  bool closed_ = false;
  std::optional<Error> error_;  // of the store, if it could not be returned immediately

  HostTable hosts_;
  HostId restored_to_ = std::numeric_limits<HostId>::max();
  HostRanges ranges_;
  SteadyTime stopped_until_ = SteadyTime::max();  // ranges_.ask_again()
  SleepingHosts sleeping_;
  SteadyTime wake_not_before_ = SteadyTime::min();
  std::unordered_map<HostId, GroupId> sleeping_addresses_;  // of those that are known
  // Hosts whose records nobody reads yet. Some may have been read alone.
  std::deque<HostIndex> arrived_;
  std::size_t records_under_way_ = 0;
  // Records that record_of() returned, and that are not known to be durable yet.
  std::unordered_map<HostId, std::uint32_t> uncommitted_;
  // The journals of hosts with uncommitted changes.
  std::unordered_map<HostId, PendingHostChanges> pending_changes_;
  std::uint64_t next_change_ = 1;
  std::vector<HostGroups> groups_;  // by HostIndex; empty without domain and IP delays
  LeaseTable leases_;
  TimeHeap<HostMoved> schedule_;
  GroupWaitQueues group_queues_;
  QueueHeadCache heads_;
  HeadReads reads_;
  std::size_t awaiting_ = 0;        // hosts off the schedule until their heads are read
  std::size_t awaiting_read_ = 0;   // the same, of which the reads are under way
  std::size_t passed_ = 0;          // leases given while hosts wanted heads, since the last read
  bool needs_read_ = false;         // the last lease() found no due host with a head
  HostIndex read_first_ = kNoHost;  // ... but this one, which keeps its place in a group's queue
  HostBackoff backoff_;
  // Blocked hosts by the end of the block; some may have ended.
  std::set<std::pair<SteadyTime, HostIndex>> blocked_;
  std::unordered_map<HostId, Unsent> unsent_;  // for hosts with a delay
  std::unordered_map<HostId, Elsewhere> elsewhere_;
  SteadyTime last_now_ = SteadyTime::min();  // the time of the last lease or expiry
  std::vector<LeaseIndex> handed_out_;       // given by this call of lease()
  std::size_t taken_ = 0;                    // from ShardOptions::leases

  // Hosts with URLs that are neither parked nor at their limit; of these, without open leases;
  // parked hosts.
  std::size_t leasable_ = 0;
  std::size_t waiting_ = 0;
  std::size_t given_up_ = 0;
  std::uint64_t expired_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t repeated_ = 0;
};

}  // namespace trawl
