// CrawlInRedis: a crawl in Redis as its owners write it, for tests of what reads it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontier/redis/redis_client.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/shared_config.h"
#include "frontier/store/counters.h"
#include "frontier/store/set_aside_record.h"
#include "frontier/store/url_identity.h"

namespace trawl::test {

// Begins the crawl; throws std::runtime_error if Redis refuses something.
class CrawlInRedis {
 public:
  static constexpr const char* kSession = "5e551017";  // of the member that owns the buckets

  CrawlInRedis(RedisClient& client, const std::string& name, BucketId buckets = 64);

  const UrlIdentity& identity() const { return *identity_; }
  BucketStore& bucket_store() { return store_; }
  const BucketKeys& keys() const { return keys_; }

  // What a bucket gets with the next write().
  void queue(const UrlRecord& url, std::int32_t priority = 0);
  void defer(const UrlRecord& url, std::int64_t not_before, std::int32_t priority = 0);
  void set_aside(const UrlRecord& url, SetAsideRecord record);
  void set_host(const HostRecord& host);
  // Claims each bucket that has something, and applies it as one batch. `releases`: as when the
  // crawl ends.
  void write(bool releases = false);
  // The heartbeat of a member.
  void beat(const std::string& name, const std::string& session, std::uint64_t beat,
            std::uint64_t buckets);

 private:
  struct Content {
    BucketBatch batch;
    std::map<HostId, BucketHost> hosts;
    std::map<std::pair<HostId, std::int32_t>, std::vector<std::string>> queues;
    Counters counters;
    std::uint64_t version = 0;
    std::string token;
  };
  Content& admit(const UrlRecord& url, HostId& host);

  BucketKeys keys_;
  BucketStore store_;
  std::optional<UrlIdentity> identity_;
  std::map<BucketId, Content> contents_;
};

}  // namespace trawl::test
