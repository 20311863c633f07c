// RedisStore: a Store whose records are those of a bucket in Redis, as its owner has them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "frontier/shared/bucket_hosts.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/bucket_writer.h"
#include "frontier/store/store.h"
#include "frontier/store/url_identity.h"

namespace trawl {

// Queues stay in Redis. Records of hosts, deferred URLs and those set aside are also in memory,
// where they are read. Depths that were noted are in memory alone, and there is no ledger.
//
// A queue is read in one command each time, from its head: several would miss URLs if others before
// them were taken in between. What is before the part that is wanted is leased, or in the head
// that the shard has, so that this is not much.
class RedisStore final : public Store {
 public:
  // Reads of all buckets, on a connection that no writer waits for.
  struct Reader {
    explicit Reader(BucketStore& buckets) : buckets(buckets) {}
    Mutex mutex;
    BucketStore& buckets TRAWL_GUARDED_BY(mutex);
  };

  // Loads a bucket that was claimed with `token` and begins to write it. All that is passed must
  // outlive the store. Errors: those of Redis; kCorrupt, naming the key.
  static Result<std::unique_ptr<RedisStore>> load(BucketWriter& writer, Reader& reader,
                                                  const UrlIdentity& identity, BucketId bucket,
                                                  const std::string& token, const BucketMeta& meta);

  // By one thread at a time.
  Result<void> write(const StoreBatch& batch) override;
  Result<void> sync() override { return {}; }
  Result<void> trim_admissions(std::uint64_t) override { return {}; }

  Result<void> read_queues(std::span<QueueRead> reads) const override;
  Result<void> read_hosts(std::span<HostRead> reads) const override;

  Result<void> visit_deferred(const std::function<bool(const DeferredUrl&)>& visit) const override;
  Result<std::optional<SetAsideState>> set_aside_state(Fingerprint fingerprint) const override;
  Result<std::optional<LedgerRecord>> ledger(Fingerprint) const override { return std::nullopt; }
  Result<void> find_in_ledger(std::span<const Fingerprint> fingerprints,
                              std::span<bool> found) const override;

  // As of loading.
  Result<Counters> counters() const override { return counters_; }
  // Fingerprints have their lower half alone (Partition::Keys::kLower).
  Result<void> replay_admissions(
      std::uint64_t sequence,
      const std::function<void(std::uint64_t first, std::span<const Fingerprint>)>& visit)
      const override;
  Result<void> visit_queues(
      HostId from, std::size_t limit,
      const std::function<bool(HostId, const QueueBeginning&)>& visit) const override;
  Result<void> visit_pending(
      std::optional<HostId> host,
      const std::function<bool(HostId, const QueueOrder&, std::string_view)>& visit) const override;
  std::unique_ptr<QueueView> view_queues() const override;
  Result<std::optional<HostRecord>> host(HostId host) const override {
    return hosts_->record(host);
  }
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
  Result<std::string> set_aside_rules() const override { return std::string(); }
  std::uint64_t memory() const override { return 0; }

 private:
  class Mirror;  // of a batch's changes, in memory

  RedisStore(BucketWriter& writer, Reader& reader, BucketId bucket)
      : writer_(writer), reader_(reader), bucket_(bucket) {}
  Result<void> load(const UrlIdentity& identity, const BucketMeta& meta);
  // The URLs of a queue behind `after` until `visit` returns false; whether there are no others.
  Result<bool> visit_queue(HostId host, const std::optional<QueueOrder>& after, std::size_t limit,
                           const std::function<bool(QueuedUrl&&)>& visit) const;

  BucketWriter& writer_;
  Reader& reader_;
  const BucketId bucket_;
  Counters counters_;
  std::uint64_t segment_ = 0;
  const std::shared_ptr<BucketHosts> hosts_ = std::make_shared<BucketHosts>();
  mutable Mutex mutex_;
  using DeferredOrder = std::pair<std::int64_t, std::uint64_t>;  // time, sequence
  std::map<DeferredOrder, DeferredUrl> deferred_ TRAWL_GUARDED_BY(mutex_);
  std::map<Fingerprint, std::string> set_aside_ TRAWL_GUARDED_BY(mutex_);
  std::map<Fingerprint, std::uint32_t> depths_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
