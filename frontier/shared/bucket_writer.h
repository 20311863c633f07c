// BucketWriter: writes the batches of all buckets that this crawler owns, each once and in order.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/clocks.h"
#include "trawl/result.h"

#include "frontier/redis/redis_command.h"
#include "frontier/shared/bucket_hosts.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/new_urls.h"
#include "frontier/shared/noted_depths.h"
#include "frontier/store/store.h"

namespace trawl {

// Batches are numbered. Those that a failover may take back are kept, and sent again when Redis
// answers that it lacks them (tests/cluster/protocol_model.h). Not thread-safe.
class BucketWriter {
 public:
  struct Options {
    // Batches are kept for this time, as long as they take up to so many bytes in all.
    std::chrono::milliseconds kept{10'000};
    std::uint64_t max_bytes = 64u << 20;
    // Whether to end the wait for Redis.
    std::function<bool()> gives_up = {};
    std::function<SteadyTime()> clock;
    // Between attempts while Redis has no memory or cannot be reached.
    std::chrono::milliseconds pause{100};
    // Called while it waits for Redis, with the reason, and with nothing when it goes on.
    std::function<void(std::string_view why)> waits = {};
  };
  struct Counts {
    std::uint64_t batches = 0;   // written
    std::uint64_t replayed = 0;  // that Redis lacked
    std::uint64_t missing = 0;   // URLs that ended and were not in their queues
  };
  struct Part {
    BucketId bucket = 0;
    const StoreBatch* batch = nullptr;  // null: only sends again what Redis lacks
    // Errors: kInUse, another crawler owns the bucket; kCorrupt, Redis lacks batches that are not
    // kept any more; kUnavailable, it gave up; those that Redis answered. Drop the bucket then.
    Result<void> result = {};
  };

  BucketWriter(BucketStore& store, Options options) : store_(store), options_(std::move(options)) {}

  // The bucket was claimed with this token, and has this state; `hosts` and `depths`: as loaded.
  void begin(BucketId bucket, std::string token, const BucketMeta& meta,
             std::shared_ptr<BucketHosts> hosts, std::shared_ptr<NotedDepths> depths);
  // It is owned no more.
  void end(BucketId bucket);
  // Writes a batch of each of several buckets, at most one of each, and pushes; all at once. What
  // Redis has no memory for waits until there is some, a push to a key that another program uses
  // until that is gone, and nothing else does. Errors: a push was refused, or it gave up.
  Result<void> write(std::span<Part> parts, std::span<const RedisCommand> pushes = {});
  // A renewal found the bucket at this version: sends again what it lacks.
  Result<void> check(BucketId bucket, std::uint64_t version);
  // The number of the last batch that was acknowledged.
  std::uint64_t acknowledged(BucketId bucket) const;
  // The bucket is at this version now: what is missing goes with the next write().
  void note_version(BucketId bucket, std::uint64_t version);
  // What may be lost with the bucket, the oldest first: what the batches admitted that are kept.
  std::vector<NewUrls> take_new_urls(BucketId bucket);

  Counts counts() const noexcept { return counts_; }
  // Of the batches that are kept.
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Sent {
    std::uint64_t number;
    RedisCommand command;
    SteadyTime at;
    NewUrls urls;
    std::uint64_t bytes;
  };
  struct Bucket {
    std::string token;
    std::uint64_t last = 0;  // number of the newest batch
    std::uint64_t done = 0;  // batches up to here were acknowledged
    std::uint64_t segment = 0;
    std::uint64_t segment_bytes = 0;
    std::shared_ptr<BucketHosts> hosts;
    std::shared_ptr<NotedDepths> depths;
    std::deque<Sent> kept;  // up to `last`, without gaps
    std::optional<Error> lost;
  };

  Result<void> add(BucketId id, Bucket& bucket, const StoreBatch& batch);
  Result<void> send(std::span<Bucket*> buckets, std::span<const RedisCommand> pushes);
  Error give_up(std::span<Bucket*> buckets, const std::string& why) const;
  // Returns whether to pause before the next attempt.
  bool settle(Bucket& bucket, std::uint64_t number, const BucketStore::Written& written);
  void forget_old(Bucket& bucket);
  void forget_first(Bucket& bucket);

  BucketStore& store_;
  const Options options_;
  std::map<BucketId, Bucket> buckets_;
  Counts counts_;
  std::uint64_t bytes_ = 0;
};

}  // namespace trawl
