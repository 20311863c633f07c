// How long it takes to load a large bucket from a real redis-server.
#include <chrono>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontier/shared/shared_store.h"
#include "tests/cluster/owner_batches.h"
#include "tests/cluster/redis_fixture.h"
#include "tests/support/slowdown.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::identity;

class SharedStoreLoadTest : public test::RedisFixture {
 protected:
  std::unique_ptr<SharedStore> open() {
    auto store = SharedStore::open(
        {.redis = {.addresses = {server_->address()}}, .crawl = "crawl", .identity = identity()});
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  BucketMeta claim(const std::string& token) {
    BucketStore buckets(*client_, BucketKeys("crawl"), true);
    const BucketId bucket = 3;
    const auto owners = buckets.owners(std::span(&bucket, 1));
    const BucketStore::Claim claim{.bucket = bucket, .seen = owners[0].value(), .token = token};
    const auto claimed = buckets.claim(std::span(&claim, 1));
    EXPECT_EQ(claimed[0].result.code, BucketStore::Written::Code::kDone);
    return claimed[0].meta;
  }
};

TEST_F(SharedStoreLoadTest, ALargeBucketIsLoadedQuickly) {
  constexpr std::uint64_t kUrls = 1'000'000 / test::kSlowdown, kHosts = 100'000 / test::kSlowdown;
  constexpr std::uint64_t kOfABatch = 250;
  static_assert(kUrls % kOfABatch == 0);
  auto first = open();
  ASSERT_TRUE(first->take(3, "a", claim("a"), {}));
  Counters counters;
  StoreBatch batch;
  const HostId lowest = HostId{3} << 60;
  const std::string record = encode_record({.url = "http://some-host.test/some/page.html"});
  for (std::uint64_t n = 0; n < kUrls;) {
    batch.clear();
    std::vector<Fingerprint> fingerprints;
    for (std::uint64_t i = 0; i < kOfABatch; ++i, ++n) {
      fingerprints.push_back({.high = lowest, .low = n * 0x9e3779b97f4a7c15});
      if (n < 3 * kHosts)
        batch.add_pending(lowest + n % kHosts, {.priority = 0, .sequence = n}, record);
    }
    batch.log_admissions(n, fingerprints);
    counters.admitted = counters.sequence = n;
    batch.set_counters(counters);
    const BatchPart part{.bucket = 3, .batch = &batch};
    ASSERT_TRUE(first->write_parts(std::span(&part, 1), {}));
  }

  auto second = open();
  const BucketMeta meta = claim("b");
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  Clock::time_point fingerprints_end;
  std::uint64_t known = 0, hosts = 0, urls = 0;
  const auto counted = second->take(3, "b", meta,
                                    {.fingerprints =
                                         [&](std::span<const Fingerprint> some) {
                                           known += some.size();
                                           fingerprints_end = Clock::now();
                                         },
                                     .beginning = 4,
                                     .host =
                                         [&](const LoadedHost& host) {
                                           ++hosts;
                                           urls += host.queue.urls.size();
                                         }});
  const auto end = Clock::now();
  ASSERT_TRUE(counted) << counted.error().message;
  EXPECT_EQ(known, kUrls);
  EXPECT_EQ(hosts, kHosts);
  EXPECT_EQ(urls, 3 * kHosts);
  const auto ms = [](auto time) { return std::chrono::duration_cast<milliseconds>(time).count(); };
  fmt::print("{} hosts and {} fingerprints in {} ms, of which {} ms for the queues\n", hosts, known,
             ms(end - begin), ms(end - fingerprints_end));
  fmt::print("{} MB in memory\n", second->memory() >> 20);
  EXPECT_LT(end - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace trawl
