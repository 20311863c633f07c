#include "frontier/shared/foreign_starts.h"

#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime kNow{1h};

TEST(ForeignStartsTest, P1_RequestsToAHostAreTheDelayApart) {
  ForeignStarts starts;
  starts.set_delays(1s, 0s);
  EXPECT_EQ(starts.start("a.test", kNow).when, StartTurn::When::kNow);
  EXPECT_EQ(starts.start("b.a.test", kNow).when, StartTurn::When::kNow);
  for (int others = 1; others <= 3; ++others) {
    const StartTurn turn = starts.start("a.test", kNow + 10ms);
    EXPECT_EQ(turn.when, StartTurn::When::kLater);
    EXPECT_EQ(turn.at, kNow + others * 1s);
  }
  EXPECT_EQ(starts.start("a.test", kNow + 999ms).when, StartTurn::When::kLater);
  for (int others = 1; others <= 3; ++others)
    EXPECT_EQ(starts.start("a.test", kNow + others * 1s).when, StartTurn::When::kNow);
}

TEST(ForeignStartsTest, P1_HostsOfADomainShareItsDelay) {
  ForeignStarts starts;
  starts.set_delays(1s, 3s);
  EXPECT_EQ(starts.start("a.example.org", kNow).when, StartTurn::When::kNow);
  EXPECT_EQ(starts.start("b.example.org:8080", kNow).at, kNow + 3s);
  EXPECT_EQ(starts.start("a.example.com", kNow).when, StartTurn::When::kNow);
}

TEST(ForeignStartsTest, P1_ManyHostsAreForgottenWhenTheirTimesHavePassed) {
  ForeignStarts starts;
  starts.set_delays(1s, 0s);
  for (int i = 0; i < 10'000; ++i) {
    const std::string host = "h" + std::to_string(i) + ".test";
    const SteadyTime at = kNow + i * 1ms;
    ASSERT_EQ(starts.start(host, at).when, StartTurn::When::kNow);
    ASSERT_EQ(starts.start(host, at).when, StartTurn::When::kLater);
    if (i < 500) continue;
    const std::string before = "h" + std::to_string(i - 500) + ".test";
    ASSERT_EQ(starts.start(before, at).when, StartTurn::When::kLater);
  }
}

}  // namespace
}  // namespace trawl
