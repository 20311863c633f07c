// OwnedBucket: what the owner of a bucket has of it in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "trawl/fingerprint.h"

#include "base/mutex.h"
#include "frontier/shared/bucket_batch.h"
#include "frontier/shared/bucket_hosts.h"
#include "frontier/shared/bucket_keys.h"
#include "frontier/shared/noted_depths.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/store_batch.h"

namespace trawl {

// Records of hosts, deferred URLs, those set aside, and depths that were noted, which are in Redis
// too. Queues are only in Redis. Thread-safe.
class OwnedBucket {
 public:
  using DeferredOrder = std::pair<std::int64_t, std::uint64_t>;  // time, sequence

  OwnedBucket(BucketId bucket, std::string token, BucketMeta meta)
      : id(bucket), token(std::move(token)), meta(std::move(meta)) {}

  const BucketId id;
  const std::string token;
  const BucketMeta meta;  // as it was claimed
  const std::shared_ptr<BucketHosts> hosts = std::make_shared<BucketHosts>();
  const std::shared_ptr<NotedDepths> depths = std::make_shared<NotedDepths>();

  // As a new owner reads them; perhaps twice.
  void load(DeferredUrl url);
  void load(Fingerprint fingerprint, std::string_view set_aside);
  // What a batch of the owner changes, except the hosts and depths. Errors: kCorrupt.
  Result<void> apply(const StoreBatch& batch);

  // The first deferred URL after a place, or of all.
  std::optional<DeferredUrl> next_deferred(const std::optional<DeferredOrder>& after) const;
  std::optional<std::string> set_aside(Fingerprint fingerprint) const;
  std::optional<std::pair<Fingerprint, std::string>> next_set_aside(
      const std::optional<Fingerprint>& after) const;
  std::uint64_t memory() const;

  // It is owned no more: reads of it end.
  void end() noexcept { ended_.store(true, std::memory_order_relaxed); }
  bool ended() const noexcept { return ended_.load(std::memory_order_relaxed); }

 private:
  class Changes;  // of a batch

  std::atomic<bool> ended_{false};
  mutable Mutex mutex_;
  std::map<DeferredOrder, DeferredUrl> deferred_ TRAWL_GUARDED_BY(mutex_);
  std::map<Fingerprint, std::string> set_aside_ TRAWL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ TRAWL_GUARDED_BY(mutex_) = 0;  // of records in the maps
};

}  // namespace trawl
