// GroupWriter: turns a group of operations on a partition into one batch of its store.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "trawl/lease.h"

#include "base/one_thread.h"
#include "frontier/commit/operation.h"
#include "frontier/commit/partition.h"
#include "frontier/commit/waiting_depths.h"
#include "frontier/store/store.h"
#include "frontier/store/url_identity.h"

namespace trawl {

struct GroupWriterOptions {
  bool ledger = false;  // the crawl keeps a ledger
  bool exact = false;   // the ledger decides what was admitted
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
  GroupWriter(Store& store, Partition& partition, GroupWriterOptions options);
  // Reads from the store when the first deferred URL is due.
  Result<void> read_first_deferred();

  // Makes the whole group durable, or nothing of it. Of a drop it makes only a part: call again
  // with the operation until Drop::done.
  Result<void> write(OperationGroup& group);

  // Whose hosts it writes.
  Partition& partition() noexcept { return partition_; }
  const Partition& partition() const noexcept { return partition_; }
  SeenChecks seen_checks() const noexcept {
    return {checked_.load(std::memory_order_relaxed), wrong_.load(std::memory_order_relaxed)};
  }

 private:
  Result<void> add_admitted(Operation& operation, Counters& totals, Store::Batch& batch);
  Result<void> add_seen_only(const Operation& operation, Counters& totals, Store::Batch& batch);
  void note_new_ones(const OperationGroup& group);
  Result<bool> was_admitted(Fingerprint fingerprint);
  Result<void> add_ended(Operation::Ended& ended, Counters& totals, Store::Batch& batch);
  Result<void> set_aside(const Operation::SetAside& url, Counters& totals, Store::Batch& batch);
  Result<void> hold_links(const Operation& operation, Counters& totals, Store::Batch& batch);
  Result<void> restore(Operation& operation, Counters& totals, Store::Batch& batch,
                       std::vector<QueuedUrl>& queued);
  Result<bool> forget_set_aside(Fingerprint fingerprint, Counters& totals, Store::Batch& batch);
  Result<std::optional<SetAsideState>> state_of(Fingerprint fingerprint) const;
  void defer(std::int64_t not_before, std::uint64_t sequence, HostId host, std::int32_t priority,
             std::string_view record, Counters& totals, Store::Batch& batch);
  Result<void> promote(Counters& totals, Store::Batch& batch, std::vector<QueuedUrl>& promoted);
  void lower_depths(const Operation& operation, Counters& totals, Store::Batch& batch);
  void end_depth(const Operation::Ended& ended, bool waits, Store::Batch& batch);
  void drop_depth(std::string_view record, Store::Batch& batch);
  void add_changed_hosts(const OperationGroup& group, Store::Batch& batch) const;
  // `before`: the totals that `changed` was computed from.
  Result<void> commit(const Store::Batch& batch, const Counters& before, const Counters& changed);
  Result<void> check_seen(const OperationGroup& group);
  Result<void> drop_some(Operation::Drop& drop);
  Result<void> drop_some_queued(Operation::Drop& drop);
  Result<void> drop_deferred(Operation::Drop& drop);
  // URLs that one batch of a drop deletes.
  struct Dropped {
    std::size_t queued = 0;
    std::size_t deferred = 0;
    std::size_t recrawls = 0;  // of the deferred ones
  };
  Result<void> commit_drop(Operation::Drop& drop, const Dropped& dropped);

  Store& store_;
  Partition& partition_;
  const GroupWriterOptions options_;
  OneAtATime writing_;                     // the committer owns the members without atomic or mutex
  Store::Batch batch_;                     // reused for its memory
  std::vector<Fingerprint> fingerprints_;  // the same
  // With a ledger, and if the group has offers with `again`: the other fingerprints that it admits.
  std::set<Fingerprint> new_ones_;
  // What the batch changes in kSetAside; nullopt: removed.
  std::map<Fingerprint, std::optional<SetAsideState>> set_aside_now_;
  // A cache of recently held links, by hash: most links are on many pages.
  std::vector<Fingerprint> held_lately_;
  std::atomic<std::uint64_t> checked_{0};
  std::atomic<std::uint64_t> wrong_{0};
  std::set<Fingerprint> wrong_ones_;  // the first kWrongOnesKept, so that none counts twice
};

}  // namespace trawl
