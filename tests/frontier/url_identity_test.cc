// What URLs and queues are known by, with and without buckets.
#include "frontier/store/url_identity.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/url_groups.h"

#include "base/mix.h"
#include "frontier/common/queue_names.h"

namespace trawl {
namespace {

constexpr std::uint64_t kBelow = ~std::uint64_t{0} >> UrlIdentity::kBucketBits;

KeyedHash seeded_hash() {
  return KeyedHash::from_seed(1);
}
UrlIdentity with_buckets(std::uint32_t buckets) {
  return {seeded_hash(), Profile{}, buckets};
}
Fingerprint fingerprint_of(const UrlIdentity& identity, const std::string& href) {
  return identity.of_href(href).value();
}

// Stores and filters of all crawls depend on these.
TEST(UrlIdentity, WithoutBucketsBothArePlainHashes) {
  const UrlIdentity identity = with_buckets(0);
  const KeyedHash hash = seeded_hash();
  std::string buffer;
  for (const std::string host : {"a.test", "www.a.co.uk:8080", "[::1]", "10.0.0.1", "a queue"}) {
    EXPECT_EQ(identity.host(host), hash(host).high);
    EXPECT_EQ(identity.bucket_of(identity.host(host)), 0u);
    for (const std::uint32_t shards : {1u, 3u, 16u})
      EXPECT_EQ(identity.shard_of(identity.host(host), shards), scale_to(hash(host).high, shards));
  }
  EXPECT_EQ(fingerprint_of(identity, "http://a.test/x?b=1#y"), hash("http://a.test/x?b=1"));
  EXPECT_EQ(identity.of_key("k", "any", buffer), hash(std::string("\0k", 2)));
  const auto url = Url::parse("http://a.test/");
  EXPECT_EQ(identity.of_url(*url, buffer, "a queue"), identity.of_url(*url, buffer));
}

TEST(UrlIdentity, ADomainIsInOneBucketWithItsHostsAndUrls) {
  const std::vector<std::vector<std::string>> domains = {
      {"a.test", "www.a.test", "x.y.a.test:8080"},
      {"b.co.uk", "www.b.co.uk"},
      {"10.0.0.1", "10.0.0.1:81"},
      {"[::1]", "[::1]:8080"},
      {"localhost", "localhost:9000"},
  };
  for (const std::uint32_t buckets : {1u, 16u, 100u, 256u, 4096u, 65536u}) {
    const UrlIdentity identity = with_buckets(buckets);
    std::set<std::uint64_t> bits;
    std::set<std::uint32_t> owned;
    for (const auto& hosts : domains) {
      const std::uint64_t first = identity.host(hosts.front());
      bits.insert(first & ~kBelow);
      owned.insert(identity.bucket_of(first));
      EXPECT_LT(identity.bucket_of(first), buckets);
      for (const std::string& host : hosts) {
        const HostId id = identity.host(host);
        EXPECT_EQ(id & ~kBelow, first & ~kBelow) << host;
        EXPECT_EQ(id & kBelow, with_buckets(0).host(host) & kBelow) << "the rest is as ever";
        EXPECT_EQ(id == first, host == hosts.front());
        const std::string href = "http://" + host + "/x";
        const Fingerprint url = fingerprint_of(identity, href);
        EXPECT_EQ(url.high & ~kBelow, first & ~kBelow) << href;
        const Fingerprint plain = fingerprint_of(with_buckets(0), href);
        EXPECT_EQ(url.high & kBelow, plain.high & kBelow);
        EXPECT_EQ(url.low, plain.low);
        EXPECT_EQ(identity.bucket_of(url.high), identity.bucket_of(id));
      }
    }
    EXPECT_EQ(bits.size(), owned.size()) << "those of a bucket are the same";
  }
}

// Named by anyone: the request, a stored record, or a call on a host.
TEST(UrlIdentity, AQueueDecidesTheBucketOfItsUrls) {
  const UrlIdentity identity = with_buckets(256);
  const UrlIdentity plain = with_buckets(0);
  const auto url = Url::parse("http://a.test/x");
  std::string buffer;
  for (const std::string queue : {"images", "www.b.test", "b.test:81", "A Queue. \xff", "."}) {
    const std::uint64_t bits = identity.host(queue) & ~kBelow;
    EXPECT_EQ(identity.of_url(*url, buffer, queue).high & ~kBelow, bits);
    EXPECT_EQ(identity.of_key("k", queue, buffer).high & ~kBelow, bits);
    EXPECT_EQ(identity.of_key("k", queue, buffer).low, plain.of_key("k", {}, buffer).low);
    const UrlRecord record{.url = "http://a.test/x", .given = {.queue = queue, .named = true}};
    EXPECT_EQ(identity.of(record), identity.of_url(*url, buffer, queue));
  }
  EXPECT_EQ(identity.of({.url = "http://a.test/x"}), identity.of_url(*url, buffer));
  EXPECT_EQ(identity.of_url(*url, buffer, "a.test"), identity.of_url(*url, buffer));
}

TEST(UrlIdentity, BucketsAreAboutEquallyLargeAndEachIsInOneShard) {
  constexpr std::uint32_t kBuckets = 24;
  const UrlIdentity identity = with_buckets(kBuckets);
  std::map<std::uint32_t, int> domains;
  for (int i = 0; i < 24'000; ++i)
    ++domains[identity.bucket_of(identity.host("d" + std::to_string(i) + ".test"))];
  EXPECT_EQ(domains.size(), kBuckets);
  for (const auto& [bucket, n] : domains)
    EXPECT_NEAR(n, 1000, 200) << bucket;
  for (const std::uint32_t shards : {1u, 2u, 7u, 16u, 24u, 100u}) {
    std::map<std::uint32_t, std::uint32_t> shard_of_bucket;
    std::set<std::uint32_t> used;
    for (int i = 0; i < 5'000; ++i) {
      const HostId host = identity.host("h" + std::to_string(i) + ".test");
      const std::uint32_t shard = identity.shard_of(host, shards);
      ASSERT_LT(shard, shards);
      used.insert(shard);
      const auto [at, added] = shard_of_bucket.try_emplace(identity.bucket_of(host), shard);
      EXPECT_EQ(at->second, shard);
    }
    EXPECT_EQ(used.size(), std::min(shards, kBuckets));
  }
}

}  // namespace
}  // namespace trawl
