#include "frontier/schedule/group_rate_limiter.h"

#include <thread>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class GroupRateLimiterTest : public ::testing::Test {
 protected:
  // When the group may be asked if not at `now`; SteadyTime::min(): it may, and is.
  static SteadyTime start(GroupRateLimiter& clocks, std::string_view group, SteadyTime now) {
    const auto refusal = GroupRateLimiter::start(&clocks, clocks.id(group), nullptr, 0, now);
    return refusal ? refusal->again : SteadyTime::min();
  }
  const SteadyTime now_ = SteadyTime{} + std::chrono::hours(1);
};

TEST_F(GroupRateLimiterTest, P1_StartsOfAGroupAreTheDelayApart) {
  GroupRateLimiter clocks(seconds(2));
  EXPECT_TRUE(clocks.enabled());
  EXPECT_EQ(start(clocks, "a", now_), SteadyTime::min());
  EXPECT_EQ(start(clocks, "b", now_), SteadyTime::min());
  EXPECT_EQ(start(clocks, "a", now_), now_ + seconds(2));
  EXPECT_EQ(start(clocks, "a", now_ + milliseconds(1999)), now_ + seconds(2));
  EXPECT_EQ(start(clocks, "a", now_ + seconds(2)), SteadyTime::min());
  EXPECT_EQ(start(clocks, "a", now_ + seconds(2)), now_ + seconds(4));
}

TEST_F(GroupRateLimiterTest, ARequestStartsForBothOfItsGroupsOrForNone) {
  GroupRateLimiter domains(seconds(2));
  GroupRateLimiter addresses(seconds(5));
  const auto both = [&](std::string_view domain, std::string_view address, SteadyTime now) {
    return GroupRateLimiter::start(&domains, domains.id(domain), &addresses, addresses.id(address),
                                   now);
  };
  EXPECT_FALSE(both("a", "1", now_));
  auto refusal = both("b", "1", now_);
  ASSERT_TRUE(refusal);
  EXPECT_FALSE(refusal->by_domain);
  EXPECT_EQ(refusal->again, now_ + seconds(5));
  refusal = both("a", "2", now_);
  ASSERT_TRUE(refusal);
  EXPECT_TRUE(refusal->by_domain);
  EXPECT_EQ(refusal->again, now_ + seconds(2));
  EXPECT_FALSE(both("b", "2", now_)) << "neither of the refused was noted";
  EXPECT_FALSE(both("c", "", now_)) << "an address that is not known does not count";
  EXPECT_FALSE(both("d", "", now_));
}

TEST_F(GroupRateLimiterTest, P1_ALaterStartCountsInstead) {
  GroupRateLimiter clocks(seconds(2));
  const GroupId a = clocks.id("a");
  EXPECT_EQ(start(clocks, "a", now_), SteadyTime::min());
  clocks.note_start(a, now_ + seconds(1), now_);
  EXPECT_EQ(start(clocks, "a", now_ + seconds(2)), now_ + seconds(3));
  clocks.note_start(a, now_);
  EXPECT_EQ(start(clocks, "a", now_ + seconds(2)), now_ + seconds(3)) << "an earlier one does not";
}

TEST_F(GroupRateLimiterTest, AStartThatIsUndoneHoldsNobodyUp) {
  GroupRateLimiter clocks(seconds(2));
  const GroupId a = clocks.id("a");
  EXPECT_EQ(start(clocks, "a", now_), SteadyTime::min());
  const SteadyTime second = now_ + seconds(3);
  EXPECT_EQ(start(clocks, "a", second), SteadyTime::min());
  clocks.undo_start(a, now_);
  EXPECT_EQ(start(clocks, "a", second), second + seconds(2)) << "not the last one";
  clocks.note_start(a, second + seconds(1), second);
  clocks.undo_start(a, second + seconds(1));
  EXPECT_EQ(start(clocks, "a", second), SteadyTime::min());
  clocks.undo_start(clocks.id("never asked"), second);
  clocks.undo_start(0, second);
}

TEST_F(GroupRateLimiterTest, P1_StartsAtOneTimeAreUndoneOneByOne) {
  GroupRateLimiter clocks(seconds(2));
  const GroupId a = clocks.id("a");
  EXPECT_EQ(start(clocks, "a", now_), SteadyTime::min());
  clocks.note_start(a, now_);
  clocks.note_start(a, now_ - seconds(1));
  clocks.undo_start(a, now_);
  EXPECT_EQ(clocks.next_start(a), now_ + seconds(2));
  clocks.undo_start(a, now_);
  EXPECT_EQ(clocks.next_start(a), now_ + seconds(1));
}

TEST_F(GroupRateLimiterTest, P1_AfterARestartEveryGroupWaitsItsDelay) {
  GroupRateLimiter clocks(seconds(2));
  clocks.restarted(now_);
  EXPECT_EQ(start(clocks, "a", now_ + milliseconds(1999)), now_ + seconds(2));
  EXPECT_EQ(start(clocks, "a", now_ + seconds(2)), SteadyTime::min());
}

TEST_F(GroupRateLimiterTest, M1_GroupsWhoseDelayHasPassedAreForgotten) {
  GroupRateLimiter clocks(seconds(2));
  SteadyTime now = now_;
  for (int n = 0; n < 10'000; ++n) {
    EXPECT_EQ(start(clocks, std::to_string(n), now), SteadyTime::min());
    if (n % 7 == 0) clocks.undo_start(clocks.id(std::to_string(n)), now);
    now += milliseconds(100);
    ASSERT_LE(clocks.groups(), 21u);
  }
  EXPECT_LT(clocks.bytes(), 20'000u);
}

TEST_F(GroupRateLimiterTest, P1_OfManyThreadsOneMayStart) {
  GroupRateLimiter domains(seconds(1));
  GroupRateLimiter addresses(seconds(1));
  for (int round = 0; round < 200; ++round) {
    const SteadyTime now = now_ + seconds(round);
    std::atomic<int> started{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        if (!GroupRateLimiter::start(&domains, 1, &addresses, 2, now)) ++started;
      });
    }
    for (auto& thread : threads)
      thread.join();
    ASSERT_EQ(started, 1);
  }
}

}  // namespace
}  // namespace trawl
