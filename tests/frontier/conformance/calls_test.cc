// URLs are offered, leased and completed, each once.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontier/conformance/conformance.h"

namespace trawl {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

using ConformanceCalls = test::Conformance;

TEST_P(ConformanceCalls, OffersLeasesAndCompletesEachUrlOnce) {
  const auto frontier = open();
  EXPECT_THAT(offer(*frontier, {"http://a.test/", "http://b.test/", "http://a.test/#top", "http:"}),
              ElementsAre(Admission::kNew, Admission::kNew, Admission::kSeen, Admission::kInvalid));
  const auto leases = lease_all(*frontier);
  EXPECT_THAT(urls_of(leases), UnorderedElementsAre("http://a.test/", "http://b.test/"));
  EXPECT_TRUE(lease_all(*frontier).empty());
  EXPECT_FALSE(frontier->progress()->finished);
  EXPECT_THAT(complete(*frontier, leases[0], {"http://b.test/", "http://c.test/"}),
              ElementsAre(Admission::kSeen, Admission::kNew));
  complete(*frontier, leases[1]);
  ASSERT_TRUE(frontier->flush());
  const auto last = lease_all(*frontier);
  ASSERT_THAT(urls_of(last), ElementsAre("http://c.test/"));
  EXPECT_EQ(last[0].parent, leases[0].url);
  complete(*frontier, last[0]);
  ASSERT_TRUE(frontier->flush());
  EXPECT_TRUE(frontier->progress()->finished);

  const FrontierStats stats = frontier->stats().value();
  EXPECT_EQ(stats.admitted, 3u);
  EXPECT_EQ(stats.completed, 3u);
  EXPECT_EQ(stats.seen, 2u);
  EXPECT_EQ(stats.invalid, 1u);
  EXPECT_EQ(stats.queued, 0u);
}

TEST_P(ConformanceCalls, ALeaseCarriesWhatWasOffered) {
  const auto frontier = open();
  const std::vector<UrlRequest> requests = {{.url = "http://a.test:8080/x?y#z",
                                             .priority = -3,
                                             .depth = 4,
                                             .redirects = 2,
                                             .parent = "http://p.test/"}};
  ASSERT_TRUE(frontier->offer(requests));
  const Lease lease = lease_all(*frontier).at(0);
  EXPECT_EQ(lease.url, "http://a.test:8080/x?y");
  EXPECT_EQ(lease.host, "a.test:8080");
  EXPECT_EQ(lease.parent, "http://p.test/");
  EXPECT_EQ(lease.priority, -3);
  EXPECT_EQ(lease.depth, 4u);
  EXPECT_EQ(lease.redirects, 2u);
}

TEST_P(ConformanceCalls, ALeaseEndsOnce) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  const Lease lease = lease_all(*frontier).at(0);
  complete(*frontier, lease);
  // A second completion changes nothing, except that its new link is admitted.
  test::Requests links({"http://a.test/", "http://a.test/new"});
  EXPECT_EQ(frontier->complete(lease.id, {.status = 404, .error = "again"}, links.get()).value(),
            (std::vector{Admission::kSeen, Admission::kNew}));
  EXPECT_EQ(frontier->release(lease.id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(frontier->complete(lease.id + 1000, {.status = 200}, {}).error().code,
            ErrorCode::kNotFound);
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->stats()->completed, 1u);
  EXPECT_EQ(frontier->stats()->failed, 0u);
  EXPECT_EQ(frontier->stats()->repeated, 1u);
}

TEST_P(ConformanceCalls, AReleasedLeaseComesBack) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  const Lease first = lease_all(*frontier).at(0);
  ASSERT_TRUE(frontier->release(first.id));
  const Lease second = lease_all(*frontier).at(0);
  EXPECT_EQ(second.url, first.url);
  complete(*frontier, second);
  ASSERT_TRUE(frontier->flush());
  EXPECT_TRUE(frontier->progress()->finished);
}

TEST_P(ConformanceCalls, UrlsOverTheLengthLimitAreRefusedAndCounted) {
  const auto frontier = open();
  const std::string start = "http://a.test/";
  EXPECT_EQ(offer_one(*frontier, start + std::string(2083 - start.size(), 'x')), Admission::kNew);
  EXPECT_EQ(offer_one(*frontier, start + std::string(2084 - start.size(), 'x')),
            Admission::kTooLong);
  EXPECT_EQ(frontier->stats()->invalid, 1u);
}

TEST_P(ConformanceCalls, SeenIsDecidedByTheCanonicalKeyAndTheUrlIsFetchedAsOffered) {
  const auto frontier = open();
  EXPECT_THAT(offer(*frontier, {"http://a.test/%7euser", "http://A.test:80/~user"}),
              ElementsAre(Admission::kNew, Admission::kSeen));
  EXPECT_EQ(lease_all(*frontier).at(0).url, "http://a.test/%7euser");
}

TEST_P(ConformanceCalls, N1_NoMoreLeasesAreOpenThanAllowedUntilCompletionsAreDurable) {
  auto frontier_options = options();
  frontier_options.limits.max_open_leases = 3;
  const auto frontier = open(frontier_options);
  offer(*frontier, {"http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4"});
  const auto leases = lease_all(*frontier);
  ASSERT_EQ(leases.size(), 3u);
  EXPECT_FALSE(frontier->next_due(0).value());
  complete(*frontier, leases[0]);
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(lease_all(*frontier).size(), 1u);
}

TEST_P(ConformanceCalls, LinksThatTheCallerKnewCountAsSeen) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  const Lease lease = lease_all(*frontier).at(0);
  test::Requests found({"http://a.test/", "http://a.test/new"});
  ASSERT_TRUE(frontier->complete(lease.id, {.status = 200, .known_links = 3}, found.get()));
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->stats()->seen, 4u);
}

TEST_P(ConformanceCalls, FailedFetchesAreCompletedAndCounted) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  ASSERT_TRUE(frontier->complete(lease_all(*frontier).at(0).id, {.error = "timed out"}, {}));
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->stats()->failed, 1u);
  EXPECT_TRUE(frontier->progress()->finished);
}

TEST_P(ConformanceCalls, A1_OfThreadsOfferingTheSameUrlsOneIsToldNew) {
  auto frontier_options = options();
  frontier_options.store.shards = 4;
  const auto frontier = open(frontier_options);
  constexpr std::uint64_t kUrls = 3'000;
  constexpr int kThreads = 4;
  const test::NumberedUrls web(50);
  std::vector<std::atomic<int>> told_new(kUrls);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      constexpr std::uint64_t kBatch = 100;
      for (std::uint64_t i = 0; i < kUrls; i += kBatch) {
        // Each thread begins elsewhere, and all meet.
        const std::uint64_t first = (i + static_cast<std::uint64_t>(t) * kBatch) % kUrls;
        test::Requests requests;
        for (std::uint64_t n = first; n < first + kBatch; ++n)
          requests.add(web.url(n));
        const auto admissions = frontier->offer(requests.get()).value();
        for (std::uint64_t n = 0; n < kBatch; ++n) {
          if (admissions[n] == Admission::kNew) told_new[first + n].fetch_add(1);
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (std::uint64_t n = 0; n < kUrls; ++n)
    ASSERT_EQ(told_new[n].load(), 1) << n;
  EXPECT_EQ(frontier->stats()->admitted, kUrls);
  EXPECT_EQ(lease_all(*frontier).size(), kUrls);
}

TRAWL_CONFORMS(ConformanceCalls);

}  // namespace
}  // namespace trawl
