// CrawlEnd: whether the crawl as a whole has more to do, for a crawler that has nothing to do.
#pragma once

#include <vector>

#include "trawl/lease.h"
#include "trawl/result.h"

#include "frontier/shared/bucket_keys.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/member_table.h"
#include "frontier/shared/shared_totals.h"

namespace trawl {

// All buckets are read twice, in one pipeline to each node: some 2 ms for 256 buckets. For callers
// that are idle, and then not more often than every few hundred milliseconds. Not thread-safe.
class CrawlEnd {
 public:
  // `store` must outlive this.
  CrawlEnd(BucketStore& store, BucketId buckets) : store_(store), buckets_(buckets) {}

  // Progress of the whole crawl: nothing of it is at the end while messages or commands wait for an
  // owner, or while a bucket was never claimed, as in a node that lost its data.
  // - `finished`: no bucket has queued or deferred URLs.
  // - `exhausted`: every owner says that it has nothing to lease (MemberRecord::idle), at the
  //   batches that its buckets have now; no URL is deferred, and no bucket with URLs is without an
  //   owner. So what is queued is of hosts that are parked or at their limit.
  // - `only_recrawls_wait`: the same with deferred URLs, all of which are recrawls.
  // This crawler must have said so, too (OwnershipThread::set_idle()): `finished` alone needs no
  // idle crawlers.
  // Errors: those of Redis; then it is not known.
  Result<Progress> progress();
  Result<bool> ended() {
    return progress().map([](const Progress& progress) { return progress.at_end(); });
  }
  // Without what damaged buckets have.
  Result<SharedTotals> totals() { return store_.states(buckets_).map(totals_of); }

  // What progress() consists of: one look at all buckets, which alone proves nothing, and what
  // follows from two.
  struct Scan {
    std::vector<BucketStore::State> buckets;
    Progress progress;
  };
  Result<Scan> scan();
  // As progress(), for a caller that has looked once already since it is idle.
  Result<Progress> progress(const Scan& first);
  static Progress conclude(const Scan& first, const Scan& second);

 private:
  BucketStore& store_;
  const BucketId buckets_;
};

}  // namespace trawl
