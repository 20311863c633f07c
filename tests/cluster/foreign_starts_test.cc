#include "frontier/foreign_starts.h"

#include <algorithm>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::chrono_literals;

class ForeignStartsTest : public ::testing::Test {
 protected:
  using When = StartTurn::When;
  static constexpr SteadyTime kNow{std::chrono::hours(1)};
  static constexpr BucketId kBucket = 3;

  ForeignStartsTest() { starts_.set_delays(1s, 0s); }
  StartTurn start(std::string_view host, SteadyTime now) {
    return starts_.start(kBucket, host, now);
  }
  void send(std::string_view host, SteadyTime now) {
    const StartTurn turn = start(host, now);
    EXPECT_EQ(turn.when, When::kNow);
    EXPECT_EQ(turn.host, 0u);
    starts_.sent(turn, now);
  }

  ForeignStarts starts_{8};
};

TEST_F(ForeignStartsTest, P1_RequestsToAHostAreTheDelayApart) {
  send("a.test", kNow);
  send("b.a.test", kNow);
  for (int others = 1; others <= 3; ++others) {
    const StartTurn turn = start("a.test", kNow + 10ms);
    EXPECT_EQ(turn.when, When::kLater);
    EXPECT_EQ(turn.at, kNow + others * 1s);
  }
  EXPECT_EQ(start("a.test", kNow + 999ms).when, When::kLater);
  for (int others = 1; others <= 3; ++others)
    send("a.test", kNow + others * 1s);
}

TEST_F(ForeignStartsTest, P1_TheDelayCountsFromWhenTheRequestWasSent) {
  const StartTurn slow = start("a.test", kNow);
  EXPECT_EQ(slow.when, When::kNow);
  EXPECT_EQ(start("a.test", kNow + 500ms).at, kNow + 1s);
  const StartTurn early = start("a.test", kNow + 1s);
  EXPECT_EQ(early.when, When::kSoon) << "that of the other one is not sent yet";
  EXPECT_GT(early.at, kNow + 1s);
  starts_.sent(slow, kNow + 1100ms);
  const StartTurn told = start("a.test", kNow + 1200ms);
  EXPECT_EQ(told.when, When::kLater);
  EXPECT_EQ(told.at, kNow + 2100ms);
  send("a.test", kNow + 2100ms);
}

TEST_F(ForeignStartsTest, P1_OneThatIsNeverReportedIsWaitedForASecondLonger) {
  EXPECT_EQ(start("a.test", kNow).when, When::kNow);
  EXPECT_EQ(start("a.test", kNow + 2s - 1ms).at, kNow + 2s);
  const StartTurn next = start("a.test", kNow + 2s);
  EXPECT_EQ(next.when, When::kNow);
  starts_.sent(next, std::nullopt);
  EXPECT_EQ(start("a.test", kNow + 3s - 1ms).when, When::kLater) << "it counts as begun";
  EXPECT_EQ(start("a.test", kNow + 3s).when, When::kNow);
}

TEST_F(ForeignStartsTest, ATurnThatIsUndoneDelaysNobody) {
  send("a.test", kNow);
  const StartTurn turn = start("a.test", kNow + 1s);
  ASSERT_EQ(turn.when, When::kNow);
  starts_.undo(turn);
  EXPECT_EQ(start("a.test", kNow + 1001ms).when, When::kNow);
}

TEST_F(ForeignStartsTest, P1_HostsOfADomainShareItsDelay) {
  starts_.set_delays(1s, 3s);
  send("a.example.org", kNow);
  EXPECT_EQ(start("b.example.org:8080", kNow).at, kNow + 3s);
  send("a.example.com", kNow);
}

TEST_F(ForeignStartsTest, P1_HostsOfABucketThatThisCrawlerHadWaitTheirDelay) {
  starts_.note_left(kBucket, kNow - 400ms);
  const StartTurn turn = start("a.test", kNow);
  EXPECT_EQ(turn.when, When::kLater);
  EXPECT_EQ(turn.at, kNow + 600ms);
  EXPECT_EQ(starts_.start(kBucket + 1, "b.test", kNow).when, When::kNow);
  send("a.test", kNow + 600ms);
}

TEST_F(ForeignStartsTest, P1_ABucketThatComesRestsIfItsHostsWereAskedBefore) {
  EXPECT_FALSE(starts_.asked_lately(kBucket, kNow));
  const StartTurn turn = start("a.test", kNow);
  EXPECT_TRUE(starts_.asked_lately(kBucket, kNow + 999ms));
  EXPECT_FALSE(starts_.asked_lately(kBucket + 1, kNow + 999ms));
  starts_.sent(turn, kNow + 500ms);
  EXPECT_TRUE(starts_.asked_lately(kBucket, kNow + 1499ms));
  EXPECT_FALSE(starts_.asked_lately(kBucket, kNow + 1500ms));
}

TEST_F(ForeignStartsTest, M1_HostsAreForgottenWhenTheirTimesHavePassedAndNotBefore) {
  std::size_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string host = "h" + std::to_string(i) + ".test";
    const SteadyTime at = kNow + i * 1ms;
    send(host, at);
    ASSERT_EQ(start(host, at).when, When::kLater);
    most = std::max(most, starts_.size());
    if (i < 500) continue;
    const std::string before = "h" + std::to_string(i - 500) + ".test";
    ASSERT_EQ(start(before, at).when, When::kLater);
  }
  // 2000 have times that have not passed.
  EXPECT_LT(most, 8000u);
}

TEST_F(ForeignStartsTest, WithoutADelayNobodyWaits) {
  starts_.set_delays(0s, 0s);
  send("a.test", kNow);
  send("a.test", kNow);
  EXPECT_EQ(starts_.size(), 0u);
}

}  // namespace
}  // namespace trawl
