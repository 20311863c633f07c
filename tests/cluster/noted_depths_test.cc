#include "frontier/shared/noted_depths.h"

#include <gtest/gtest.h>

namespace trawl {
namespace {

Fingerprint key(std::uint64_t n) {
  return {.high = n % 7, .low = n};
}

TEST(NotedDepthsTest, TheSmallestDepthStaysUntilItIsForgotten) {
  NotedDepths depths;
  EXPECT_TRUE(depths.lower(key(1), 5));
  EXPECT_FALSE(depths.lower(key(1), 5));
  EXPECT_FALSE(depths.lower(key(1), 6));
  EXPECT_TRUE(depths.lower(key(1), 0));
  EXPECT_EQ(depths.find(key(1)), 0u);
  EXPECT_EQ(depths.next(std::nullopt), std::pair(key(1), 0u));
  EXPECT_FALSE(depths.next(key(1)));
  EXPECT_TRUE(depths.forget(key(1)));
  EXPECT_FALSE(depths.forget(key(1)));
  EXPECT_FALSE(depths.find(key(1)));
}

TEST(NotedDepthsTest, M1_TheirNumberIsBounded) {
  NotedDepths depths;
  for (std::uint64_t n = 0; n < NotedDepths::kMost; ++n)
    ASSERT_TRUE(depths.lower(key(n), 5));
  EXPECT_FALSE(depths.lower(key(NotedDepths::kMost), 5));
  EXPECT_TRUE(depths.lower(key(0), 4)) << "one that is there";
  EXPECT_TRUE(depths.forget(key(1)));
  EXPECT_TRUE(depths.lower(key(NotedDepths::kMost), 5));
  EXPECT_LT(depths.memory(), 10u << 20);
}

}  // namespace
}  // namespace trawl
