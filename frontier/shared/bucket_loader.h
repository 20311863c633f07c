// BucketLoader: reads a bucket that was claimed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "frontier/shared/bucket_batch.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/owned_bucket.h"
#include "frontier/store/host_record.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/url_identity.h"

namespace trawl {

// A host with URLs, as a new owner finds it.
struct LoadedHost {
  HostId host = 0;
  std::optional<HostRecord> record;
  QueueBeginning queue;
  std::uint64_t urls = 0;  // in all its queues
};

// What a frontier needs of a bucket that it takes.
struct BucketVisitor {
  // The URLs that were admitted, in parts, the lower halves of their fingerprints alone
  // (Partition::Keys::kLower); perhaps twice, if Redis was away meanwhile.
  std::function<void(std::span<const Fingerprint>)> fingerprints = {};
  // The hosts with URLs, in ascending order, each once, with the first so many of its URLs.
  std::size_t beginning = 0;
  std::function<void(const LoadedHost&)> host = {};
};

// Everything goes in pipelines: a host costs no round trip of its own. Errors of all: those of
// Redis, and after kUnavailable the same can be read again; kCorrupt, naming the key.
class BucketLoader {
 public:
  // The limit of pages of a host, if hosts have any. One that was given another (HostRecord::limit)
  // has left what it has not used of this one. Null: limits stay.
  using PageLimit = std::function<std::optional<std::uint64_t>(std::string_view host)>;

  BucketLoader(const UrlIdentity& identity, OwnedBucket& bucket, const PageLimit& page_limit)
      : identity_(identity), bucket_(bucket), page_limit_(page_limit) {}

  // Fills `bucket`, except the queues of its hosts.
  Result<void> load(BucketStore& buckets);
  Result<void> visit_fingerprints(BucketStore& buckets, const BucketVisitor& visitor) const;
  // Fills in the queues of some hosts, and visits them; whether there are others. Goes on where it
  // was.
  Result<bool> load_some_queues(BucketStore& buckets, const BucketVisitor& visitor);

 private:
  void apply_limit(HostRecord& record) const;
  struct Loading;  // a host
  Result<void> read_queues(BucketStore& buckets, std::span<Loading> hosts,
                           std::size_t beginning) const;

  const UrlIdentity& identity_;
  OwnedBucket& bucket_;
  const PageLimit& page_limit_;
  std::map<HostId, BucketHost> hosts_;  // those whose queues are to be read
};

}  // namespace trawl
