// SharedStore: a Store of the buckets in Redis that this crawler owns.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "trawl/clocks.h"

#include "base/mutex.h"
#include "frontier/redis/redis_options.h"
#include "frontier/shared/bucket_connection.h"
#include "frontier/shared/bucket_keys.h"
#include "frontier/shared/bucket_loader.h"
#include "frontier/shared/bucket_queue_read.h"
#include "frontier/shared/nodes_away.h"
#include "frontier/shared/owned_bucket.h"
#include "frontier/shared/shared_writer.h"
#include "frontier/store/store.h"
#include "frontier/store/url_identity.h"

namespace trawl {

// HostIds and fingerprints say which bucket they belong to (UrlIdentity). A bucket that is not
// there, since it was lost a moment ago, reads as empty.
//
// While Redis is away reads and writes wait for it, however long, until give_up(); except
// read_queues_at_once(), which leaves out nodes that do not answer soon (NodesAway): mostly within
// 300 ms. Only queues are read from Redis. There is no ledger.
//
// Threads: write(), write_parts(), pass_on() and end() by one at a time, the committer; everything
// else by any, also meanwhile. Loading, reading and writing have connections of their own: none
// waits for another.
class SharedStore final : public Store {
 public:
  struct Options {
    RedisOptions redis;
    std::string crawl;       // BucketKeys
    bool replicated = true;  // BucketStore
    UrlIdentity identity;
    // BucketLoader::Options.
    std::function<std::optional<std::uint64_t>(std::string_view host)> page_limit = {};
    // A bucket was lost, by a write: another crawler owns it (kInUse), or Redis lacks more of it
    // than is kept (kCorrupt), or refuses its batches. What it admitted is in its inbox, unless
    // write_parts() fails. Called once in that; end() it afterwards, not in the call.
    std::function<void(BucketId, const Error&)> lost = {};
    std::function<SteadyTime()> clock = [] { return std::chrono::steady_clock::now(); };
    // Batches are kept for this time, and messages for others longer; each take up to so many
    // bytes.
    std::chrono::milliseconds kept{10'000};
    std::uint64_t max_kept_bytes = 64u << 20;
    // How long one attempt to reach Redis takes, hence how long calls go on after give_up().
    std::chrono::milliseconds patience{1000};
  };
  using Counts = SharedWriter::Counts;

  // Errors: those of RedisClient::connect().
  static Result<std::unique_ptr<SharedStore>> open(Options options);

  // Loads a bucket that was claimed with `token`, and gives `visitor` what a frontier needs of it;
  // returns its totals. Reads of the bucket work before the first host is visited. Do not write it
  // before this returns. Errors: kInUse, it was ended meanwhile; kUnavailable after give_up();
  // those of Redis; kCorrupt, naming the key.
  Result<Counters> take(BucketId bucket, const std::string& token, const BucketMeta& meta,
                        const BucketVisitor& visitor);
  // Forgets a bucket, if it is there. A take() of it that is under way fails.
  void end(BucketId bucket);
  // Has a take() that is under way fail, or forgets what one that failed has left. From any thread;
  // not for a bucket that was written.
  void end_load(BucketId bucket);
  // The bucket was lost in another way than by a write. A failover may have taken back what was
  // written last: passes on to its inbox what that admitted. Then end() it. Errors: as of
  // write_parts().
  Result<void> pass_on(BucketId bucket);
  // A renewal found the bucket at this version. If a failover took batches back, the next
  // write_parts() sends them again; that may have neither parts nor links.
  void note_version(BucketId bucket, std::uint64_t version) {
    writer_.note_version(bucket, version);
  }

  // Only of a store with one bucket. Errors: as of write_parts(); kInUse if it is lost.
  Result<void> write(const StoreBatch& batch) override;
  // See GroupWriterOptions. Call it at least every few seconds, if only with nothing: it sends
  // again what a failover has taken back. Errors: kUnavailable after give_up(); Redis refuses
  // messages.
  Result<void> write_parts(std::span<const BatchPart> parts, std::span<const LinksForOwner> links);

  // From now on nothing waits for a Redis that is away or full.
  void give_up() noexcept { gives_up_.store(true, std::memory_order_relaxed); }
  // Why a write waits, or else a read; empty if none does.
  std::string waits_for() const;
  Counts counts() const { return writer_.counts(); }

  Result<void> sync() override { return {}; }
  Result<void> trim_admissions(std::uint64_t) override { return {}; }

  Result<void> read_queues(std::span<QueueRead> reads) const override;
  Result<void> read_queues_at_once(std::span<QueueRead> reads) const override;
  Result<void> read_hosts(std::span<HostRead> reads) const override;

  // Over all buckets; a URL costs the logarithm of their number.
  Result<void> visit_deferred(const std::function<bool(const DeferredUrl&)>& visit) const override;
  // Of one.
  Result<void> visit_deferred_of(
      BucketId bucket, const std::function<bool(const DeferredUrl&)>& visit) const override;
  Result<std::optional<SetAsideState>> set_aside_state(Fingerprint fingerprint) const override;
  Result<std::optional<LedgerRecord>> ledger(Fingerprint) const override { return std::nullopt; }
  Result<void> find_in_ledger(std::span<const Fingerprint> fingerprints,
                              std::span<bool> found) const override;

  // Each bucket has its own: take().
  Result<Counters> counters() const override { return Counters{}; }
  Result<void> replay_admissions(
      std::uint64_t,
      const std::function<void(std::uint64_t, std::span<const Fingerprint>)>&) const override {
    return {};
  }
  Result<void> visit_queues(
      HostId from, std::size_t limit,
      const std::function<bool(HostId, const QueueBeginning&)>& visit) const override;
  Result<void> visit_pending(
      std::optional<HostId> host,
      const std::function<bool(HostId, const QueueOrder&, std::string_view)>& visit) const override;
  Result<std::uint64_t> queued(HostId host) const override;
  std::unique_ptr<QueueView> view_queues() const override;
  Result<std::optional<HostRecord>> host(HostId host) const override;
  Result<void> visit_hosts(HostId from,
                           const std::function<bool(HostId, HostRecord)>& visit) const override;
  Result<void> visit_ledger(
      const std::function<void(Fingerprint, const LedgerRecord&)>&) const override {
    return {};
  }
  Result<std::optional<std::uint32_t>> depth(Fingerprint fingerprint) const override;
  Result<void> visit_depths(
      const std::function<bool(Fingerprint, std::uint32_t depth)>& visit) const override;
  Result<std::optional<std::string>> set_aside(Fingerprint fingerprint) const override;
  Result<void> visit_set_aside(
      const std::optional<Fingerprint>& after,
      const std::function<bool(Fingerprint, std::string_view value)>& visit) const override;
  // The queued URLs of a host, from the back to the front in parts, until `visit` returns false.
  // One that is queued during the whole call is visited, perhaps twice.
  Result<void> visit_queue(HostId host,
                           const std::function<bool(std::span<const QueuedUrl> urls)>& visit) const;
  // The hosts of a bucket that have counts of the URLs that were admitted
  // (StoreBatch::count_admitted()).
  void visit_admitted_of(
      BucketId bucket,
      const std::function<void(std::string_view host, std::uint64_t)>& visit) const;
  // Of one bucket, all.
  void visit_set_aside_of(
      BucketId bucket, const std::function<void(Fingerprint, std::string_view value)>& visit) const;
  Result<std::string> set_aside_rules() const override { return std::string(); }
  std::uint64_t memory() const override;

 private:
  using BucketPtr = std::shared_ptr<OwnedBucket>;
  using Connection = std::unique_ptr<BucketConnection>;
  struct Connections {
    // Several threads lease at a time, and several wait for what they read: the committer, which
    // drops hosts, and threads that end leases or look at the frontier.
    std::array<Connection, 4> at_once, readers;
    Connection loader, writer;
  };

  SharedStore(Options options, Connections connections);
  SharedWriter::Options writer_options() const;

  BucketId bucket_of(std::uint64_t id) const { return options_.identity.bucket_of(id); }
  BucketPtr find(BucketId bucket) const;
  std::vector<BucketPtr> owned() const;  // in their order
  Result<void> take(OwnedBucket& bucket, BucketLoader& loader, const BucketVisitor& visitor);
  Result<void> begin_reads(const BucketPtr& bucket);
  // Calls `read` with the buckets of a connection until it does not fail for want of Redis.
  template <class Read>
  Result<void> with_patience(BucketConnection& connection, const Read& read,
                             const OwnedBucket* bucket = nullptr) const;
  BucketQueueRead where(QueueRead& read) const;

  const Options options_;
  const Connections connections_;
  std::atomic<bool> gives_up_{false};

  mutable Mutex mutex_;
  std::map<BucketId, BucketPtr> buckets_ TRAWL_GUARDED_BY(mutex_);
  std::map<BucketId, BucketPtr> loading_ TRAWL_GUARDED_BY(mutex_);
  mutable std::map<std::thread::id, std::string> reads_wait_ TRAWL_GUARDED_BY(mutex_);
  mutable NodesAway nodes_away_;  // of read_queues_at_once()

  SharedWriter writer_;
};

}  // namespace trawl
