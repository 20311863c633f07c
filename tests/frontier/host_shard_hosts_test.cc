// What a HostShard keeps of hosts: failures, blocks, limits, and dropped queues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontier/schedule/host_shard.h"
#include "tests/frontier/host_shard_fixture.h"

namespace trawl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostShardHosts : public test::HostShardFixture {
 protected:
  HostFailure fail_one(HostShard& shard, FailureReason reason,
                       std::optional<milliseconds> retry_after = std::nullopt,
                       const Outcome& outcome = {}) {
    auto failure = shard.begin_failure(lease_one(shard).number, reason, retry_after, outcome);
    EXPECT_TRUE(failure);
    return failure ? std::move(*failure) : HostFailure{};
  }
  HostInfo info(HostShard& shard, const std::string& host = "a.test") const {
    return shard.info(test::id_of(host)).value_or(HostInfo{});
  }
  milliseconds wait_of(const HostFailure& failure) const {
    return std::chrono::duration_cast<milliseconds>(failure.blocked_until.value_or(wall_now()) -
                                                    wall_now());
  }
};

TEST_F(HostShardHosts, AHostThatFailsIsLeftAloneLongerEachTime) {
  HostShard shard(store_, options(milliseconds(0)));
  admit(shard, 10);
  milliseconds most(1000);
  for (std::uint32_t n = 1; n <= 8; ++n) {
    const auto failure = fail_one(shard, FailureReason::kConnection);
    const milliseconds wait = wait_of(failure);
    EXPECT_GE(wait, most / 2) << n;
    EXPECT_LE(wait, most) << n;
    EXPECT_TRUE(failure.lease.host_changed);
    EXPECT_EQ(info(shard).failures, n);
    EXPECT_EQ(info(shard).state, HostState::kBlocked);
    EXPECT_EQ(info(shard).settings.blocked_until, failure.blocked_until);
    EXPECT_EQ(shard.stats().blocked, 1u);
    EXPECT_EQ(shard.next_due(), now_ + wait);
    now_ += wait - milliseconds(1);
    EXPECT_THAT(lease(shard), IsEmpty());
    now_ += milliseconds(1);
    EXPECT_EQ(shard.stats().blocked, 0u);
    most = std::min<milliseconds>(most * 2, seconds(60));
  }
  const auto ended = begin(shard, lease_one(shard));
  EXPECT_TRUE(ended.host_changed);
  EXPECT_TRUE(shard.record_of(test::id_of("a.test")).value_or(HostRecord{}).is_default());
  EXPECT_LE(wait_of(fail_one(shard, FailureReason::kTimeout)), seconds(1)) << "a new row";
}

// Whatever the order in which the operations are committed.
TEST_F(HostShardHosts, WhatIsStoredOfAHostIsWhatIsCommitted) {
  HostShard shard(store_, options(milliseconds(0), 10));
  admit(shard, 10);
  const HostId id = test::id_of("a.test");
  const auto limit_to = [&](std::uint64_t urls) {
    return shard.change_host(id, "a.test", [=](HostRecord& r) { r.remaining = urls; }).value();
  };
  const auto stored = [&](std::uint64_t change) {
    const HostRecord record = shard.record_of(id, change).value_or(HostRecord{});
    EXPECT_EQ(record.is_default(), record.name.empty());
    return record.remaining;
  };
  const std::uint64_t first = limit_to(8);
  const auto leases = lease(shard, 4);
  ASSERT_EQ(leases.size(), 4u);
  const auto complete_one = [&](std::size_t i) { return begin(shard, leases[i]).host_change; };
  const std::uint64_t one = complete_one(0);
  const std::uint64_t two = complete_one(1);
  EXPECT_EQ(info(shard).settings.limit, 6u);
  EXPECT_EQ(stored(two), std::nullopt) << "there is no limit yet";
  EXPECT_EQ(stored(first), 7u);
  EXPECT_EQ(stored(one), 6u);
  const std::uint64_t three = complete_one(2);
  const std::uint64_t second = limit_to(20);
  const std::uint64_t four = complete_one(3);
  EXPECT_EQ(stored(four), 5u);
  EXPECT_EQ(stored(three), 4u);
  EXPECT_EQ(stored(second), 19u);
  EXPECT_EQ(info(shard).settings.limit, 19u);
  EXPECT_EQ(limit_to(19), 0u);
}

TEST_F(HostShardHosts, FailuresAreStoredWithTheOperationsThatCountThem) {
  HostShard shard(store_, options(milliseconds(0), 10));
  admit(shard, 10);
  const HostId id = test::id_of("a.test");
  const auto leases = lease(shard, 4);
  ASSERT_EQ(leases.size(), 4u);
  std::vector<std::uint64_t> changes;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto failure =
        shard.begin_failure(leases[i].number, FailureReason::kConnection, std::nullopt, {});
    ASSERT_TRUE(failure);
    changes.push_back(failure->lease.host_change);
  }
  changes.push_back(begin(shard, leases[3]).host_change);
  EXPECT_EQ(info(shard).failures, 0u) << "the last one was answered";
  const auto stored = [&](std::uint64_t change) {
    return shard.record_of(id, change).value_or(HostRecord{}).failures;
  };
  EXPECT_EQ(stored(0), 0u);
  EXPECT_EQ(stored(changes[2]), 1u);
  EXPECT_EQ(stored(changes[0]), 2u);
  EXPECT_EQ(stored(changes[3]), 0u);
  EXPECT_EQ(stored(changes[1]), 0u);
}

TEST_F(HostShardHosts, OnlyPassingFailuresMakeAHostBackOffAndAnswersEndARow) {
  HostShard shard(store_, options(milliseconds(0)));
  admit(shard, 20);
  for (const auto reason : {FailureReason::kTimeout, FailureReason::kConnection,
                            FailureReason::kTooManyRequests, FailureReason::kUnavailable}) {
    EXPECT_TRUE(fail_one(shard, reason).blocked_until);
    now_ += seconds(60);
  }
  EXPECT_EQ(info(shard).failures, 4u);
  // No answer, and nothing that passes: it says nothing about the host.
  EXPECT_FALSE(fail_one(shard, FailureReason::kPermanent, seconds(5)).blocked_until);
  EXPECT_EQ(info(shard).failures, 4u);
  EXPECT_FALSE(fail_one(shard, FailureReason::kServerError).blocked_until);
  EXPECT_EQ(info(shard).failures, 0u);
  fail_one(shard, FailureReason::kTimeout);
  now_ += seconds(60);
  EXPECT_FALSE(
      fail_one(shard, FailureReason::kPermanent, std::nullopt, {.status = 404}).blocked_until);
  EXPECT_EQ(info(shard).failures, 0u);
}

TEST_F(HostShardHosts, RetryAfterIsTheLeastTime) {
  HostShard shard(store_, options(milliseconds(0)));
  admit(shard, 5);
  EXPECT_EQ(wait_of(fail_one(shard, FailureReason::kTooManyRequests, seconds(30))), seconds(30));
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ += seconds(30);
  EXPECT_EQ(wait_of(fail_one(shard, FailureReason::kServerError, seconds(7))), seconds(7));
  now_ += seconds(7);
  EXPECT_GE(wait_of(fail_one(shard, FailureReason::kTimeout, milliseconds(-5))), milliseconds(500));
  now_ += seconds(60);
  EXPECT_EQ(wait_of(fail_one(shard, FailureReason::kUnavailable, milliseconds::max())), kMaxDelay);
  EXPECT_THAT(lease(shard), IsEmpty());
}

TEST_F(HostShardHosts, AHostThatFailsTooOftenIsGivenUpUntilItIsRevived) {
  auto impatient = options(milliseconds(0));
  impatient.retry.host_failures = 3;
  HostShard shard(store_, impatient);
  admit(shard, 5);
  for (int n = 1; n <= 3; ++n) {
    EXPECT_GT(shard.stats().leasable, 0u);
    EXPECT_EQ(fail_one(shard, FailureReason::kTimeout).given_up, n == 3);
    now_ += seconds(60);
  }
  EXPECT_EQ(info(shard).state, HostState::kParked);
  EXPECT_EQ(info(shard).host, "a.test");
  EXPECT_EQ(shard.stats().given_up, 1u);
  EXPECT_EQ(shard.stats().leasable, 0u);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.next_due(), std::nullopt);
  change(shard, [](HostRecord& record) {
    record.given_up = false;
    record.failures = 0;
    record.blocked_until = 0;
  });
  EXPECT_GT(shard.stats().leasable, 0u);
  EXPECT_EQ(shard.stats().given_up, 0u);
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(3u));
}

TEST_F(HostShardHosts, TheSameSeedGivesTheSameWaits) {
  std::vector<std::vector<milliseconds>> waits;
  for (const std::uint64_t seed : {7u, 7u, 8u}) {
    store_.queues.clear();
    auto seeded = options(milliseconds(0));
    seeded.seed = seed;
    HostShard shard(store_, seeded);
    admit(shard, 5);
    waits.emplace_back();
    for (int n = 0; n < 5; ++n) {
      waits.back().push_back(wait_of(fail_one(shard, FailureReason::kTimeout)));
      now_ += seconds(60);
    }
  }
  EXPECT_EQ(waits[0], waits[1]);
  EXPECT_NE(waits[0], waits[2]);
}

TEST_F(HostShardHosts, ABlockHoldsByTheWallClock) {
  HostShard shard(store_, options(milliseconds(0)));
  admit(shard, 1);
  const std::int64_t until =
      std::chrono::duration_cast<milliseconds>(wall_now().time_since_epoch()).count() + 5000;
  change(shard, [&](HostRecord& record) { record.blocked_until = until; });
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.next_due(), start_ + seconds(5));
  EXPECT_EQ(info(shard).state, HostState::kBlocked);
  EXPECT_GT(shard.stats().leasable, 0u);
  now_ += milliseconds(4999);
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ += milliseconds(1);
  EXPECT_EQ(info(shard).state, HostState::kActive);
  const auto ended = begin(shard, lease_one(shard));
  EXPECT_TRUE(ended.host_changed) << "the block has passed: nothing need be kept of the host";
  EXPECT_TRUE(shard.record_of(test::id_of("a.test")).value_or(HostRecord{}).is_default());
}

// A clock that is set back, or that stood still while the machine slept.
TEST_F(HostShardHosts, ABlockIsLookedAtAgainWhenItsTimeHasCome) {
  milliseconds drift(0);
  auto drifting = options(milliseconds(0));
  drifting.wall_clock = [&] { return wall_now() + drift; };
  HostShard shard(store_, drifting);
  admit(shard, 1);
  EXPECT_TRUE(
      shard.begin_failure(lease_one(shard).number, FailureReason::kTimeout, seconds(10), {}));
  admit(shard, 1);
  drift = -seconds(3);
  now_ += seconds(10);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.next_due(), now_ + seconds(3));
  now_ += seconds(3);
  EXPECT_EQ(lease(shard).size(), 1u);
}

TEST_F(HostShardHosts, WhatTheStoreHasOfAHostHoldsWhenItComesIntoMemory) {
  const std::int64_t now =
      std::chrono::duration_cast<milliseconds>(wall_now().time_since_epoch()).count();
  store_.host_records[test::id_of("blocked.test")] = {.name = "blocked.test",
                                                      .blocked_until = now + 5000};
  store_.host_records[test::id_of("lost.test")] = {
      .name = "lost.test", .failures = 20, .given_up = true};
  store_.host_records[test::id_of("wide.test")] = {.name = "wide.test", .max_leases = 2};
  for (const bool restarted : {false, true}) {
    SCOPED_TRACE(restarted);
    now_ = start_;
    store_.queues.clear();
    next_sequence_ = 0;
    HostShard shard(store_, options(milliseconds(0)));
    for (const char* host : {"blocked.test", "lost.test", "wide.test"}) {
      if (restarted) {
        restore(shard, 3, host);
      } else {
        admit(shard, 3, host);
      }
    }
    EXPECT_THAT(sequences(lease(shard)), ElementsAre(6u, 7u));
    EXPECT_EQ(shard.stats().blocked, 1u);
    EXPECT_EQ(shard.stats().given_up, 1u);
    now_ += seconds(5);
    EXPECT_THAT(sequences(lease(shard)), ElementsAre(0u));
  }
}

TEST_F(HostShardHosts, ALimitCountsOpenLeasesAndRequestsThatEnded) {
  HostShard shard(store_, options(milliseconds(0), 10));
  change(shard, [](HostRecord& record) { record.remaining = 3; });
  admit(shard, 10);
  const auto leases = lease(shard);
  ASSERT_EQ(leases.size(), 3u);
  EXPECT_FALSE(begin(shard, leases[0], {.requested = false}).host_changed);
  ASSERT_EQ(lease(shard).size(), 1u) << "the skipped one does not count";
  EXPECT_TRUE(begin(shard, leases[1]).host_changed);
  EXPECT_TRUE(shard.release(leases[2].number, std::nullopt));
  const auto again = lease_one(shard);
  EXPECT_EQ(again.url.order, leases[2].url.order);
  begin(shard, again);
  EXPECT_GT(shard.stats().leasable, 0u) << "one more may be completed";
  EXPECT_EQ(info(shard).settings.limit, 1u);
  EXPECT_TRUE(shard.begin_completion(4, {.status = 404, .error = "not found"})->host_changed);
  EXPECT_EQ(info(shard).state, HostState::kAtLimit);
  EXPECT_EQ(shard.stats().leasable, 0u);
  EXPECT_THAT(lease(shard), IsEmpty());
  change(shard, [](HostRecord& record) { record.remaining.reset(); });
  EXPECT_EQ(lease(shard).size(), 6u);
}

TEST_F(HostShardHosts, AFailureCountsAgainstALimitIfItEndsItsUrl) {
  HostShard shard(store_, options(milliseconds(0), 10));
  change(shard, [](HostRecord& record) { record.remaining = 10; });
  admit(shard, test::queued_url(0, 0, "a.test", 1));
  admit(shard, test::queued_url(1, 0, "a.test", 2));
  const auto leases = lease(shard);
  ASSERT_EQ(leases.size(), 2u);
  EXPECT_TRUE(shard.begin_failure(leases[0].number, FailureReason::kServerError, {}, {}));
  EXPECT_EQ(info(shard).settings.limit, 10u) << "it is tried again";
  EXPECT_TRUE(shard.begin_failure(leases[1].number, FailureReason::kServerError, {}, {}));
  EXPECT_EQ(info(shard).settings.limit, 9u);
}

TEST_F(HostShardHosts, LeasesPerHostMayBeSetForOneHost) {
  HostShard shard(store_, options(milliseconds(0), 2));
  admit(shard, 5);
  admit(shard, 5, "b.test");
  change(shard, [](HostRecord& record) { record.max_leases = 4; });
  EXPECT_EQ(lease(shard).size(), 6u);
}

// The committer stores it after it asked for it; until then memory alone knows.
TEST_F(HostShardHosts, AChangedHostIsForgottenOnlyWhenTheStoreHasIt) {
  HostShard shard(store_, options(milliseconds(0)));
  const HostId id = test::id_of("a.test");
  ASSERT_TRUE(*shard.change_host(id, "a.test", [](HostRecord& r) { r.delay = seconds(3); }));
  EXPECT_FALSE(*shard.change_host(id, "a.test", [](HostRecord& r) { r.delay = seconds(3); }));
  for (int n = 0; n < 3; ++n) {
    EXPECT_THAT(lease(shard), IsEmpty());
    EXPECT_EQ(shard.stats().hosts, 1u);
    now_ += seconds(2);
  }
  const HostRecord record = shard.record_of(id).value_or(HostRecord{});
  EXPECT_EQ(record, (HostRecord{.name = "a.test", .delay = seconds(3)}));
  now_ += seconds(2);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().hosts, 1u) << "it is being written";
  store_.host_records[id] = record;
  shard.push_saved(id);
  now_ += seconds(2);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().hosts, 0u);
  EXPECT_TRUE(*shard.change_host(id, "a.test", [](HostRecord& r) {
    EXPECT_EQ(r.delay, seconds(3));
    r.delay.reset();
  }));
  EXPECT_TRUE(shard.record_of(id).value_or(HostRecord{}).is_default());
}

TEST_F(HostShardHosts, DamagedTimesAreTakenForTheNearestThatMakeSense) {
  store_.host_records[test::id_of("a.test")] = {
      .name = "a.test",
      .delay = milliseconds::max(),
      .blocked_until = std::numeric_limits<std::int64_t>::max()};
  store_.host_records[test::id_of("b.test")] = {
      .name = "b.test",
      .delay = milliseconds::min(),
      .blocked_until = std::numeric_limits<std::int64_t>::min()};
  HostShard shard(store_, options(milliseconds(0)));
  admit(shard, 2);
  admit(shard, 2, "b.test");
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(2u));
  EXPECT_EQ(info(shard).state, HostState::kBlocked);
  EXPECT_GT(info(shard).settings.blocked_until, wall_now() + hours(24 * 365 * 100));
  EXPECT_EQ(shard.next_due(), now_ + kMaxDelay);
}

TEST_F(HostShardHosts, WhileAQueueIsDroppedNothingOfItIsLeased) {
  HostShard shard(store_, options(milliseconds(0), 3));
  admit(shard, 6);
  const auto leases = lease(shard);
  ASSERT_THAT(sequences(leases), ElementsAre(0u, 1u, 2u));
  begin(shard, leases[1]);
  EXPECT_TRUE(shard.begin_drop(test::id_of("a.test")));
  EXPECT_THAT(lease(shard), IsEmpty());
  for (const std::uint64_t n : {0u, 1u, 2u})
    EXPECT_TRUE(shard.is_leased(test::id_of("a.test"), n)) << n;
  for (const std::uint64_t n : {3u, 4u, 5u}) {
    EXPECT_FALSE(shard.is_leased(test::id_of("a.test"), n));
    store_.remove(queued(n));
  }
  admit(shard, queued(10));
  EXPECT_THAT(lease(shard), IsEmpty());
  shard.end_drop(test::id_of("a.test"));
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(10u));
  EXPECT_TRUE(shard.release(leases[0].number, std::nullopt));
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(0u));
}

TEST_F(HostShardHosts, DropsOfOneQueueMayOverlap) {
  HostShard shard(store_, options(milliseconds(0)));
  const HostId id = test::id_of("a.test");
  admit(shard, 1);
  EXPECT_TRUE(shard.begin_drop(id));
  EXPECT_TRUE(shard.begin_drop(id));
  shard.end_drop(id);
  EXPECT_THAT(lease(shard), IsEmpty());
  shard.end_drop(id);
  EXPECT_EQ(lease(shard).size(), 1u);
  shard.end_drop(id);
}

TEST_F(HostShardHosts, AHostThatIsNotInMemoryMayBeDropped) {
  HostShard shard(store_, options(milliseconds(0)));
  EXPECT_TRUE(shard.begin_drop(test::id_of("a.test")));
  admit(shard, 1);
  EXPECT_THAT(lease(shard), IsEmpty());
  shard.end_drop(test::id_of("a.test"));
  EXPECT_EQ(lease(shard).size(), 1u);
  EXPECT_TRUE(shard.begin_drop(test::id_of("b.test")));
  shard.end_drop(test::id_of("b.test"));
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().hosts, 1u);
}

}  // namespace
}  // namespace trawl
