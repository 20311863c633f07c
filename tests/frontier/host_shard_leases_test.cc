// Leases of a HostShard that expire, come late, are renewed, or end twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontier/schedule/host_shard.h"
#include "tests/frontier/host_shard_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostShardLeases : public test::HostShardFixture {
 protected:
  ShardOptions expiring(milliseconds timeout = seconds(10), std::uint32_t leases_per_host = 10) {
    auto expiring = options(milliseconds(0), leases_per_host);
    expiring.lease_timeout = timeout;
    return expiring;
  }
  static LeaseEnd end_of(HostShard& shard, std::uint64_t number) {
    const auto ended = shard.begin_completion(number, {.status = 200});
    EXPECT_TRUE(ended);
    return ended ? ended->end : LeaseEnd::kRepeated;
  }
};

TEST_F(HostShardLeases, OneThatExpiresGoesBackToItsPlaceInTheQueue) {
  HostShard shard(store_, expiring());
  admit(shard, 3);
  const auto first = lease_one(shard);
  EXPECT_EQ(shard.next_due(), now_) << "two more may be leased";
  ASSERT_EQ(lease(shard).size(), 2u);
  EXPECT_EQ(shard.next_due(), start_ + seconds(10));
  now_ = start_ + seconds(10) - milliseconds(1);
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ = start_ + seconds(10);
  const auto again = lease(shard);
  EXPECT_THAT(sequences(again), ElementsAre(0u, 1u, 2u));
  EXPECT_EQ(again[0].url.record, first.url.record);
  EXPECT_EQ(again[0].number, 4u);
  EXPECT_EQ(shard.stats().expired, 3u);
  EXPECT_EQ(shard.stats().leased, 3u);
}

TEST_F(HostShardLeases, ARenewedOneExpiresLater) {
  HostShard shard(store_, expiring());
  admit(shard, 2);
  const auto leases = lease(shard);
  ASSERT_EQ(leases.size(), 2u);
  now_ = start_ + seconds(6);
  EXPECT_TRUE(shard.renew(leases[0].number));
  now_ = start_ + seconds(10);
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(1u));
  now_ = start_ + seconds(16);
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(0u));
  EXPECT_EQ(shard.renew(leases[0].number).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(shard.renew(1000).error().code, ErrorCode::kNotFound);
}

// A request of a lease that expired may have been made, and counts against the delay.
TEST_F(HostShardLeases, P1_AnExpiredOneCountsAsARequest) {
  auto slow = expiring(seconds(1), 1);
  slow.politeness.delay = seconds(10);
  HostShard shard(store_, slow);
  admit(shard, 1);
  ASSERT_EQ(lease(shard).size(), 1u);
  now_ = start_ + seconds(2);
  EXPECT_THAT(lease(shard), IsEmpty());
  expect_due(shard, start_, seconds(10));
}

TEST_F(HostShardLeases, ALateCompletionIsAcceptedOnceWhileItsUrlWaits) {
  for (const bool in_store : {false, true}) {
    SCOPED_TRACE(in_store);
    store_.queues.clear();
    next_sequence_ = 0;
    auto few = expiring();
    if (in_store) few.max_head_bytes = 0;
    HostShard shard(store_, few);
    admit(shard, 2);
    const auto leases = lease(shard);
    ASSERT_EQ(leases.size(), 2u);
    now_ += seconds(10);
    std::vector<NumberedLease> none;
    ASSERT_TRUE(shard.lease(0, none));  // they expire
    const auto late = begin(shard, leases[0]);
    EXPECT_EQ(late.end, LeaseEnd::kLate);
    EXPECT_EQ(late.url.record, leases[0].url.record);
    EXPECT_EQ(late.url.order, leases[0].url.order);
    EXPECT_THAT(sequences(lease(shard)), ElementsAre(1u)) << "0 has ended";
    EXPECT_EQ(end_of(shard, leases[0].number), LeaseEnd::kRepeated);
    commit_end(shard, late.url);
    EXPECT_THAT(lease(shard), IsEmpty());
    EXPECT_EQ(end_of(shard, leases[0].number), LeaseEnd::kRepeated);
    EXPECT_EQ(shard.stats().late, 1u);
    EXPECT_EQ(shard.stats().repeated, 2u);
    EXPECT_EQ(shard.stats().leased, 1u);
  }
}

TEST_F(HostShardLeases, ALateCompletionEndsANewerLeaseOfItsUrl) {
  HostShard shard(store_, expiring(seconds(10), 1));
  admit(shard, 2);
  const auto first = lease_one(shard);
  now_ += seconds(10);
  const auto second = lease_one(shard);
  ASSERT_EQ(second.url.order, first.url.order);
  const auto late = begin(shard, first);
  EXPECT_EQ(late.end, LeaseEnd::kLate);
  EXPECT_EQ(late.url.record, first.url.record);
  commit_end(shard, late.url);
  // Its request is under way, and has its place at the host until it ends.
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().leased, 1u);
  EXPECT_EQ(end_of(shard, second.number), LeaseEnd::kRepeated);
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(1u));
}

TEST_F(HostShardLeases, ANewerLeaseWhoseUrlEndedExpiresWithoutIt) {
  HostShard shard(store_, expiring(seconds(10), 1));
  admit(shard, 1);
  const auto first = lease_one(shard);
  now_ += seconds(10);
  const auto second = lease_one(shard);
  EXPECT_EQ(end_of(shard, first.number), LeaseEnd::kLate);
  commit_host(shard);
  now_ += seconds(10);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(end_of(shard, second.number), LeaseEnd::kRepeated);
  commit_end(shard, first.url);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().leased, 0u);
  EXPECT_EQ(shard.stats().hosts, 0u);
}

TEST_F(HostShardLeases, ALateCompletionAfterANewerOneIsRepeated) {
  HostShard shard(store_, expiring());
  admit(shard, 1);
  const auto first = lease_one(shard);
  now_ += seconds(10);
  const auto second = lease_one(shard);
  EXPECT_EQ(end_of(shard, second.number), LeaseEnd::kOpen);
  EXPECT_EQ(end_of(shard, first.number), LeaseEnd::kRepeated);
  commit_end(shard, second.url);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(end_of(shard, first.number), LeaseEnd::kRepeated);
  EXPECT_EQ(end_of(shard, second.number), LeaseEnd::kRepeated);
}

TEST_F(HostShardLeases, AFailureOfAnExpiredOneDoesNothing) {
  HostShard shard(store_, expiring());
  admit(shard, 1);
  const auto first = lease_one(shard);
  now_ += seconds(10);
  std::vector<NumberedLease> none;
  ASSERT_TRUE(shard.lease(0, none));
  const auto failure = shard.begin_failure(first.number, FailureReason::kTimeout, seconds(60), {});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->lease.end, LeaseEnd::kRepeated);
  EXPECT_FALSE(failure->lease.host_changed);
  EXPECT_FALSE(failure->blocked_until);
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(0u));
}

TEST_F(HostShardLeases, OneThatWasNeverGivenIsNotFound) {
  auto numbered = expiring();
  numbered.first_lease = 100;
  HostShard shard(store_, numbered);
  admit(shard, 1);
  EXPECT_EQ(lease_one(shard).number, 100u);
  for (const std::uint64_t number : {0u, 99u, 101u}) {
    EXPECT_EQ(shard.begin_completion(number, {}).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(shard.begin_failure(number, FailureReason::kTimeout, {}, {}).error().code,
              ErrorCode::kNotFound);
    EXPECT_EQ(shard.release(number, std::nullopt).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(shard.renew(number).error().code, ErrorCode::kNotFound);
  }
}

TEST_F(HostShardLeases, M1_ExpiredOnesAreForgottenTheOldestFirst) {
  auto few = expiring();
  constexpr std::size_t kMany = 1'100;  // more than are kept in any case
  few.max_expired = kMany;
  few.politeness.leases_per_host = kMany;
  HostShard shard(store_, few);
  admit(shard, kMany);
  const auto first = lease(shard);
  ASSERT_EQ(first.size(), kMany);
  now_ += seconds(10);
  const auto second = lease(shard);
  ASSERT_EQ(second.size(), kMany);
  now_ += seconds(10);
  std::vector<NumberedLease> none;
  ASSERT_TRUE(shard.lease(0, none));  // the second ones push the first ones out
  for (const auto& lease : first)
    EXPECT_EQ(end_of(shard, lease.number), LeaseEnd::kRepeated);
  for (const auto& lease : second)
    EXPECT_EQ(end_of(shard, lease.number), LeaseEnd::kLate);
  EXPECT_THAT(lease(shard), IsEmpty());
}

// The sequences of a shared frontier are those of a bucket.
TEST_F(HostShardLeases, HostsMayHaveUrlsWithTheSameSequence) {
  HostShard shard(store_, options(milliseconds(0), 2));
  for (const char* const host : {"a.test", "b.test"}) {
    admit(shard, queued(7, 0, host));
    admit(shard, queued(8, 0, host));
  }
  const auto leases = lease(shard);
  ASSERT_EQ(leases.size(), 4u);
  for (const NumberedLease& lease : leases) {
    const bool is_first = lease.url.host == test::id_of("a.test") && lease.url.order.sequence == 7;
    if (is_first) complete(shard, lease);
  }
  shard.take_inbox();
  EXPECT_FALSE(shard.is_leased(test::id_of("a.test"), 7));
  EXPECT_TRUE(shard.has_lease(test::id_of("a.test"), 8));
  EXPECT_TRUE(shard.has_lease(test::id_of("b.test"), 7));
  EXPECT_TRUE(shard.has_lease(test::id_of("b.test"), 8));
  EXPECT_EQ(shard.leased(), 3u);
}

// It would be counted as dropped and as completed.
TEST_F(HostShardLeases, ALateCompletionAfterItsUrlWasDroppedIsRepeated) {
  HostShard shard(store_, expiring());
  admit(shard, 2);
  const auto leases = lease(shard);
  now_ += seconds(10);
  std::vector<NumberedLease> none;
  ASSERT_TRUE(shard.lease(0, none));
  EXPECT_TRUE(shard.begin_drop(test::id_of("a.test")));
  EXPECT_FALSE(shard.is_leased(test::id_of("a.test"), 0));
  // Before the drop is durable.
  EXPECT_EQ(end_of(shard, leases[0].number), LeaseEnd::kRepeated);
  EXPECT_EQ(end_of(shard, leases[1].number), LeaseEnd::kLate);
  EXPECT_TRUE(shard.is_leased(test::id_of("a.test"), 1)) << "its end is to be committed";
  store_.remove(leases[0].url);
  shard.end_drop(test::id_of("a.test"), 1);
  commit_end(shard, leases[1].url);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().hosts, 0u);
}

TEST_F(HostShardLeases, AReleasedUrlIsLeasedFirstAgain) {
  for (const std::uint64_t head_bytes : {1u << 20, 0u}) {
    SCOPED_TRACE(head_bytes);
    store_.queues.clear();
    next_sequence_ = 0;
    auto some = options(milliseconds(0));
    some.max_head_bytes = head_bytes;
    HostShard shard(store_, some);
    admit(shard, 3);
    const auto first = lease_one(shard);
    EXPECT_TRUE(shard.release(first.number, std::nullopt));
    const auto again = lease_one(shard);
    EXPECT_EQ(again.url.order, first.url.order);
    EXPECT_EQ(again.url.record, first.url.record);
    EXPECT_NE(again.number, first.number);
    EXPECT_EQ(shard.release(first.number, std::nullopt).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(end_of(shard, first.number), LeaseEnd::kRepeated);
  }
}

}  // namespace
}  // namespace trawl
