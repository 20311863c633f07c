// OwnerBatches: the batches that the committer of a frontier makes for a bucket.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "frontier/shared/shared_store.h"
#include "frontier/store/queued_url.h"
#include "frontier/store/store_batch.h"
#include "frontier/store/url_identity.h"

namespace trawl::test {

inline constexpr std::uint32_t kBuckets = 16;

inline const UrlIdentity& identity() {
  static const UrlIdentity identity(KeyedHash::from_seed(7), Profile{}, kBuckets);
  return identity;
}

// The name of a host of the bucket.
inline std::string host_in(BucketId bucket, int number = 0) {
  for (int i = 0;; ++i) {
    std::string name = fmt::format("h{}.test", i);
    if (identity().bucket_of(identity().host(name)) == bucket && number-- == 0) return name;
  }
}
inline std::string url_of(const std::string& host, int number) {
  return fmt::format("http://{}/{}", host, number);
}

// The batches of a bucket's owner, as GroupWriter makes them.
class OwnerBatches {
 public:
  explicit OwnerBatches(BucketId bucket, const Counters& counters = {})
      : bucket_(bucket), counters_(counters) {}

  std::uint64_t admit(UrlRecord url, std::int32_t priority = 0, std::int64_t not_before = 0) {
    admitted_.push_back(identity().of(url).value());
    const HostId host = identity().host(host_of(url));
    const std::string record = encode_record(url);
    if (not_before == 0) {
      batch_.add_pending(host, {.priority = priority, .sequence = counters_.sequence}, record);
    } else {
      batch_.add_deferred(not_before, counters_.sequence, host, priority, record);
      ++counters_.deferred;
    }
    ++counters_.admitted;
    return counters_.sequence++;
  }
  std::uint64_t admit(const std::string& url) { return admit(UrlRecord{.url = url}); }
  // UrlRequest::seen_only.
  void see(const std::string& url) {
    admitted_.push_back(identity().of_href(url).value());
    ++counters_.admitted;
    ++counters_.seen_only;
  }
  void end(const std::string& url, std::uint64_t sequence) {
    batch_.remove_pending(identity().host(host_of({.url = url})),
                          {.priority = 0, .sequence = sequence});
    ++counters_.completed;
  }
  // It failed, and is tried again later.
  void retry(const std::string& url, std::uint64_t sequence) {
    const HostId host = identity().host(host_of({.url = url}));
    batch_.remove_pending(host, {.priority = 0, .sequence = sequence});
    batch_.add_deferred(5, counters_.sequence++, host, 0,
                        encode_record({.url = url, .attempts = 1}));
    ++counters_.deferred;
  }
  StoreBatch& batch() { return batch_; }
  BatchPart part() {
    if (!admitted_.empty())
      batch_.log_admissions(counters_.admitted - admitted_.size(), std::exchange(admitted_, {}));
    batch_.set_counters(counters_);
    return {.bucket = bucket_, .batch = &batch_};
  }
  Result<void> write(SharedStore& store) {
    const BatchPart written = part();
    auto done = store.write_parts(std::span(&written, 1), {});
    batch_.clear();
    return done;
  }

 private:
  static std::string host_of(const UrlRecord& url) { return queue_of(url); }

  const BucketId bucket_;
  Counters counters_;
  StoreBatch batch_;
  std::vector<Fingerprint> admitted_;
};

}  // namespace trawl::test
