// FrontierImpl: the frontier's calls, made from its rooms.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/embedded_options.h"
#include "trawl/frontier.h"
#include "trawl/growing_bloom_filter.h"

#include "base/mutex.h"
#include "frontier/commit/admission_controller.h"
#include "frontier/commit/commit_queue.h"
#include "frontier/commit/group_writer.h"
#include "frontier/commit/partitions.h"
#include "frontier/commit/waiting_depths.h"
#include "frontier/common/frontier_clock.h"
#include "frontier/common/wake_notifier.h"
#include "frontier/pending_ends.h"
#include "frontier/queue_counter.h"
#include "frontier/queue_restorer.h"
#include "frontier/recovery/recovery.h"
#include "frontier/schedule/group_rate_limiter.h"
#include "frontier/schedule/host_shard.h"
#include "frontier/store/memory_plan.h"
#include "frontier/store/store.h"

namespace trawl {

// The parts that open() found or created.
struct FrontierParts {
  std::unique_ptr<Recovery> recovery;  // may be null
  std::unique_ptr<Store> store;
  std::unique_ptr<Partitions> partitions;
  std::int64_t clock;  // Counters::clock: what FrontierClock goes on from
  KeyedHash hash;
  bool ledger;                  // the crawl keeps one
  bool set_aside_keys_changed;  // GroupWriterOptions
  bool resumed;                 // the store held a frontier
  bool real_clock;              // TestingOptions::clock was not given
  bool ends_follow_links;       // see FrontierImpl::submit_end()
  // Of a shared frontier.
  std::uint32_t buckets = 0;  // UrlIdentity
  decltype(GroupWriterOptions::encode_links) encode_links = {};
  std::function<bool(HostId)> may_lease = {};              // ShardOptions
  std::function<void(std::uint32_t bucket)> retired = {};  // it is forgotten: see retire_bucket()
  bool counts_admitted = false;                            // GroupWriterOptions
  GroupWriterOptions::WriteParts write_parts = {};
  // The progress of all processes, if this is that of this one.
  std::function<Result<Progress>(const Progress&)> progress_of_all = {};
};

class FrontierImpl final : public Frontier {
 public:
  FrontierImpl(const EmbeddedOptions& options, FrontierParts parts);
  ~FrontierImpl() override;
  // Fills the shards from the store, before any other call. `resumed`: the frontier
  // existed before.
  Result<void> restore();
  // Revives all parked hosts and returns their number.
  Result<std::uint64_t> revive_hosts();

  // Of a shared frontier, in frontier_buckets.cc. A bucket that the store has comes in by these
  // three: its hosts with URLs follow each other in ascending order; `urls`: how many. No request
  // starts before `since` and the host's delay (P1). From open_bucket() on URLs are admitted to it.
  void begin_bucket(std::uint32_t bucket, SteadyTime since);
  void add_host(HostId host, const std::optional<HostRecord>& record, const QueueBeginning& queue,
                std::uint64_t urls);
  void open_bucket(std::uint32_t bucket, std::unique_ptr<Partition> partition);
  // By the thread that loads it, if that did not succeed; else by the committer, see
  // retire_bucket().
  void forget_bucket(std::uint32_t bucket);
  // From now on nothing new is admitted to the bucket, and none of its URLs is leased. When all
  // that was is written (or passed on by the store), the bucket is forgotten, and
  // FrontierParts::retired is called.
  Result<void> retire_bucket(std::uint32_t bucket);
  // The first of it alone, by the store as it writes, for a bucket that another process owns.
  // retire_bucket() follows.
  void lose_bucket(std::uint32_t bucket) { partitions_->lose(bucket); }
  // Its open leases, those included whose ends are not durable.
  std::size_t leased_in(std::uint32_t bucket) const;
  // Wakes all who wait for leases, or for the end.
  void wake_all() { announce_to_all(), wakes_.wake_waiters(); }
  bool has_bucket(std::uint32_t bucket) const { return partitions_->is_open(bucket); }
  std::uint32_t bucket_of(HostId host) const { return identity_.bucket_of(host); }
  const KeyedHash& hash() const { return identity_.hash(); }
  // Progress of this process alone.
  Progress own_progress() const;
  // See CommitQueue.
  std::uint64_t commit_number() const { return commits_->commit_number(); }
  // Has the store called soon, with nothing if there is nothing.
  Result<void> touch_store() {
    return commits_->submit([](Operation& operation) { operation.flush = true; });
  }
  // A URL of a bucket that came waits, as stored with this record. Returns false if there is no
  // room for others.
  bool add_waiting(std::string_view record);
  // Smaller depths may be noted for URLs that were not added.
  void expect_noted_depths() { depths_.expect_notes(); }
  // Every later call returns the error.
  void stop_with(const Error& error) { commits_->stop_with(error), wake_all(); }
  std::uint32_t bucket_of(std::string_view host) const {
    return identity_.bucket_of(identity_.host(host));
  }
  // Admits what came from another process, and takes the message from the inbox of the bucket; or
  // takes a command that was executed. `given`: the identities of URLs that were stored before;
  // empty, or one for each request. `done` is called when that is durable, or with an error.
  // Returns the answers; none after an error.
  using Done = std::function<void(const Result<void>&)>;
  std::vector<Admission> take_message(std::uint32_t bucket, const MessageId& id,
                                      std::span<const UrlRequest> requests,
                                      std::span<const GivenIdentity> given, Done done);
  // `openings`: as openings() was before the command was executed. If the bucket was lost since,
  // its next owner executes it again.
  void take_command(std::uint32_t bucket, const MessageId& id, std::uint32_t openings, Done done);
  std::uint32_t openings() const { return partitions_->openings(); }
  // retry() of one bucket.
  Result<std::uint64_t> retry_in(std::uint32_t bucket, const RetryWhich& which);
  // For a frontier that closes: buckets that are retired from now on need not be forgotten.
  void keep_hosts() noexcept { keeps_hosts_.store(true, std::memory_order_relaxed); }

  Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests,
                                       OfferWait wait) override;
  Result<std::vector<Lease>> lease(const LeaseRequest& request) override;
  Result<std::vector<Admission>> complete(std::uint64_t lease_id, const Outcome& outcome,
                                          std::span<const UrlRequest> links) override;
  Result<FailureVerdict> fail(std::uint64_t lease_id, FailureReason reason,
                              std::optional<std::chrono::milliseconds> retry_after,
                              const Outcome& outcome) override;
  Result<void> hold(std::uint64_t lease_id, const HoldReason& reason,
                    const Outcome& outcome) override;
  Result<bool> has_room_to_set_aside() const override;
  Result<std::vector<SetAsideUrl>> set_aside(std::string_view after,
                                             std::size_t limit) const override;
  Result<std::uint64_t> retry(const RetryWhich& which) override;
  Result<void> renew(std::uint64_t lease_id) override;
  Result<void> fetched(std::uint64_t lease_id, std::chrono::microseconds started_after) override;
  Result<void> release(std::uint64_t lease_id, std::optional<SteadyTime> next_start,
                       std::optional<std::chrono::microseconds> started_after) override;
  Result<StartTurn> start(std::uint64_t lease_id, std::string_view address) override;
  Result<StartTurn> start_elsewhere(std::string_view host, std::string_view address) override;
  Result<void> sent(const StartTurn& turn, std::optional<SteadyTime> when,
                    std::string_view address) override;

  Result<void> set_host(std::string_view host, const HostSettings& settings) override;
  Result<std::vector<HostCounts>> busiest_hosts(HostOrder order, std::size_t limit) const override;
  Result<HostCounts> host_counts(std::string_view name) const override;
  Result<void> set_politeness(const PolitenessOptions& politeness,
                              const RetryOptions& retry) override;
  Result<std::uint64_t> drop_host(std::string_view host) override;
  Result<std::vector<HostInfo>> hosts(std::string_view after, std::size_t limit) const override;
  Result<HostInfo> host(std::string_view name) const override;
  Result<void> visit_queue(std::string_view host,
                           const std::function<bool(std::string_view url)>& visit) const override;

  Result<UrlState> lookup(std::string_view url_or_key) override;
  Result<Progress> progress() const override;
  Result<FrontierStats> stats() const override;

  Result<void> flush() override;
  Result<void> checkpoint() override;
  Result<void> request_checkpoint() override;
  Result<void> close() override;

  Result<void> on_wake(std::function<void()> callback, std::optional<std::uint32_t> shard) override;
  Result<std::optional<SteadyTime>> next_due(std::optional<std::uint32_t> shard) const override;

 private:
  // While it exists and converts to true, close() does not destroy the store. False: the frontier
  // is closed or was stopped, and error() says why.
  class TRAWL_SCOPED_CAPABILITY StoreUse {
   public:
    explicit StoreUse(const FrontierImpl& frontier) TRAWL_ACQUIRE_SHARED(frontier.using_store_);
    ~StoreUse() TRAWL_RELEASE_GENERIC();
    StoreUse(const StoreUse&) = delete;
    StoreUse& operator=(const StoreUse&) = delete;

    explicit operator bool() const { return open_.has_value(); }
    const Error& error() const { return open_.error(); }

   private:
    SharedMutex& mutex_;
    bool locked_ = false;
    Result<void> open_;
  };
  std::uint32_t shard_index(HostId host) const;
  HostShard& shard_of(HostId host) const { return *shards_[shard_index(host)]; }
  HostShard& shard_of_lease(std::uint64_t lease_id) const {
    return *shards_[shard_index_of_lease(lease_id)];
  }
  std::uint32_t shard_index_of_lease(std::uint64_t lease_id) const {
    return static_cast<std::uint32_t>(lease_id % options_.store.shards);
  }
  std::uint64_t number_of(std::uint64_t lease_id) const { return lease_id / options_.store.shards; }
  RetryOptions retry_options() const {
    const MutexLock lock(retry_mutex_);
    return retry_;
  }
  void count_queues(std::unique_ptr<Store::QueueView> view, std::vector<HostId> hosts);
  void stop_restoring();
  void announce_to_all();
  // Whether operations that are queued keep the shard from giving more leases.
  bool commit_would_help(std::uint32_t shard) const;
  // Whether a URL of the shard could be leased but max_open_leases is reached.
  bool lacks_lease(std::uint32_t shard) const;
  // Announces to the shard when leases are free again. Also counts ended leases, which may free
  // some.
  void ask_for_lease(std::uint32_t shard) const;
  // Leases are free again: announces it to the shards that wait for them.
  void announce_leases();
  // When the first lease expires, which frees a lease for any shard.
  std::optional<SteadyTime> next_expiry() const;
  // Counts leases that have ended in shards whose threads have not counted them yet.
  void count_ended_leases() const;
  // Leases URLs that are due now, without waiting.
  Result<std::vector<Lease>> lease_from_all(std::size_t max);
  Result<std::vector<Lease>> lease_from(std::uint32_t shard, std::size_t max);
  Result<void> check_shard(std::optional<std::uint32_t> shard) const;
  // When a URL of the shard, or of any shard, may be leased.
  std::optional<SteadyTime> due(std::uint32_t shard) const;
  // When the first deferred URL is due.
  std::optional<SteadyTime> deferred_due() const;
  std::optional<SteadyTime> due_in_all() const;

  // Submits an operation; in deterministic mode also waits until it is durable.
  template <class Fill>
  Result<void> submit(Fill&& fill) {
    return options_.testing.deterministic_seed ? commits_->submit_and_wait(std::forward<Fill>(fill))
                                               : commits_->submit(std::forward<Fill>(fill));
  }
  // The most URLs that one operation admits: bounds how long it stays inside the gate, and with it
  // how long others wait when a group is collected.
  static constexpr std::size_t kUrlsOfAnOperation = 256;
  // An error stops the frontier, here and below.
  Result<void> prepare(std::span<const UrlRequest> requests, std::span<Admission> answers,
                       PreparedUrls& prepared, std::span<const GivenIdentity> given = {})
      TRAWL_REQUIRES_SHARED(using_store_);
  // Admits all but the last part of the URLs of a call, and returns how many that were. The last is
  // left to the caller, whose operation may have more.
  Result<std::size_t> admit_first_parts(std::span<const UrlRequest> requests,
                                        std::string_view parent, std::span<Admission> answers,
                                        PreparedUrls& prepared) TRAWL_REQUIRES_SHARED(using_store_);
  // The URL of a lease that is open or pending; empty if it has ended. Errors: kNotFound if it was
  // never given.
  Result<std::string> url_of_lease(std::uint64_t lease_id) const;
  // Called inside the gate.
  void admit(std::span<const UrlRequest> requests, PreparedUrls& prepared, std::string_view parent,
             std::span<Admission> answers, Operation& operation)
      TRAWL_REQUIRES_SHARED(using_store_);
  Result<void> promote_due();
  // The smaller depth noted for a URL queued with `stored_depth`, if there is one.
  Result<std::optional<std::uint32_t>> noted_depth(Fingerprint fingerprint,
                                                   std::uint32_t stored_depth) const
      TRAWL_REQUIRES_SHARED(using_store_);
  static Lease to_lease(std::uint64_t id, const QueueOrder& order, UrlRecord record,
                        const std::optional<std::uint32_t>& noted_depth);
  // True if no host has a URL to lease, nothing is leased, and `deferred_do` accepts the counters.
  bool is_idle(bool (*deferred_do)(const Counters&)) const;
  Result<Lease> leased(std::uint64_t id, const QueuedUrl& url) const
      TRAWL_REQUIRES_SHARED(using_store_);
  // The changes of ending a lease, without those of a retry or recrawl. `sets_aside`: the URL may
  // be set aside.
  Result<Operation::Ended> ended(std::uint64_t lease_id, const QueuedUrl& url,
                                 const Outcome& outcome, bool sets_aside) const
      TRAWL_REQUIRES_SHARED(using_store_);
  void defer(Operation::Ended& ended, Operation::Ended::Kind kind, std::int64_t until) const;
  void set_failed_aside(Operation::Ended& ended) const;
  void forget_set_aside(const Operation::Ended& ended, Operation& operation) const;
  // Ends a lease that is completed, or held for the reason `held`.
  Result<std::vector<Admission>> end_lease(std::uint64_t lease_id, const Outcome& outcome,
                                           std::span<const UrlRequest> links,
                                           const HoldReason* held);
  // The two steps of ending: see Outcome::end_later. The first returns nothing if the lease had
  // already ended.
  Result<std::optional<PendingEnd>> begin_end(std::uint64_t lease_id, const Outcome& outcome,
                                              const HoldReason* held)
      TRAWL_REQUIRES_SHARED(using_store_);
  // The second: in this operation, or in one that follows it.
  void submit_end(PendingEnd& end, Operation& operation) const;
  void add_end(PendingEnd& end, Operation& operation) const;
  Result<void> check_note(const Outcome& outcome) const;
  Result<FailureVerdict> put_back(const HostFailure& failure, std::uint32_t openings,
                                  FailureVerdict verdict);
  // In frontier_set_aside.cc.
  void set_aside(Operation::Ended& ended, SetAsideState state, const HoldReason& reason) const;
  struct RetryBatch;
  struct RetryRange;
  Result<std::uint64_t> retry(const RetryWhich& which, RetryRange range);
  Result<bool> find_for_retry(const RetryWhich& which, RetryRange& range, RetryBatch& batch) const;
  Result<std::uint64_t> submit(RetryBatch& batch);
  Result<void> change_host(std::string_view host, const RecordChange& change);
  // Errors: kInvalidArgument.
  Result<RecordChange> record_change(const HostSettings& settings) const;
  // In frontier_lookup.cc.
  Result<std::optional<UrlState>> find(Fingerprint fingerprint, std::optional<HostId> host) const
      TRAWL_REQUIRES_SHARED(using_store_);
  Result<std::optional<UrlState>> find_waiting(Fingerprint fingerprint,
                                               std::optional<HostId> host) const
      TRAWL_REQUIRES_SHARED(using_store_);
  // Errors: kInvalidArgument.
  Result<void> check_name(std::string_view name) const TRAWL_REQUIRES_SHARED(using_store_);
  // Empty if the frontier has neither a record nor waiting URLs of the host.
  Result<std::optional<HostCounts>> counts_of(HostId host) const
      TRAWL_REQUIRES_SHARED(using_store_);
  Result<HostInfo> info_of(HostId host, const std::optional<HostRecord>& record) const
      TRAWL_REQUIRES_SHARED(using_store_);
  Result<std::optional<std::string>> name_of(HostId host) const TRAWL_REQUIRES_SHARED(using_store_);
  // Runs on the commit thread: passes to the shards what became durable.
  void after_commit(OperationGroup& group, std::vector<QueuedUrl>& promoted);
  // Processes the inboxes of shards that are long. Called by threads that offer URLs.
  void relieve_inboxes() TRAWL_REQUIRES_SHARED(using_store_);
  GroupWriterOptions writer_options(FrontierParts& parts);
  HostRange hosts_of(std::uint32_t bucket) const {
    const auto [first, last] = identity_.hosts_of(bucket);
    return {.first = first, .last = last};
  }
  HostShard& shard_of_bucket(std::uint32_t bucket) const {
    return shard_of(identity_.hosts_of(bucket).first);
  }

  const EmbeddedOptions options_;  // with clocks; see set_politeness() for what changes
  mutable Mutex retry_mutex_;
  RetryOptions retry_ TRAWL_GUARDED_BY(retry_mutex_);
  const bool has_real_clock_;
  const FrontierClock clock_;
  const MemoryPlan memory_;
  const bool ledger_;
  const bool ends_follow_links_;
  const std::function<Result<Progress>(const Progress&)> progress_of_all_;
  const std::uint64_t admitted_before_;  // by earlier processes
  Mutex closing_;
  bool closed_ TRAWL_GUARDED_BY(closing_) = false;
  bool restored_ = false;  // set before other threads know the frontier
  // Shared by StoreUse; exclusive in close().
  mutable SharedMutex using_store_ TRAWL_ACQUIRED_AFTER(closing_);
  const std::unique_ptr<Recovery> recovery_;
  std::unique_ptr<Store> store_ TRAWL_GUARDED_BY(using_store_);  // empty once closed
  const std::unique_ptr<Partitions> partitions_;
  Quota leases_;                                         // leases that may still be given
  mutable std::vector<std::atomic<bool>> awaits_lease_;  // by shard
  mutable WakeNotifier wakes_;
  PendingEnds pending_ends_;
  GroupRateLimiter domains_;
  GroupRateLimiter addresses_;
  std::vector<std::unique_ptr<HostShard>> shards_;
  std::atomic<std::uint32_t> next_shard_{0};
  std::atomic<bool> promoting_{false};
  std::atomic<bool> keeps_hosts_{false};
  std::atomic<bool> long_inboxes_{false};  // relieve_inboxes() has something to do
  WaitingDepths depths_;
  const UrlIdentity identity_;
  AdmissionController admission_ TRAWL_GUARDED_BY(using_store_);
  GroupWriter writer_;
  // Last, so that their threads end before the members that they use.
  std::optional<CommitQueue> commits_;
  std::optional<QueueCounter> queue_counter_;
  // Until all hosts are restored, which its thread changes then.
  std::unique_ptr<Store::QueueView> queues_at_restart_;
  std::optional<QueueRestorer> restorer_;
  Mutex waking_;
  // Created by the first on_wake() that needs it.
  std::optional<WakeTimer> wake_timer_ TRAWL_GUARDED_BY(waking_);
};

}  // namespace trawl
