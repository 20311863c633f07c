// SharedWriter: writes what the committer of a shared frontier has for Redis.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
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

#include "base/mutex.h"
#include "base/one_thread.h"
#include "frontier/redis/redis_command.h"
#include "frontier/redis/redis_options.h"
#include "frontier/shared/bucket_keys.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/bucket_writer.h"
#include "frontier/shared/message_ids.h"
#include "frontier/shared/new_urls.h"
#include "frontier/shared/owned_bucket.h"
#include "frontier/shared/sent_messages.h"
#include "frontier/store/store.h"
#include "frontier/store/url_identity.h"

namespace trawl {

// Batches of all buckets and messages for others go in one pipeline to each node. Of a bucket that
// is lost with a batch, what may be lost with it goes to its inbox, whose owner asks its filter: so
// each URL that was admitted is in Redis when a call returns, with the bucket or in its inbox.
//
// Redis out of memory: batches that make it larger wait, and so does the call; the others go
// through meanwhile. So do messages for an inbox whose key another program uses. Later groups
// cannot: their pages may rely on URLs that wait (N4).
//
// One thread at a time, the committer, except where it says so.
class SharedWriter {
 public:
  struct Options {
    BucketWriter::Options writer;  // without `waits`
    // A bucket was lost by a write; called once, when its URLs are in its inbox, or that failed,
    // which is an error of the call.
    std::function<void(BucketId, const Error&)> lost = {};
    // Messages are kept for this time, longer than it takes to notice that the nodes have changed.
    std::chrono::milliseconds messages_kept{30'000};
  };
  struct Counts : BucketWriter::Counts {
    std::uint64_t messages = 0;   // sent to the owners of other buckets
    std::uint64_t repeated = 0;   // of these, again after a failover
    std::uint64_t passed_on = 0;  // messages for the owners of buckets that were lost
  };
  using BucketPtr = std::shared_ptr<OwnedBucket>;

  // `store` is its alone; all must outlive it.
  SharedWriter(BucketStore& store, const UrlIdentity& identity, Options options);

  // A part with the bucket as it is owned; without one its URLs are passed on.
  struct Part {
    BucketId id = 0;
    BucketPtr bucket;
    const StoreBatch* batch = nullptr;
  };
  // As GroupWriterOptions::write_parts. What the batches that were written change is also changed
  // in their buckets. Call it every few seconds. Errors: it gave up; Redis refuses messages.
  Result<void> write(std::span<const Part> parts, std::span<const LinksForOwner> links);
  // Passes on what may be lost with a bucket.
  Result<void> pass_on(BucketId bucket);
  void end(BucketId bucket);
  // Whether it was lost by a write, or passed on.
  bool is_lost(BucketId bucket) const;

  // A renewal found the bucket at this version: the next write() looks, and sends again what it
  // lacks. Thread-safe.
  void note_version(BucketId bucket, std::uint64_t version);
  // Why it waits for Redis; empty if it does not. Thread-safe.
  std::string waits_for() const;
  // Thread-safe.
  Counts counts() const;
  // Of what is kept. Thread-safe.
  std::uint64_t bytes() const;

 private:
  struct Written {
    BucketPtr bucket;
    bool lost = false;
  };
  // Messages for inboxes, several of a bucket in a command.
  struct Messages {
    std::vector<BucketId> buckets;
    std::vector<RedisCommand> commands;
  };

  BucketWriter::Options writer_options(Options& options);
  bool is_written(const Part& part);
  void add_messages(BucketId bucket, std::vector<std::string> bodies, Messages& messages);
  std::uint64_t add_new_urls(BucketId bucket, const std::vector<NewUrls>& urls, Messages& messages);
  std::uint64_t add_unowned(const Part& part, Messages& messages);
  std::optional<SentMessages::Node> node_of(BucketId bucket) const;
  std::uint64_t add_taken_back(Messages& messages);
  void add_behind(std::vector<BucketWriter::Part>& parts);
  Result<void> deliver(std::span<BucketWriter::Part> parts, Messages messages);
  Result<void> finish(std::span<BucketWriter::Part> parts);
  void publish_counts();

  BucketStore& store_;
  const UrlIdentity& identity_;
  const std::function<void(BucketId, const Error&)> lost_;
  const std::function<SteadyTime()> clock_;
  OneAtATime writing_;
  std::map<BucketId, Written> written_;
  MessageIds ids_;
  SentMessages sent_;
  Counts current_;

  mutable Mutex mutex_;
  std::string waits_for_ TRAWL_GUARDED_BY(mutex_);
  Counts counts_ TRAWL_GUARDED_BY(mutex_);
  std::uint64_t bytes_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::map<BucketId, std::uint64_t> versions_ TRAWL_GUARDED_BY(mutex_);

  BucketWriter writer_;  // the last: its options use the others
};

}  // namespace trawl
