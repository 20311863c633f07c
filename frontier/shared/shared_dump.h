// The waiting URLs of a crawl in Redis, and those set aside: see SharedCrawl.
#pragma once

#include <functional>

#include "trawl/frontier_dump.h"
#include "trawl/result.h"

#include "frontier/shared/shared_crawl.h"

namespace trawl {

// As dump_frontier(): the queued URLs host by host, then the deferred ones, then those set aside;
// each bucket by bucket. Of a crawl that runs, URLs that move meanwhile are visited twice or not at
// all.
Result<void> dump_shared_crawl(SharedCrawl& crawl, const DumpOptions& options,
                               const std::function<Result<void>(const DumpedUrl&)>& visit);

// Calls `visit` with each host of a bucket, once.
Result<void> visit_hosts_once(SharedCrawl& crawl, BucketId bucket,
                              const std::function<void(HostId, BucketHost)>& visit);

}  // namespace trawl
