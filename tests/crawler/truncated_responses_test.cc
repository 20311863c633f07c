#include "crawler/run/truncated_responses.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using FetchTime = std::chrono::system_clock::time_point;

TruncatedResponses::Kept cut(std::size_t size, int minute = 0) {
  HttpResponse response;
  response.body.assign(size, 'x');
  return {std::move(response), FetchTime(std::chrono::minutes(minute))};
}

TEST(TruncatedResponses, TheLongestOfAUrlIsKeptAndOfEquallyLongOnesTheLast) {
  TruncatedResponses bodies(1u << 20);
  EXPECT_FALSE(bodies.take("a"));
  bodies.keep("a", cut(1000, 1));
  bodies.keep("a", cut(999, 2));
  bodies.keep("b", cut(10, 3));
  bodies.keep("b", cut(10, 4));
  auto a = bodies.take("a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->response.body.size(), 1000u);
  EXPECT_EQ(a->fetched_at, FetchTime(std::chrono::minutes(1)));
  EXPECT_FALSE(bodies.take("a"));
  EXPECT_EQ(bodies.take("b")->fetched_at, FetchTime(std::chrono::minutes(4)));
  EXPECT_EQ(bodies.memory(), 0u);
}

TEST(TruncatedResponses, TheOldestMakeRoom) {
  constexpr std::uint64_t kLimit = 100'000;
  TruncatedResponses bodies(kLimit);
  for (int i = 0; i < 1000; ++i) {
    bodies.keep(std::to_string(i), cut(i % 7 == 0 ? 40'000 : 100));
    ASSERT_LE(bodies.memory(), kLimit);
  }
  EXPECT_FALSE(bodies.take("0"));
  EXPECT_TRUE(bodies.take("999"));
  bodies.keep("999", cut(kLimit));
  EXPECT_FALSE(bodies.take("999")) << "more than there is room for in all";
  EXPECT_GT(bodies.memory(), 0u) << "for which nothing else made room";
  bodies.clear();
  EXPECT_EQ(bodies.memory(), 0u);
  EXPECT_FALSE(bodies.take("998"));
  bodies.keep("998", cut(10));
  EXPECT_TRUE(bodies.take("998"));
}

TEST(TruncatedResponses, GiveTheirShareOfTheBudgetBack) {
  const auto budget = std::make_shared<BodyMemoryBudget>(1000);
  TruncatedResponses bodies(1u << 20);
  auto kept = cut(500);
  kept.response.charge = BodyCharge(budget);
  ASSERT_TRUE(kept.response.charge.grow(500));
  bodies.keep("a", std::move(kept));
  EXPECT_EQ(budget->used(), 500u);
  bodies.clear();
  EXPECT_EQ(budget->used(), 0u);
}

}  // namespace
}  // namespace trawl
