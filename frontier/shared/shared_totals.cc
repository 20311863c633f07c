#include "frontier/shared/shared_totals.h"

#include <algorithm>

namespace trawl {

namespace {

void add(FrontierCounters& sum, const FrontierCounters& one) {
  static_assert(sizeof(FrontierCounters) == 21 * sizeof(std::uint64_t), "each must be added");
  using Count = std::uint64_t FrontierCounters::*;
  for (const Count count : {&FrontierCounters::admitted,
                            &FrontierCounters::completed,
                            &FrontierCounters::failed,
                            &FrontierCounters::skipped,
                            &FrontierCounters::succeeded,
                            &FrontierCounters::seeds_succeeded,
                            &FrontierCounters::held,
                            &FrontierCounters::set_aside_failed,
                            &FrontierCounters::requeued,
                            &FrontierCounters::not_set_aside,
                            &FrontierCounters::seen,
                            &FrontierCounters::invalid,
                            &FrontierCounters::dropped,
                            &FrontierCounters::retried,
                            &FrontierCounters::recrawls,
                            &FrontierCounters::deferred,
                            &FrontierCounters::recrawls_deferred,
                            &FrontierCounters::depth_repairs,
                            &FrontierCounters::readmitted,
                            &FrontierCounters::seen_only})
    sum.*count += one.*count;
  sum.deepest = std::max(sum.deepest, one.deepest);
}

}  // namespace

SharedTotals totals_of(std::span<const BucketStore::State> buckets) {
  SharedTotals totals;
  for (const BucketStore::State& bucket : buckets) {
    add(totals.counters, bucket.counters);
    totals.open += bucket.open;
    totals.messages += bucket.messages;
    totals.commands += bucket.commands;
    totals.batches += bucket.version;
    totals.owned += bucket.token.empty() ? 0 : 1;
    totals.claimed += bucket.exists ? 1 : 0;
    ++totals.buckets;
  }
  return totals;
}

}  // namespace trawl
