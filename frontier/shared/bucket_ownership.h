// BucketOwnership: which buckets this crawler owns, and until when it may start their requests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trawl/result.h"

#include "frontier/shared/boot_clock.h"
#include "frontier/shared/bucket_batch.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/member_table.h"

namespace trawl {

// The rules of tests/cluster/protocol_model.h. Only durations of the own clock count:
// - A bucket whose token and last renewal this crawler has seen unchanged for the lease time, or
//   that has no token, may be claimed.
// - A claim or renewal that is replicated allows starts until 0.8 of the lease time after it was
//   sent.
// - Each claim and each renewal has a name that is never used again.
// Not thread-safe, except may_start().
class BucketOwnership {
 public:
  struct Options {
    std::string member;   // its name: the same in every run of this crawler
    std::string session;  // of this process: unique
    BucketId buckets = 256;
    std::chrono::milliseconds lease{10'000};
    // Of the last process of this member, if it is known to have ended, for example by the lock on
    // its directory: what it owned may be claimed at once. Empty: not known.
    std::string previous_session = {};
  };
  // What step() found.
  struct Events {
    struct Gained {
      BucketId bucket;
      BucketMeta meta;
    };
    struct Renewed {
      BucketId bucket;
      std::uint64_t version;  // as it was at the renewal: of the last batch that Redis has
    };
    // Owned from now on: load it, and let its hosts rest their delays.
    std::vector<Gained> gained;
    std::vector<Renewed> renewed;
    std::vector<BucketId> lost;  // drop it
    // Another member should own it: start no further requests, end those open, then release() it.
    std::vector<BucketId> to_release;
    // Its node lost all data of it: it is dropped, and not claimed again.
    std::vector<BucketId> emptied;
    // What did not work; it is tried again.
    std::vector<Error> troubles;
  };

  // `store` is its alone, and so must be the client of it: behind a pipeline full of batches, or
  // behind the WAIT that ends it, renewals would come too late. Tests give clocks of their own.
  BucketOwnership(BucketStore& store, Options options,
                  std::function<BootTime()> clock = BootClock::now);

  // Renews, looks at the others, and claims, as far as each is due. Call it at least every tenth of
  // the lease time. Errors: kInUse if another crawler has this member's name: stop. A crawler that
  // is started again waits until its old record has not moved for the time of a lease.
  Result<Events> step();
  // For a crawler that is about to end: claims no more, and takes this member off the table, so
  // that the others claim what it releases. It goes on renewing what it owns.
  BucketStore::Written leave();
  // Gives buckets back whose batches are all replicated. They are dropped in any case.
  std::vector<BucketStore::Written> release(std::span<const BucketId> buckets);
  BucketStore::Written release(BucketId bucket) { return release(std::span(&bucket, 1)).front(); }
  // For a bucket that cannot be loaded, or whose batch was refused. This crawler leaves it alone
  // for the time of a lease.
  void drop(BucketId bucket);
  // For a crawler that must stop: may_start() is false from now on, and step() is not called again.
  void stop_starts();
  // What the next records of this member say: MemberRecord::idle.
  void set_idle(std::uint64_t mark) { idle_ = mark; }

  // Whether a request to a host of the bucket may start. Thread-safe.
  bool may_start(BucketId bucket, BootTime now) const {
    return now.time_since_epoch().count() <
           buckets_[bucket].deadline.load(std::memory_order_relaxed);
  }
  // Empty if it is not owned.
  const std::string& token(BucketId bucket) const { return buckets_[bucket].token; }
  std::size_t owned() const;
  std::vector<std::string> living() const { return members_.living(clock_()); }
  std::uint64_t buckets_of(std::string_view member) const { return members_.buckets_of(member); }

 private:
  struct Bucket {
    std::string token;  // of the own claim; empty: not owned
    bool to_release = false;
    bool emptied = false;
    std::atomic<BootClock::rep> deadline{0};
    std::optional<BootTime> avoided_until;
    // Of other owners.
    BucketStore::Owner seen;
    std::optional<BootTime> seen_since;
  };

  std::string fresh_name() { return options_.session + "." + std::to_string(++names_); }
  void forget(BucketId bucket);
  void renew(Events& events);
  Result<void> meet(Events& events);
  void look(Events& events);
  void claim(std::vector<BucketStore::Claim> claims, Events& events);
  bool is_abandoned(const std::string& token) const;
  void check_whether_emptied(const std::vector<BucketId>& lost, Events& events);
  void allow_starts(Bucket& bucket, BootTime sent);

  BucketStore& store_;
  Options options_;
  std::function<BootTime()> clock_;
  MemberTable members_;
  std::unique_ptr<Bucket[]> buckets_;
  std::uint64_t names_ = 0;
  std::uint64_t idle_ = 0;
  bool claims_ = true;
  std::optional<BootTime> renewed_, met_, looked_;
  bool renewed_in_vain_ = false;  // by the last step, some of them
};

}  // namespace trawl
