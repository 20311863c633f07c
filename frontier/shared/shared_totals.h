// SharedTotals: the totals of a crawl over all its buckets.
#pragma once

#include <cstdint>
#include <span>

#include "frontier/shared/bucket_store.h"
#include "frontier/store/counters.h"

namespace trawl {

struct SharedTotals {
  // Sums, except `deepest`, the greatest. Without what owners have not written yet.
  FrontierCounters counters = {};
  std::uint64_t open = 0;      // URLs queued or deferred
  std::uint64_t messages = 0;  // of crawlers for the owners of other buckets, not taken yet
  std::uint64_t commands = 0;  // of people, the same
  BucketId buckets = 0;
  BucketId owned = 0;         // of these, those that somebody has claimed and not released
  BucketId claimed = 0;       // of these, those that somebody has claimed once
  std::uint64_t batches = 0;  // written, of all buckets
};

SharedTotals totals_of(std::span<const BucketStore::State> buckets);

}  // namespace trawl
