// HostShard: requests begin when their host, domain and address may be asked, not when they were
// handed out.
#include <optional>

#include <gtest/gtest.h>

#include "frontier/schedule/host_shard.h"
#include "tests/frontier/host_shard_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using When = StartTurn::When;

class HostShardStarts : public test::HostShardFixture {
 protected:
  ShardOptions paced(milliseconds delay, std::uint32_t leases_per_host = 1) {
    auto paced = options(delay, leases_per_host);
    if (domains_) paced.domains = &*domains_;
    if (addresses_) paced.addresses = &*addresses_;
    return paced;
  }
  static StartTurn start(HostShard& shard, const NumberedLease& lease,
                         std::string_view address = "10.1") {
    const auto turn = shard.start(lease.number, address);
    EXPECT_TRUE(turn) << lease.number;
    return turn.value_or(StartTurn{});
  }
  static StartTurn elsewhere(HostShard& shard, const std::string& host,
                             std::string_view address = "10.1") {
    const auto turn = shard.start_elsewhere(test::id_of(host), host, address);
    EXPECT_TRUE(turn) << host;
    return turn.value_or(StartTurn{});
  }
  // One that is let begin is sent at once.
  void expect_sent(HostShard& shard, const StartTurn& turn) {
    EXPECT_EQ(turn.when, When::kNow);
    shard.sent(turn, now_, "");
  }
  void expect_later(const StartTurn& turn, SteadyTime at) {
    EXPECT_EQ(turn.when, When::kLater);
    EXPECT_EQ(turn.at - start_, at - start_);
  }

  std::optional<GroupRateLimiter> domains_;
  std::optional<GroupRateLimiter> addresses_;
};

TEST_F(HostShardStarts, P1_HostsWhoseAddressIsNotKnownYetDoNotStartTogether) {
  addresses_.emplace(seconds(1));
  HostShard shard(store_, paced(milliseconds(0)));
  for (const char* host : {"a.test", "b.test", "c.test"})
    admit(shard, 1, host);
  const auto leases = lease(shard);
  ASSERT_EQ(leases.size(), 3u);
  EXPECT_TRUE(leases[0].url.paced);
  const auto first = start(shard, leases[0]);
  EXPECT_EQ(first.when, When::kNow);
  shard.sent(first, now_, "");
  for (const auto& late : {leases[1], leases[2]}) {
    expect_later(start(shard, late), start_ + seconds(1));
    EXPECT_TRUE(shard.release(late.number, start_ + seconds(1), std::nullopt));
  }
  // They stand in line from then on.
  EXPECT_TRUE(lease(shard).empty());
  for (int turn = 1; turn <= 2; ++turn) {
    EXPECT_EQ(shard.next_due(), start_ + turn * seconds(1));
    now_ = start_ + turn * seconds(1);
    const auto next = lease(shard);
    ASSERT_EQ(next.size(), 1u);
    const auto granted = start(shard, next[0]);
    EXPECT_EQ(granted.when, When::kNow);
    shard.sent(granted, now_, "");
  }
}

TEST_F(HostShardStarts, P1_ARequestThatStartsLateHoldsUpThoseBehindIt) {
  domains_.emplace(seconds(1));
  HostShard shard(store_, paced(milliseconds(0)));
  for (const char* host : {"a.d.test", "b.d.test", "c.d.test"})
    admit(shard, 1, host);
  const auto first = lease_one(shard);
  now_ += seconds(1);
  const auto second = lease_one(shard);
  const auto turn = start(shard, second);
  EXPECT_EQ(turn.when, When::kNow);
  shard.sent(turn, now_ + milliseconds(300), "");
  expect_later(start(shard, first), start_ + milliseconds(2300));
  now_ = start_ + milliseconds(2299);
  EXPECT_TRUE(lease(shard).empty()) << "the third host, whose turn is after that start, too";
  EXPECT_EQ(start(shard, first).when, When::kSoon) << "it was handed out in turn";
  now_ += milliseconds(1);
  EXPECT_EQ(start(shard, first).when, When::kNow);
}

TEST_F(HostShardStarts, P1_NothingElseStartsUntilARequestWasSent) {
  addresses_.emplace(milliseconds(200));
  HostShard shard(store_, paced(milliseconds(0)));
  for (const char* host : {"a.test", "b.test", "c.test"})
    admit(shard, 1, host);
  const auto leases = lease(shard);
  ASSERT_EQ(leases.size(), 3u);
  const auto first = start(shard, leases[0]);
  now_ += milliseconds(250);
  const auto busy = start(shard, leases[1]);
  EXPECT_EQ(busy.when, When::kSoon);
  EXPECT_GT(busy.at, now_);
  shard.sent(first, now_, "");
  expect_later(start(shard, leases[1]), now_ + milliseconds(200));
  now_ += milliseconds(200);
  EXPECT_EQ(start(shard, leases[1]).when, When::kNow);
  // A start that is never reported does not block others forever.
  now_ += milliseconds(400);
  EXPECT_EQ(start(shard, leases[2]).when, When::kNow);
}

TEST_F(HostShardStarts, P1_TheDelayOfAHostHoldsBetweenStarts) {
  HostShard shard(store_, paced(seconds(1), 3));
  admit(shard, 3);
  const auto first = lease_one(shard);
  now_ += seconds(1);
  const auto second = lease_one(shard);
  now_ += milliseconds(500);
  EXPECT_EQ(start(shard, first).when, When::kNow);
  expect_later(start(shard, second), now_ + seconds(1));
  EXPECT_TRUE(shard.release(second.number, now_ + seconds(1), std::nullopt));
  EXPECT_TRUE(lease(shard).empty());
  now_ += seconds(1);
  EXPECT_EQ(lease_one(shard).url.order, second.url.order);
}

TEST_F(HostShardStarts, AStartCountsThoughTheLeaseIsGivenBack) {
  domains_.emplace(seconds(1));
  HostShard shard(store_, paced(milliseconds(0)));
  admit(shard, 1, "a.d.test");
  const auto first = lease_one(shard);
  EXPECT_EQ(start(shard, first).when, When::kNow);
  EXPECT_TRUE(shard.release(first.number, std::nullopt));
  EXPECT_TRUE(lease(shard).empty());
  now_ += seconds(1);
  EXPECT_EQ(lease(shard).size(), 1u);
}

TEST_F(HostShardStarts, P1_RequestsOnBehalfOfOthersAndTheHostsOwnTakeTurns) {
  HostShard shard(store_, paced(milliseconds(500)));
  admit(shard, 10);
  set_delay(shard, seconds(1));
  expect_sent(shard, start(shard, lease_one(shard)));
  // Three come at once: one after another, and the host's own have turns in between.
  for (const int at : {1, 3, 5})
    expect_later(elsewhere(shard, "a.test"), start_ + seconds(at));
  EXPECT_TRUE(shard.release(1, std::nullopt));
  for (const int at : {1, 3, 5}) {
    now_ = start_ + seconds(at);
    EXPECT_TRUE(lease(shard).empty()) << at;
    expect_sent(shard, elsewhere(shard, "a.test"));
    now_ += milliseconds(999);
    EXPECT_TRUE(lease(shard).empty()) << at;
    now_ += milliseconds(1);
    const auto own = lease_one(shard);
    expect_sent(shard, start(shard, own));
    complete(shard, own);
  }
}

TEST_F(HostShardStarts, P1_RequestsToHostsThatAreNotCrawledKeepTheirDelaysToo) {
  domains_.emplace(seconds(2));
  addresses_.emplace(seconds(3));
  HostShard shard(store_, paced(seconds(1)));
  expect_sent(shard, elsewhere(shard, "a.d.test"));
  expect_later(elsewhere(shard, "b.d.test", "10.2"), start_ + seconds(2));
  expect_later(elsewhere(shard, "c.test"), start_ + seconds(3));
  admit(shard, 1, "d.d.test");
  EXPECT_TRUE(lease(shard).empty()) << "its domain was asked";
  now_ += seconds(2);
  EXPECT_TRUE(lease(shard).empty()) << "b.d.test has its turn";
  EXPECT_EQ(elsewhere(shard, "b.d.test", "10.2").when, When::kNow);
}

TEST_F(HostShardStarts, TheLongDelayOfAHostHoldsUpNoOtherOfItsAddress) {
  addresses_.emplace(seconds(1));
  HostShard shard(store_, paced(milliseconds(0)));
  set_delay(shard, seconds(30), "slow.test");
  expect_sent(shard, elsewhere(shard, "slow.test"));
  expect_later(elsewhere(shard, "slow.test"), start_ + seconds(30));
  for (int i = 1; i < 30; ++i) {
    now_ = start_ + seconds(i);
    expect_sent(shard, elsewhere(shard, "quick.test"));
  }
  now_ = start_ + seconds(30);
  expect_sent(shard, elsewhere(shard, "slow.test"));
}

TEST_F(HostShardStarts, P1_WhatIsReportedWithTheEndOfALeaseCountsForDomainAndAddress) {
  for (const bool by_domain : {true, false}) {
    for (const int how : {0, 1, 2}) {
      SCOPED_TRACE(testing::Message() << by_domain << how);
      now_ += seconds(100);
      store_.queues.clear();
      domains_.reset();
      addresses_.reset();
      by_domain ? domains_.emplace(seconds(1)) : addresses_.emplace(seconds(1));
      HostShard shard(store_, paced(milliseconds(0)));
      for (const char* host : {"a.d.test", "b.d.test"}) {
        admit(shard, 1, host);
        shard.set_address(test::id_of(host), "10.1");
      }
      const SteadyTime handed_out = now_;
      const auto first = lease_one(shard);
      now_ += milliseconds(900);
      const Outcome outcome{.started_after = milliseconds(700), .address = "10.1"};
      if (how == 0) complete(shard, first, outcome);
      if (how == 1) {
        EXPECT_TRUE(shard.release(first.number, now_, milliseconds(700)));
      } else if (how == 2) {
        EXPECT_TRUE(shard.begin_failure(first.number, FailureReason::kServerError, {}, outcome));
      }
      now_ = handed_out + milliseconds(1699);
      EXPECT_TRUE(lease(shard).empty());
      now_ += milliseconds(1);
      EXPECT_EQ(lease(shard).size(), 1u);
    }
  }
}

TEST_F(HostShardStarts, WithoutAnyDelayThereIsNothingToAskFor) {
  HostShard shard(store_, paced(milliseconds(0)));
  admit(shard, 1);
  const auto first = lease_one(shard);
  EXPECT_FALSE(first.url.paced);
  EXPECT_EQ(start(shard, first).when, When::kNow);
  EXPECT_FALSE(shard.start(first.number + 1, "10.1"));
}

}  // namespace
}  // namespace trawl
