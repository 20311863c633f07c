#include "base/rate_limiter.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::chrono_literals;

TEST(RateLimiter, PlacesAreApart) {
  RateLimiter rate(10);
  const SteadyTime now{1h};
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(rate.take(1, now), now + i * 100ms);
  EXPECT_EQ(rate.free_at(), now + 500ms);
  EXPECT_EQ(rate.take(1, now + 10s), now + 10s) << "what was not used is not saved up";
  EXPECT_EQ(rate.take(1, now + 10s), now + 10s + 100ms);
}

TEST(RateLimiter, WithoutARateNothingWaits) {
  RateLimiter rate;
  const SteadyTime now{1h};
  EXPECT_FALSE(rate.limited());
  EXPECT_EQ(rate.take(1e9, now), now);
  EXPECT_EQ(rate.take(1, now), now);
  EXPECT_LT(rate.free_at(), now);
}

TEST(RateLimiter, RoomIsWhatBeginsWithinTheTime) {
  RateLimiter rate(10);
  const SteadyTime now{1h};
  EXPECT_EQ(rate.room(1s, now), 10u);
  rate.take(4, now);
  EXPECT_EQ(rate.room(1s, now), 6u);
  rate.take(6, now);
  EXPECT_EQ(rate.room(1s, now), 0u);
  RateLimiter slow(0.1);
  EXPECT_EQ(slow.room(1s, now), 1u);
  slow.take(1, now);
  EXPECT_EQ(slow.room(1s, now + 9s), 0u);
  EXPECT_EQ(slow.room(1s, now + 10s), 1u);
}

TEST(RateLimiter, ANewRateHoldsImmediately) {
  RateLimiter rate(0.001);
  const SteadyTime now{1h};
  rate.take(1, now);
  rate.set(10);
  EXPECT_EQ(rate.take(1, now), now);
  EXPECT_EQ(rate.take(1, now), now + 100ms);
  rate.set(0);
  EXPECT_FALSE(rate.limited());
}

TEST(RateLimiter, ThreadsGetDifferentPlaces) {
  RateLimiter rate(1000);
  const SteadyTime now{1h};
  constexpr int kEach = 1000;
  std::vector<std::vector<SteadyTime>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i)
        mine.push_back(rate.take(1, now));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  std::vector<SteadyTime> all;
  for (const auto& mine : taken)
    all.insert(all.end(), mine.begin(), mine.end());
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i)
    ASSERT_EQ(all[i], now + i * 1ms);
}

}  // namespace
}  // namespace trawl
