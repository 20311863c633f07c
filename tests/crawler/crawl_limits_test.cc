#include "crawler/decide/crawl_limits.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using std::chrono::milliseconds;

const CrawlLimits::Clock::time_point kStart{std::chrono::hours(5)};

TEST(CrawlLimits, WithoutAnyTheCrawlGoesOn) {
  CrawlLimits limits({}, {}, kStart);
  EXPECT_FALSE(limits.add_bytes(1ull << 62));
  EXPECT_EQ(limits.reached(kStart + std::chrono::hours(100'000)), std::nullopt);
  EXPECT_FALSE(limits.end());
}

TEST(CrawlLimits, BytesAddUpToTheLimit) {
  CrawlLimits limits(100, {}, kStart);
  EXPECT_FALSE(limits.add_bytes(99));
  EXPECT_EQ(limits.reached(kStart), std::nullopt);
  EXPECT_TRUE(limits.add_bytes(1));
  EXPECT_EQ(limits.reached(kStart), CrawlLimit::kBytes);
  EXPECT_FALSE(limits.add_bytes(1000)) << "it was reached before";
  EXPECT_EQ(limits.bytes(), 1100u);
}

TEST(CrawlLimits, TellTheirBytesOfNow) {
  CrawlLimits limits(100, {}, kStart);
  EXPECT_EQ(limits.max_bytes(), 100u);
  limits.set(std::nullopt, {});
  EXPECT_EQ(limits.max_bytes(), std::nullopt);
}

TEST(CrawlLimits, BytesOfEarlierRunsCount) {
  CrawlLimits limits(100, {}, kStart, 100);
  EXPECT_EQ(limits.reached(kStart), CrawlLimit::kBytes);
  EXPECT_FALSE(limits.add_bytes(1));
}

TEST(CrawlLimits, TheTimeEndsWithItsLastInstant) {
  CrawlLimits limits({}, milliseconds(1000), kStart);
  EXPECT_EQ(limits.end(), kStart + milliseconds(1000));
  EXPECT_EQ(limits.reached(kStart + milliseconds(999)), std::nullopt);
  EXPECT_EQ(limits.reached(kStart + milliseconds(1000)), CrawlLimit::kTime);
}

TEST(CrawlLimits, ATimeBeyondTheClockIsNone) {
  CrawlLimits limits({}, milliseconds::max(), kStart);
  EXPECT_FALSE(limits.end());
  EXPECT_EQ(limits.reached(kStart + std::chrono::hours(24)), std::nullopt);
}

TEST(CrawlLimits, OneThreadOfManyReachesTheLimit) {
  CrawlLimits limits(400'000, {}, kStart);
  std::atomic<int> reached{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100'000; ++i)
        reached += limits.add_bytes(3) ? 1 : 0;
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(limits.bytes(), 1'200'000u);
}

TEST(CrawlLimits, EachHasTheNameOfItsKey) {
  EXPECT_EQ(key_of(CrawlLimit::kPages), "scope.max_pages");
  EXPECT_EQ(key_of(CrawlLimit::kBytes), "scope.max_bytes");
  EXPECT_EQ(key_of(CrawlLimit::kTime), "scope.max_time");
}

}  // namespace
}  // namespace trawl
