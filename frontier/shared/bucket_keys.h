// BucketKeys: the names of the keys in which Redis holds the buckets of a crawl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "frontier/store/queued_url.h"

namespace trawl {

using BucketId = std::uint32_t;

// All keys of a bucket have the tag {crawl:bucket}, the bucket in hexadecimal: they share a slot,
// hence a node and the order of its replication.
class BucketKeys {
 public:
  // Precondition: `crawl` is not empty and has no braces.
  explicit BucketKeys(std::string crawl) : crawl_(std::move(crawl)) {}

  std::string meta(BucketId bucket) const { return key(bucket, "m"); }
  // The fingerprints are in several keys, so that none grows large.
  std::string fingerprints(BucketId bucket, std::uint64_t segment) const {
    return key(bucket, "f" + std::to_string(segment));
  }
  std::string inbox(BucketId bucket) const { return key(bucket, "i"); }
  std::string hosts(BucketId bucket) const { return key(bucket, "h"); }
  std::string deferred(BucketId bucket) const { return key(bucket, "d"); }
  std::string set_aside(BucketId bucket) const { return key(bucket, "e"); }
  std::string commands(BucketId bucket) const { return key(bucket, "x"); }
  // Messages and commands that are none: set apart, so that those behind them are read.
  std::string damaged(BucketId bucket) const { return key(bucket, "w"); }
  // Where a claim tries whether all commands are allowed. Never exists otherwise.
  std::string probe(BucketId bucket) const { return key(bucket, "p"); }
  std::string queue(BucketId bucket, HostId host, std::int32_t priority) const;

  // Of the crawl as a whole.
  std::string members() const { return crawl_key("mem"); }
  std::string config() const { return crawl_key("cfg"); }
  std::string budgets() const { return crawl_key("bud"); }
  // Each in its own slot.
  std::string address(std::string_view ip) const;
  const std::string& crawl() const noexcept { return crawl_; }

  // The type, as Redis names it, that a key has if it exists.
  static std::string_view type_of(std::string_view key);

 private:
  std::string key(BucketId bucket, std::string_view name) const;
  std::string crawl_key(std::string_view name) const;
  std::string crawl_;
};

}  // namespace trawl
