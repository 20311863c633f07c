// BucketQueueRead: a read of a queue in Redis, together with others.
#pragma once

#include <optional>
#include <span>

#include "trawl/result.h"

#include "frontier/shared/bucket_hosts.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/store/queued_url.h"

namespace trawl {

struct BucketQueueRead {
  QueueRead* read = nullptr;
  BucketId bucket = 0;
  BucketHosts::Queues queues;                // of the host
  std::optional<Error> away = std::nullopt;  // the result: its node did not answer in time
};

// Reads them in as few pipelines as the host with the most queues needs. A queue is read in one
// command each time, from its head: several would miss URLs if others before them were taken in
// between. What is before the part that is wanted is leased, or in the head that the shard has, so
// that this is not much. Errors: kCorrupt.
Result<void> read_bucket_queues(BucketStore& buckets, std::span<BucketQueueRead> reads);

}  // namespace trawl
