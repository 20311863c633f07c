// BucketConnection: a client of Redis and the buckets behind it.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "trawl/result.h"

#include "base/mutex.h"
#include "frontier/redis/redis_client.h"
#include "frontier/shared/bucket_keys.h"
#include "frontier/shared/bucket_store.h"

namespace trawl {

// Thread-safe: one call at a time.
class BucketConnection {
 public:
  // `patience`: BucketStore::set_patience(). Errors: those of RedisClient::connect().
  static Result<std::unique_ptr<BucketConnection>> open(const RedisOptions& redis, BucketKeys keys,
                                                        bool replicated,
                                                        std::chrono::milliseconds patience) {
    auto client = RedisClient::connect(redis);
    if (!client) return tl::unexpected(client.error());
    return std::unique_ptr<BucketConnection>(
        new BucketConnection(std::move(*client), std::move(keys), replicated, patience));
  }

  // Returns call(buckets).
  template <class Call>
  auto with(const Call& call) {
    const MutexLock lock(mutex_);
    return call(buckets_);
  }
  // For the only user of a connection.
  BucketStore& buckets_of_one_thread() TRAWL_NO_THREAD_SAFETY_ANALYSIS { return buckets_; }

 private:
  BucketConnection(std::unique_ptr<RedisClient> client, BucketKeys keys, bool replicated,
                   std::chrono::milliseconds patience)
      : client_(std::move(client)), buckets_(*client_, std::move(keys), replicated) {
    buckets_.set_patience(patience);
  }

  Mutex mutex_;
  const std::unique_ptr<RedisClient> client_;
  BucketStore buckets_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
