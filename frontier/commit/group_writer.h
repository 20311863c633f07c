// GroupWriter: turns a group of operations into one batch of the store for each partition.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "trawl/lease.h"

#include "base/one_thread.h"
#include "base/zeroed_array.h"
#include "frontier/commit/operation.h"
#include "frontier/commit/partitions.h"
#include "frontier/commit/waiting_depths.h"
#include "frontier/store/store.h"
#include "frontier/store/url_identity.h"

namespace trawl {

struct GroupWriterOptions {
  bool ledger = false;           // the crawl keeps a ledger
  bool exact = false;            // the ledger decides what was admitted
  bool counts_admitted = false;  // StoreBatch::count_admitted()
  // For a shared frontier; at most one part of each bucket. Each part is durable as a whole when
  // this returns, and the links are with their owners. If another crawler owns a bucket by then,
  // the URLs that its part admitted are with that one instead: that is not an error.
  using WriteParts = std::function<Result<void>(std::span<const BatchPart> parts,
                                                std::span<const LinksForOwner> links)>;
  WriteParts write_parts = nullptr;
  std::uint64_t max_set_aside = 0;
  bool set_aside_keys_changed = false;  // fit_set_aside_keys()
  // For fingerprints of stored URLs; null: all notes of depths are kept.
  WaitingDepths* depths = nullptr;
  const UrlIdentity* identity = nullptr;
  std::function<SystemTime()> wall_clock;
  std::function<std::int64_t()> now;            // FrontierClock
  std::function<Result<void>()> before_commit;  // TestingOptions
  // The record to store for a host after this change (Operation::ChangedHost); absent: the stored
  // one is up to date.
  std::function<std::optional<HostRecord>(HostId, std::uint64_t change)> record_of;
  // Whether a URL is leased, and so must stay when its host is dropped.
  std::function<bool(HostId, std::uint64_t sequence)> is_leased;
  // The links of a shared frontier for other owners, as they are sent.
  // The second argument: Operation::Forwarded::given of each; empty if none has one.
  std::function<std::string(std::span<const UrlRequest>, std::span<const GivenIdentity>)>
      encode_links;
  // A partition was removed, as a group asked for it: all that was written for its bucket is done.
  std::function<void(std::uint32_t bucket)> retired;
  // Called when a group is durable, with the URLs that were queued by it, before the callers that
  // wait for it return.
  std::function<void(OperationGroup&, std::vector<QueuedUrl>& promoted)> after_commit;
};

// The number of "seen" answers looked up in the ledger, and the number of URLs with false ones.
struct SeenChecks {
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
};

// One thread at a time calls write() (CommitQueue); the rest is thread-safe.
class GroupWriter {
 public:
  GroupWriter(Store& store, Partitions& partitions, GroupWriterOptions options);
  // Reads from the store when the first deferred URL is due: for a frontier that is not shared,
  // when it is opened.
  Result<void> read_first_deferred() { return read_first_deferred(0); }

  // Makes the whole group durable, or nothing of it (of each partition, in a shared frontier: see
  // CommitQueue). Of a drop it makes only a part: call again with the operation until Drop::done.
  Result<void> write(OperationGroup& group);

  // Called by the thread that queued the run after begin_writing(): writes it, if the store has it
  // written before the group.
  void write_ahead(QueueRun& run) noexcept { run.end_writing(store_.write_ahead(run)); }

  // Whose hosts it writes.
  Partitions& partitions() noexcept { return partitions_; }
  const Partitions& partitions() const noexcept { return partitions_; }
  SeenChecks seen_checks() const noexcept {
    return {checked_.load(std::memory_order_relaxed), wrong_.load(std::memory_order_relaxed)};
  }

 private:
  // What a group changes in one partition.
  struct Part {
    std::uint32_t bucket = 0;
    Partition* partition = nullptr;
    Counters before;  // the totals that it began with
    Counters totals;
    Store::Batch batch;
    std::vector<Fingerprint> fingerprints;  // admitted

    // Whether anything must be written.
    bool is_changed() const { return !batch.empty() || !totals.differ_by_offers_alone(before); }
  };
  // The part of what has this HostId or Fingerprint::high; null: its bucket was lost before the
  // operation came so far.
  Part* part_of(std::uint64_t id);
  // Null also if its partition was opened later (Operation::openings).
  Part* part_since(std::uint32_t openings, std::uint64_t id);
  Part* part_of_bucket(std::uint32_t bucket);
  // Where the offers of an operation count.
  Part* part_of_offers(const Operation& operation);
  // Whether another process owns the host, so that what was written of it has no effect.
  bool is_lost(HostId host) const;
  // Forgets what the last group or part of a drop had.
  void clear_parts();
  Result<void> read_first_deferred(std::uint32_t bucket);

  Result<void> add_queued(Operation& operation);
  // Whether a URL that is admitted may be among those set aside; if it is, it leaves them.
  bool may_be_set_aside(const Counters& totals, bool recrawl) const;
  Result<void> end_set_aside(Fingerprint fingerprint, Part& part);
  // For the limit of a host's URLs: those of a run, or one.
  static void count_queued(const QueueRun& run, const QueueRun::Part& queued, Store::Batch& batch);
  static void count_admitted(HostId host, std::string_view record, Store::Batch& batch);
  Result<void> add_admitted(Operation& operation);
  Result<void> add_seen_only(const Operation& operation);
  void note_new_ones(const OperationGroup& group);
  Result<bool> was_admitted(Fingerprint fingerprint);
  Result<void> add_ended(Operation& operation);
  Result<void> set_aside(const Operation::SetAside& url);
  std::uint64_t set_aside_in_all(const Part& part);
  Result<void> hold_links(const Operation& operation);
  Result<void> restore(Operation& operation, std::vector<QueuedUrl>& queued);
  Result<bool> forget_set_aside(Fingerprint fingerprint, Part& part);
  Result<std::optional<SetAsideState>> state_of(Fingerprint fingerprint, const Part& part) const;
  void defer(std::int64_t not_before, std::uint64_t sequence, HostId host, std::int32_t priority,
             std::string_view record, Part& part);
  Result<void> promote(std::vector<QueuedUrl>& promoted);
  Result<void> promote(Part& part, std::vector<QueuedUrl>& promoted);
  void lower_depths(const Operation& operation);
  void end_depth(const Operation::Ended& ended, bool waits, Part& part);
  void drop_depth(std::string_view record, Store::Batch& batch);
  void add_changed_hosts(const OperationGroup& group);
  void take_messages(const OperationGroup& group);
  std::vector<LinksForOwner> links_of(const OperationGroup& group) const;
  // Writes what changed. `all`: counts of offers, too.
  Result<void> commit(const OperationGroup& group, bool all);
  // `parts` are written, with what they changed. `always`: the store is called with nothing, too.
  Result<void> write_parts(std::span<Part* const> parts, std::span<const LinksForOwner> links,
                           bool always = false);
  void retire(const OperationGroup& group);
  Result<void> check_seen(const OperationGroup& group);
  Result<void> drop_some(Operation& operation);
  Result<void> drop_some_queued(Operation::Drop& drop, Part& part);
  Result<void> drop_deferred(Operation::Drop& drop, Part& part);
  // URLs that one batch of a drop deletes.
  struct Dropped {
    std::size_t queued = 0;
    std::size_t deferred = 0;
    std::size_t recrawls = 0;  // of the deferred ones
  };
  Result<void> commit_drop(Operation::Drop& drop, const Dropped& dropped, Part& part);

  // A fingerprint is a hash already.
  struct HashOfKey {
    std::size_t operator()(const Fingerprint& key) const noexcept {
      return static_cast<std::size_t>(key.low);
    }
  };

  Store& store_;
  Partitions& partitions_;
  const GroupWriterOptions options_;
  OneAtATime writing_;  // the committer owns the members without atomic or mutex
  // By bucket, created when they are needed, and reused for their memory. `in_use_`: those that
  // this group has.
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Part*> in_use_;
  // Of a shared frontier: URLs set aside before the group, if that was asked, and since.
  std::optional<std::uint64_t> set_aside_before_;
  std::int64_t set_aside_change_ = 0;
  // With a ledger, and if the group has offers with `again`: the other fingerprints that it admits.
  std::set<Fingerprint> new_ones_;
  // What the batch changes in kSetAside; nullopt: removed.
  std::map<Fingerprint, std::optional<SetAsideState>> set_aside_now_;
  // Of the URLs set aside in an embedded frontier those since it was opened, as long as they are
  // few. As many as there are in all: then no other URL is set aside.
  std::unordered_set<Fingerprint, HashOfKey> set_aside_lately_;
  // A cache of recently held links, by hash: most links are on many pages.
  ZeroedArray<Fingerprint> held_lately_;
  std::atomic<std::uint64_t> checked_{0};
  std::atomic<std::uint64_t> wrong_{0};
  std::set<Fingerprint> wrong_ones_;  // the first kWrongOnesKept, so that none counts twice
};

}  // namespace trawl
