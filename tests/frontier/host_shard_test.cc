// HostShard on a store that tests control: what is never leased twice, and when hosts are due.
#include "frontier/schedule/host_shard.h"

#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontier/host_shard_fixture.h"

namespace trawl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class HostShardTest : public test::HostShardFixture {};

TEST_F(HostShardTest, AUrlLeasedBeforeOthersPushedItsNeighboursOutIsNotLeasedTwice) {
  HostShard shard(store_, options(milliseconds(0), 1000));
  admit(shard, queued(0));
  ASSERT_THAT(sequences(lease(shard)), ElementsAre(0u));
  for (std::uint64_t n = 1; n <= 70; ++n)
    admit(shard, queued(n, 1));
  admit(shard, queued(71));
  std::vector<std::uint64_t> expected;
  for (std::uint64_t n = 1; n <= 71; ++n)
    expected.push_back(n);
  EXPECT_EQ(sequences(lease(shard)), expected);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
}

// The committer writes to the store before it calls the shard.
TEST_F(HostShardTest, AUrlReadFromTheStoreBeforeItsAdmissionArrivesIsNotQueuedTwice) {
  HostShard shard(store_, options(milliseconds(0), 1000));
  for (const std::uint64_t n : {0u, 1u, 2u})
    store_.put(queued(n));
  shard.restore_host(test::id_of("a.test"), std::nullopt);
  // 0 is leased and 1 is being completed when their admissions arrive; 2 is queued.
  const auto leases = lease(shard, 2);
  ASSERT_THAT(sequences(leases), ElementsAre(0u, 1u));
  EXPECT_TRUE(shard.begin_completion(leases[1].number, {}));
  for (const std::uint64_t n : {0u, 1u, 2u})
    shard.push_admitted(queued(n));
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(2u));
  commit_end(shard, queued(1));
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  EXPECT_EQ(shard.stats().leased, 2u);
}

// Of a run only the part that is this shard's, in the order of the inbox.
TEST_F(HostShardTest, ThePartsOfRunsAreQueuedAsSingleUrlsAre) {
  HostShard shard(store_, options(milliseconds(0), 1000));
  const auto run = std::make_shared<QueueRun>();
  constexpr std::uint64_t kUrls = 200;
  const auto url_at = [](std::uint64_t sequence) {
    return queued(sequence, sequence == 2007 ? 1 : 0, test::name_of(sequence % 1000));
  };
  for (const std::uint32_t part : {0u, 1u, 2u}) {
    for (std::uint64_t n = 0; n < kUrls; ++n) {
      const QueuedUrl url = url_at(1000 * part + n);
      run->add(0, part, {}, url.host, url.order.priority, 0, url.record);
    }
    run->parts()[part].sequence = 1000 * part;
  }
  shard.push_part(run, 1);
  shard.push_admitted(url_at(1500));
  shard.push_part(run, 2);
  std::map<HostId, std::vector<std::uint64_t>> by_host;
  for (const auto& lease : lease(shard, 1000)) {
    EXPECT_EQ(lease.url.record, url_at(lease.url.order.sequence).record);
    by_host[lease.url.host].push_back(lease.url.order.sequence);
  }
  EXPECT_EQ(by_host.size(), kUrls + 1);
  for (std::uint64_t n = 0; n < kUrls; ++n) {
    std::vector<std::uint64_t> expected{1000 + n, 2000 + n};
    if (n == 7) std::swap(expected[0], expected[1]);
    EXPECT_EQ(by_host[test::id_of(test::name_of(n))], expected);
  }
}

TEST_F(HostShardTest, UrlsComeByPriorityThenInTheOrderOfTheirQueueing) {
  HostShard shard(store_, options(milliseconds(0), 1000));
  for (const auto& [sequence, priority] :
       {std::pair{0u, 0}, {1u, 5}, {2u, -3}, {3u, 5}, {4u, 0}, {5u, 7}})
    admit(shard, queued(sequence, priority));
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(5u, 1u, 3u, 0u, 4u, 2u));
}

TEST_F(HostShardTest, P1_ALoweredDelayHoldsFromTheRequestBefore) {
  HostShard shard(store_, options(milliseconds(0)));
  set_delay(shard, hours(1));
  restore(shard, 3);
  complete(shard, lease_one(shard));
  set_delay(shard, seconds(1));
  expect_due(shard, start_, seconds(1));
}

TEST_F(HostShardTest, P1_TheLongerOfTheHostsOwnDelayAndTheCommonOneHolds) {
  HostShard shard(store_, options(seconds(2)));
  restore(shard, 3);
  set_delay(shard, milliseconds(500));
  complete(shard, lease_one(shard));
  expect_due(shard, start_, seconds(2));
}

TEST_F(HostShardTest, P1_TwoLeasesOfOneCallAreNotTakenForOne) {
  HostShard shard(store_, options(milliseconds(0), 2));
  restore(shard, 3);
  const auto leases = lease(shard);
  ASSERT_EQ(leases.size(), 2u);
  EXPECT_TRUE(shard.begin_completion(leases[0].number, {.requested = false}));
  set_delay(shard, seconds(1));
  now_ += milliseconds(999);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
}

TEST_F(HostShardTest, P1_AHostThatALoweredDelayMakesOverdueIsDueAtOnce) {
  HostShard shard(store_, options(milliseconds(0)));
  set_delay(shard, hours(1));
  restore(shard, 3);
  complete(shard, lease_one(shard));
  now_ += seconds(10);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  set_delay(shard, seconds(1));
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(1u));
}

TEST_F(HostShardTest, P1_ARaisedDelayHoldsFromTheRequestBefore) {
  HostShard shard(store_, options(seconds(1)));
  restore(shard, 3);
  complete(shard, lease_one(shard));
  set_delay(shard, hours(1));
  now_ = start_ + seconds(1);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  expect_due(shard, start_, hours(1));
}

TEST_F(HostShardTest, P1_AfterARestartEveryHostWaitsItsDelayFirst) {
  auto restarted = options(seconds(1));
  restarted.restarted = start_;
  store_.host_records[test::id_of("slow.test")] = {.name = "slow.test", .delay = seconds(5)};
  HostShard shard(store_, restarted);
  restore(shard, 1);
  restore(shard, 1, "slow.test");
  admit(shard, 1, "new.test");
  now_ += milliseconds(999);
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ += milliseconds(1);
  EXPECT_THAT(sequences(lease(shard)), UnorderedElementsAre(0u, 2u));
  now_ += milliseconds(3999);
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ += milliseconds(1);
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(1u));
}

TEST_F(HostShardTest, P1_TheDelayCountsFromTheEndOfASlowRead) {
  for (const std::uint32_t leases_per_host : {1u, 2u}) {
    SCOPED_TRACE(leases_per_host);
    now_ = start_;
    store_.on_read = {};
    HostShard shard(store_, options(milliseconds(1000), leases_per_host));
    store_.queues.clear();
    admit(shard, 1);
    complete(shard, lease_one(shard));
    restore(shard, 4);
    store_.on_read = [this](std::size_t) -> Result<void> {
      now_ += milliseconds(900);
      return {};
    };
    now_ = start_ + milliseconds(1000);
    const auto second = lease_one(shard);
    const SteadyTime handed_out = now_;
    ASSERT_EQ(handed_out, start_ + milliseconds(1900));
    if (leases_per_host == 1) complete(shard, second);
    expect_due(shard, handed_out, milliseconds(1000));
  }
}

TEST_F(HostShardTest, P1_ALeaseWithoutARequestLeavesTheDelayOfTheOneBefore) {
  for (const bool released : {false, true}) {
    for (const bool undone_first : {false, true}) {
      SCOPED_TRACE(testing::Message() << "released " << released << ", first " << undone_first);
      now_ = start_;
      store_.queues.clear();
      HostShard shard(store_, options(milliseconds(1000), 2));
      restore(shard, 5);
      const auto a = lease_one(shard);
      now_ = start_ + milliseconds(1000);
      const auto b = lease_one(shard);
      const auto undo = [&] {
        if (released) {
          EXPECT_TRUE(shard.release(b.number, std::nullopt));
        } else {
          complete(shard, b, {.requested = false});
        }
      };
      if (undone_first) undo();
      complete(shard, a, {.started_after = milliseconds(900)});
      if (!undone_first) undo();
      EXPECT_THAT(sequences(lease(shard)), IsEmpty());
      expect_due(shard, start_ + milliseconds(900), milliseconds(1000));
    }
  }
}

TEST_F(HostShardTest, AReleaseUntilATimeHoldsWhateverTheDelayBecomes) {
  HostShard shard(store_, options(milliseconds(0)));
  set_delay(shard, seconds(60));
  restore(shard, 2);
  EXPECT_TRUE(shard.release(lease_one(shard).number, start_ + seconds(120)));
  set_delay(shard, milliseconds(0));
  now_ = start_ + seconds(61);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  expect_due(shard, start_, seconds(120));
}

// Its delay was long when it was scheduled first.
TEST_F(HostShardTest, M1_AnIdleHostIsForgottenThoughItWasScheduledForLater) {
  HostShard shard(store_, options(milliseconds(0)));
  set_delay(shard, hours(1));
  admit(shard, 1);
  complete(shard, lease_one(shard));
  set_delay(shard, seconds(1));
  now_ = start_ + seconds(1);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  EXPECT_EQ(shard.stats().hosts, 0u);
}

TEST_F(HostShardTest, TheDelayOfAHostFollowsItsResponseTime) {
  auto adaptive = options(milliseconds(100));
  adaptive.politeness.adaptive_delay = 5;
  adaptive.politeness.max_adaptive_delay = seconds(3);
  HostShard shard(store_, adaptive);
  restore(shard, 10);
  complete(shard, lease_one(shard), {.response_time = milliseconds(400)});
  expect_due(shard, start_, milliseconds(2000));
  // The lease that expect_due() took: 400 + (0 - 400) / 4 = 300.
  const SteadyTime second = now_;
  EXPECT_TRUE(shard.begin_completion(2, {.response_time = milliseconds(0)}));
  expect_due(shard, second, milliseconds(1500));
  const SteadyTime third = now_;
  EXPECT_TRUE(shard.begin_completion(3, {.response_time = hours(1)}));
  expect_due(shard, third, seconds(3));
}

TEST_F(HostShardTest, NoneOfManyReadyHostsWaitsMoreThanARound) {
  constexpr std::uint64_t kHosts = 1000;
  HostShard shard(store_, options(milliseconds(0)));
  for (std::uint64_t host = 0; host < kHosts; ++host)
    admit(shard, 3, "host" + std::to_string(host) + ".test");
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (std::uint64_t host = 0; host < kHosts; ++host) {
      const auto lease = lease_one(shard);
      ASSERT_EQ(lease.url.order.sequence, 3 * host + round);
      complete(shard, lease);
    }
  }
}

// However often it gives its turn back.
TEST_F(HostShardTest, AHostWhoseLeaseIsReleasedGoesBehindTheOthers) {
  HostShard shard(store_, options(milliseconds(0)));
  for (const char* host : {"a.test", "b.test", "c.test"})
    admit(shard, 1, host);
  std::vector<std::uint64_t> order;
  for (int n = 0; n < 6; ++n) {
    const auto lease = lease_one(shard);
    order.push_back(lease.url.order.sequence);
    EXPECT_TRUE(shard.release(lease.number, std::nullopt));
  }
  EXPECT_THAT(order, ElementsAre(0u, 1u, 2u, 0u, 1u, 2u));
}

TEST_F(HostShardTest, AStoreThatCannotBeReadIsToldAndAClosedShardLeasesNothing) {
  HostShard shard(store_, options(milliseconds(0)));
  store_.on_host = [](HostId) { return error(ErrorCode::kIo, "broken"); };
  admit(shard, 1);
  std::vector<NumberedLease> leases;
  auto result = shard.lease(1, leases);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "broken");
  store_.on_host = {};

  HostShard other(store_, options(milliseconds(0)));
  restore(other, 1, "b.test");
  store_.on_read = [](std::size_t) { return error(ErrorCode::kIo, "broken"); };
  result = other.lease(1, leases);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "broken");
  other.close();
  result = other.lease(1, leases);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kClosed);
}

TEST_F(HostShardTest, WhatIsOpenAtTheSameTimeIsBounded) {
  auto few = options(milliseconds(0), 10);
  Quota three(3);
  few.leases = &three;
  HostShard shard(store_, few);
  admit(shard, 5);
  const auto leases = lease(shard);
  ASSERT_EQ(leases.size(), 3u);
  EXPECT_TRUE(shard.has_turn()) << "for a lease alone it waits";
  begin(shard, leases[0]);
  EXPECT_THAT(lease(shard), IsEmpty()) << "its completion is not durable yet";
  commit_end(shard, leases[0].url);
  EXPECT_EQ(lease(shard).size(), 1u);
}

}  // namespace
}  // namespace trawl
