// Makes the batches of a bucket from those that its writer fills.
#pragma once

#include <cstdint>

#include "trawl/result.h"

#include "frontier/shared/bucket_batch.h"
#include "frontier/shared/bucket_hosts.h"
#include "frontier/shared/noted_depths.h"
#include "frontier/store/store_batch.h"

namespace trawl {

// Of a fingerprint a bucket stores the lower half: the upper one has the bucket. Ledger and rules
// are not stored. `hosts` and `depths` are what they were after the last batch, and are changed.
// Errors: kCorrupt.
Result<BucketBatch> make_bucket_batch(const StoreBatch& batch, BucketHosts& hosts,
                                      NotedDepths& depths);

}  // namespace trawl
