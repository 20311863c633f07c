// When URLs are leased: delays, order, fairness, bounded memory.
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class FrontierSchedule : public test::FrontierFixture {
 protected:
  EmbeddedOptions polite(milliseconds delay = milliseconds(1000)) {
    auto polite = options();
    polite.politeness.delay = delay;
    polite.politeness.leases_per_host = 1;
    polite.testing.clock = [this] { return now_; };
    return polite;
  }
  SteadyTime now_ = SteadyTime{} + std::chrono::hours(1);
};

TEST_F(FrontierSchedule, P1_RequestsToAHostStartTheDelayApart) {
  const auto frontier = open(polite());
  test::Requests requests;
  for (int n = 0; n < 30; ++n)
    requests.add(test::NumberedUrls(3).url(static_cast<unsigned>(n)));
  ASSERT_TRUE(frontier->offer(requests.get()));

  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  std::map<std::string, SteadyTime> last_start;
  std::vector<Lease> open_leases;
  std::size_t leased = 0;
  while (!frontier->progress()->finished) {
    for (const Lease& lease : lease(*frontier, random() % 4)) {
      if (last_start.contains(lease.host)) {
        EXPECT_GE(now_ - last_start[lease.host], milliseconds(1000)) << lease.url;
      }
      last_start[lease.host] = now_;
      ++leased;
      open_leases.push_back(lease);
    }
    now_ += milliseconds(random() % 400);
    if (!open_leases.empty() && random() % 2 == 0) {
      complete(*frontier, open_leases.back());
      open_leases.pop_back();
      ASSERT_TRUE(frontier->flush());
    }
  }
  EXPECT_EQ(leased, 30u);
}

TEST_F(FrontierSchedule, P1_AHostIsAskedOneAtATimeHoweverLongARequestTakes) {
  const auto frontier = open(polite());
  offer(*frontier, {"http://a.test/1", "http://a.test/2"});
  const auto first = lease_all(*frontier);
  ASSERT_EQ(first.size(), 1u);
  now_ += std::chrono::minutes(1);
  EXPECT_TRUE(lease_all(*frontier).empty());
  EXPECT_FALSE(frontier->next_due(0).value());
  complete(*frontier, first[0]);
  EXPECT_EQ(lease_all(*frontier).size(), 1u);
}

TEST_F(FrontierSchedule, P1_TheDelayCountsFromWhenTheRequestReallyStarted) {
  const auto frontier = open(polite());
  offer(*frontier, {"http://a.test/1", "http://a.test/2"});
  const Lease first = lease_all(*frontier).at(0);
  const SteadyTime leased_at = now_;
  now_ += milliseconds(600);
  ASSERT_TRUE(
      frontier->complete(first.id, {.status = 200, .started_after = milliseconds(300)}, {}));
  ASSERT_TRUE(frontier->flush());
  now_ = leased_at + milliseconds(1299);
  EXPECT_TRUE(lease_all(*frontier).empty());
  EXPECT_EQ(frontier->next_due(0).value(), leased_at + milliseconds(1300));
  now_ = leased_at + milliseconds(1300);
  EXPECT_EQ(lease_all(*frontier).size(), 1u);
}

TEST_F(FrontierSchedule, P1_AfterARestartEveryHostWaitsItsDelayFirst) {
  {
    const auto frontier = open(polite());
    offer(*frontier, {"http://a.test/1", "http://a.test/2", "http://slow.test/"});
    ASSERT_TRUE(frontier->set_host("slow.test", {.delay = milliseconds(5000)}));
    ASSERT_TRUE(frontier->flush());
  }
  const auto frontier = open(polite());
  offer_one(*frontier, "http://new.test/");
  now_ += milliseconds(999);
  EXPECT_TRUE(lease_all(*frontier).empty());
  now_ += milliseconds(1);
  EXPECT_THAT(urls_of(lease_all(*frontier)),
              UnorderedElementsAre("http://a.test/1", "http://new.test/"));
  now_ += milliseconds(3999);
  EXPECT_TRUE(lease_all(*frontier).empty());
  now_ += milliseconds(1);
  EXPECT_THAT(urls_of(lease_all(*frontier)), ElementsAre("http://slow.test/"));
}

TEST_F(FrontierSchedule, P1_AHostThatRanEmptyKeepsItsDelayForLaterUrls) {
  const auto frontier = open(polite());
  offer_one(*frontier, "http://a.test/1");
  complete(*frontier, lease_all(*frontier).at(0), {"http://a.test/2"});
  ASSERT_TRUE(frontier->flush());
  now_ += milliseconds(999);
  EXPECT_TRUE(lease_all(*frontier).empty());
  now_ += milliseconds(1);
  EXPECT_EQ(lease_all(*frontier).size(), 1u);
}

TEST_F(FrontierSchedule, P1_ALongerDelayHoldsFromTheRequestBefore) {
  const auto frontier = open(polite());
  offer(*frontier, {"http://a.test/1", "http://a.test/2"});
  const Lease first = lease_all(*frontier).at(0);
  ASSERT_TRUE(frontier->set_host("a.test", {.delay = milliseconds(3000)}));
  ASSERT_TRUE(frontier->release(first.id, now_ + milliseconds(3000)));
  now_ += milliseconds(2999);
  EXPECT_TRUE(lease_all(*frontier).empty());
  now_ += milliseconds(1);
  EXPECT_THAT(urls_of(lease_all(*frontier)), ElementsAre("http://a.test/1"));
}

// The request was for the host's robots.txt, say, which was to be had only later than the lease.
TEST_F(FrontierSchedule, P1_AReleaseCountsTheHostsDelayFromTheRequestMadeInstead) {
  {
    const auto frontier = open(polite());
    offer_one(*frontier, "http://a.test/");
    ASSERT_TRUE(frontier->set_host("a.test", {.delay = milliseconds(3000)}));
    ASSERT_TRUE(frontier->close());
  }
  const auto frontier = open(polite());
  now_ += milliseconds(3000);
  const Lease lease = lease_all(*frontier).at(0);
  const SteadyTime leased_at = now_;
  now_ += milliseconds(500);
  ASSERT_TRUE(frontier->release(lease.id, leased_at + milliseconds(1400), milliseconds(400)));
  now_ = leased_at + milliseconds(3399);
  EXPECT_TRUE(lease_all(*frontier).empty());
  now_ += milliseconds(1);
  EXPECT_EQ(lease_all(*frontier).size(), 1u);
}

TEST_F(FrontierSchedule, ALeaseWithoutARequestCostsTheHostNoDelay) {
  const auto frontier = open(polite());
  offer(*frontier, {"http://a.test/1", "http://a.test/2", "http://a.test/3"});
  const Lease skipped = lease_all(*frontier).at(0);
  ASSERT_TRUE(frontier->complete(skipped.id, {.requested = false}, {}));
  const Lease released = lease_all(*frontier).at(0);
  ASSERT_TRUE(frontier->release(released.id));
  const Lease fetched = lease_all(*frontier).at(0);
  EXPECT_EQ(fetched.url, released.url);
  complete(*frontier, fetched);
  EXPECT_TRUE(lease_all(*frontier).empty());
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->stats()->skipped, 1u);
}

TEST_F(FrontierSchedule, EmptyHostsAreForgottenOnceTheirDelayHasPassed) {
  const auto frontier = open(polite());
  for (int n = 0; n < 100; ++n)
    offer_one(*frontier, fmt::format("http://host{}.test/", n));
  for (const Lease& lease : lease_all(*frontier))
    complete(*frontier, lease);
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->stats()->hosts, 100u);
  now_ += milliseconds(1000);
  EXPECT_TRUE(lease_all(*frontier).empty());
  EXPECT_EQ(frontier->stats()->hosts, 0u);
}

TEST_F(FrontierSchedule, UrlsComeByPriorityThenInOrderThoughMostWaitInTheStore) {
  const auto frontier = open(polite(milliseconds(0)));
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  std::vector<std::pair<std::int32_t, int>> expected;
  for (int n = 0; n < 1000; ++n) {
    const auto priority = static_cast<std::int32_t>(random() % 5) - 2;
    const std::string url = fmt::format("http://a.test/{}", n);
    ASSERT_TRUE(frontier->offer(std::vector<UrlRequest>{{.url = url, .priority = priority}}));
    expected.emplace_back(-priority, n);
  }
  std::ranges::sort(expected);
  for (const auto& [rank, n] : expected) {
    const auto leases = lease_all(*frontier);
    ASSERT_EQ(leases.size(), 1u);
    EXPECT_EQ(leases[0].url, fmt::format("http://a.test/{}", n));
    EXPECT_EQ(leases[0].priority, -rank);
    complete(*frontier, leases[0]);
  }
  ASSERT_TRUE(frontier->flush());
  EXPECT_TRUE(frontier->progress()->finished);
}

TEST_F(FrontierSchedule, UrlsOfManyLeasesAtOnceAreNeverLeasedTwice) {
  auto wide = polite(milliseconds(0));
  wide.politeness.leases_per_host = 300;
  const auto frontier = open(wide);
  constexpr std::uint64_t kSeed = 12;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  std::map<std::string, int> times;
  std::vector<Lease> open_leases;
  std::uint64_t offered = 0;
  while (offered < 3000 || !frontier->progress()->finished) {
    if (offered < 3000) {
      const std::string url = fmt::format("http://a.test/{}", offered++);
      const auto priority = static_cast<std::int32_t>(random() % 3);
      ASSERT_TRUE(frontier->offer(std::vector<UrlRequest>{{.url = url, .priority = priority}}));
    }
    for (const Lease& lease : lease(*frontier, random() % 8)) {
      ++times[lease.url];
      open_leases.push_back(lease);
    }
    std::ranges::shuffle(open_leases, random);
    while (!open_leases.empty() && (random() % 4 != 0 || offered == 3000)) {
      if (random() % 8 == 0) {
        --times[open_leases.back().url];
        ASSERT_TRUE(frontier->release(open_leases.back().id));
      } else {
        complete(*frontier, open_leases.back());
      }
      open_leases.pop_back();
    }
    if (random() % 16 == 0 || offered == 3000) {
      ASSERT_TRUE(frontier->flush());
    }
  }
  EXPECT_EQ(times.size(), 3000u);
  for (const auto& [url, n] : times)
    EXPECT_EQ(n, 1) << url;
}

TEST_F(FrontierSchedule, HostsWithManyUrlsDoNotKeepOthersWaiting) {
  const auto frontier = open(polite(milliseconds(10)));
  test::Requests requests;
  for (int n = 0; n < 500; ++n)
    requests.add(fmt::format("http://big.test/{}", n));
  for (int host = 0; host < 50; ++host)
    requests.add(fmt::format("http://host{}.test/", host));
  ASSERT_TRUE(frontier->offer(requests.get()));
  // One round serves every host, whatever its queue.
  EXPECT_EQ(lease_all(*frontier).size(), 51u);
}

TEST_F(FrontierSchedule, ShardsShareTheHostsAndEachHostIsInOne) {
  auto sharded = polite();
  sharded.store.shards = 4;
  const auto frontier = open(sharded);
  test::Requests requests;
  for (int host = 0; host < 200; ++host)
    requests.add(fmt::format("http://host{}.test/", host));
  ASSERT_TRUE(frontier->offer(requests.get()));
  std::size_t total = 0;
  for (std::uint32_t shard = 0; shard < 4; ++shard) {
    const auto leases = frontier->lease({.max = 1000, .shard = shard}).value();
    EXPECT_GT(leases.size(), 20u);
    total += leases.size();
    for (const Lease& lease : leases)
      complete(*frontier, lease);
  }
  EXPECT_EQ(total, 200u);
  ASSERT_TRUE(frontier->flush());
  EXPECT_TRUE(frontier->progress()->finished);
  EXPECT_EQ(frontier->lease({.max = 1, .shard = 4}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(FrontierSchedule, WhenAHostIsDueCanBeSubtractedFromNow) {
  const auto frontier = open(polite());
  EXPECT_FALSE(frontier->next_due(0).value());
  EXPECT_EQ(frontier->next_due(1).error().code, ErrorCode::kInvalidArgument)
      << "there is no such shard";
  offer(*frontier, {"http://a.test/1", "http://b.test/"});
  for (int round = 0; round < 2; ++round) {
    const auto due = frontier->next_due(0).value();
    ASSERT_TRUE(due);
    EXPECT_LE(*due - now_, milliseconds(0));
    EXPECT_LE(now_ - *due, std::chrono::hours(24));
    ASSERT_EQ(lease(*frontier, 1).size(), 1u);
  }
}

TEST_F(FrontierSchedule, WorkIsAnnounced) {
  auto announced = polite();
  std::atomic<int> calls{0};
  const auto frontier = open(announced);
  ASSERT_TRUE(frontier->on_wake([&] { calls.fetch_add(1); }, 0));
  offer_one(*frontier, "http://a.test/");
  ASSERT_TRUE(frontier->flush());  // the announcement comes before the next group
  EXPECT_EQ(calls.load(), 1);
}

}  // namespace
}  // namespace trawl
