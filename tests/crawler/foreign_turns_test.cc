#include "crawler/foreign_turns.h"

#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::chrono_literals;

TEST(ForeignTurns, RequestsToOneHostAreADelayApart) {
  ForeignTurns turns;
  const ForeignTurns::Time start{100s};
  EXPECT_FALSE(turns.take("a.test", start, 1s));
  EXPECT_EQ(turns.take("a.test", start + 10ms, 1s), start + 1s);
  EXPECT_EQ(turns.take("a.test", start + 999ms, 1s), start + 1s)
      << "who asks does not push it back";
  EXPECT_FALSE(turns.take("b.test", start, 1s)) << "another host";
  EXPECT_FALSE(turns.take("a.test", start + 1s, 1s));
  EXPECT_EQ(turns.take("a.test", start + 1s, 1s), start + 2s);
}

TEST(ForeignTurns, WithoutADelayThereIsNothingToWaitFor) {
  ForeignTurns turns;
  const ForeignTurns::Time start{100s};
  EXPECT_FALSE(turns.take("a.test", start, 0s));
  EXPECT_FALSE(turns.take("a.test", start, 0s));
}

TEST(ForeignTurns, OldTurnsAreForgottenAndNewOnesKept) {
  ForeignTurns turns;
  const ForeignTurns::Time start{100s};
  for (int i = 0; i < 20'000; ++i)
    EXPECT_FALSE(turns.take("host" + std::to_string(i), start, i % 2 == 0 ? 1s : 9s));
  EXPECT_FALSE(turns.take("another", start + 5s, 1s));
  EXPECT_EQ(turns.take("host19999", start + 5s, 9s), start + 9s);
}

}  // namespace
}  // namespace trawl
