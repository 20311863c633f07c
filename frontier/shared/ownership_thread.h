// OwnershipThread: owns buckets, on a thread of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "trawl/result.h"

#include "base/mutex.h"
#include "frontier/redis/redis_client.h"
#include "frontier/shared/boot_clock.h"
#include "frontier/shared/bucket_batch.h"
#include "frontier/shared/bucket_keys.h"
#include "frontier/shared/bucket_ownership.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/trouble_report.h"

namespace trawl {

// Renews the leases on buckets in time, whatever other threads do. Thread-safe: no call waits for
// Redis, except that a future does.
class OwnershipThread {
 public:
  // Called on the thread, one at a time: renewals wait meanwhile, so they must return quickly. They
  // may call everything but stop(), and must not wait for the futures. Each is needed.
  struct Events {
    // The bucket is owned from now on, under this token: load it, and let its hosts rest.
    std::function<void(BucketId, const std::string& token, const BucketMeta&)> gained;
    // Drop it. Batches of the token are refused.
    std::function<void(BucketId)> lost;
    // Another member should own it: start no further requests of it, end those that are open, then
    // release() it.
    std::function<void(BucketId)> to_release;
    // As lost; its node has lost the bucket's data. It is not claimed again.
    std::function<void(BucketId)> emptied;
    // After each renewal: what the bucket's last batch in Redis was. If it is before one that was
    // acknowledged when this was called for the bucket the last time, a failover has taken batches
    // back: BucketWriter::check().
    std::function<void(std::span<const BucketOwnership::Events::Renewed>)> renewed;
    // What does not work, and is tried again; once, until recovered() is called: TroubleReport.
    std::function<void(const Error&)> trouble;
    std::function<void()> recovered;
    // Another crawler has this member's name (kInUse). No request may start from now on, nothing is
    // renewed or claimed; release() still works. Once.
    std::function<void(const Error&)> failed;
  };
  struct Status {
    std::vector<std::string> living;     // members, this one among them
    std::vector<std::uint64_t> buckets;  // of each of them, by its last record
    std::size_t owned = 0;               // buckets, now
    std::uint64_t gained = 0;
    std::uint64_t lost = 0;  // taken by others, or emptied
    std::uint64_t released = 0;
    std::uint64_t dropped = 0;
    bool has_trouble = false;
  };

  // `client` is its alone: see BucketOwnership. `keys` and `options` as there.
  OwnershipThread(std::unique_ptr<RedisClient> client, BucketKeys keys,
                  BucketOwnership::Options options, Events events);
  ~OwnershipThread() { stop(); }

  void start();  // once
  // Executes what was asked for before, renews no more, and returns when no event is called any
  // more. What is still owned goes to others after the time of a lease. Not from an event.
  void stop();

  // Whether a request to a host of the bucket may start now. For each request: takes no lock.
  bool may_start(BucketId bucket) const { return may_start(bucket, BootClock::now()); }
  bool may_start(BucketId bucket, BootTime now) const { return ownership_.may_start(bucket, now); }

  // Gives a bucket back whose batches are all replicated; others may claim it at once. It is owned
  // no more in any case. kFenced if `token` was lost or released before; kFailed with kClosed after
  // stop().
  std::future<BucketStore::Written> release(BucketId bucket, std::string token);
  // For a bucket that cannot be loaded, or whose batch was refused. The lease
  // ends without a word to other crawlers. Nothing happens if `token` is not the present one.
  void drop(BucketId bucket, std::string token);
  // For a crawler that is about to end: claims no more, and takes this member off the table, so
  // that others claim at once what it releases. It goes on renewing.
  std::future<BucketStore::Written> leave();
  // This crawler has nothing to lease, nothing under way and nothing to write, at these numbers of
  // the last batches of its buckets (IdleMark). Others read it soon. 0: it may have.
  void set_idle(std::uint64_t mark) noexcept { idle_.store(mark, std::memory_order_relaxed); }

  // As of the last step.
  Status status() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Command {
    enum class Kind : std::uint8_t { kRelease, kDrop, kLeave };
    Kind kind;
    BucketId bucket = 0;
    std::string token = {};
    std::promise<BucketStore::Written> done = {};
  };

  std::future<BucketStore::Written> enqueue(Command command);
  void run();
  void step();
  void pass_on(const BucketOwnership::Events& events);
  void execute(std::vector<Command> commands);
  void release(std::vector<Command*> releases);
  void note_status();

  const std::unique_ptr<RedisClient> client_;
  const Events events_;
  const std::chrono::milliseconds pace_;  // between steps
  // Used by the thread alone, except may_start().
  BucketStore store_;
  BucketOwnership ownership_;
  TroubleReport troubles_;
  Status counts_;
  bool has_failed_ = false;

  std::atomic<std::uint64_t> idle_{0};
  mutable Mutex mutex_;
  Condition changed_;
  std::vector<Command> commands_ TRAWL_GUARDED_BY(mutex_);
  bool stopping_ TRAWL_GUARDED_BY(mutex_) = false;
  Status status_ TRAWL_GUARDED_BY(mutex_);
  std::thread thread_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
