// NewUrls: what a batch of a bucket admitted, for the next owner if the batch is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "frontier/shared/bucket_batch.h"
#include "frontier/shared/bucket_keys.h"
#include "frontier/store/url_identity.h"

namespace trawl {

// A crawler that loses a bucket passes them on to the inbox of that bucket. The next owner asks its
// filter, so that it does no harm if the batch was applied all the same; only URLs that were
// offered `again` may be queued twice then, or if a message that the batch took is still in the
// inbox. Retries, recrawls and URLs that were deferred are none of them: in Redis their URLs are
// where they were before the batch.
struct NewUrls {
  std::vector<std::uint64_t> admitted;  // as in BucketBatch, sorted; empty: there are no new ones
  // Of these, some are new. New ones that are in none of them are only to be known
  // (UrlRequest::seen_only).
  std::vector<BucketBatch::Queue> queues;
  std::vector<DeferredUrl> deferred;
  std::vector<std::string> held;  // links that were set aside without being queued

  bool empty() const noexcept { return admitted.empty() && held.empty(); }
  std::size_t bytes() const noexcept;
};

// Takes them out of a batch that was encoded.
NewUrls take_new_urls(BucketBatch&& batch);
// Appends messages for the inbox: their bodies, encode_requests() of at most kMostMessageBytes each
// unless one URL is longer. A URL with a key (UrlRequest::key) keeps its fingerprint. URLs that are
// only to be known have the lower half of theirs, and no URL.
void encode_new_urls(const NewUrls& urls, BucketId bucket, const UrlIdentity& identity,
                     std::vector<std::string>& bodies);

}  // namespace trawl
