#include "crawler/decide/page_quota.h"

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(PageQuota, GivesNoMoreThanIsLeft) {
  PageQuota budget(10, 0);
  EXPECT_EQ(budget.take(4), 4u);
  EXPECT_EQ(budget.take(0), 0u);
  EXPECT_FALSE(budget.all_taken());
  EXPECT_EQ(budget.take(100), 6u);
  EXPECT_TRUE(budget.all_taken());
  EXPECT_EQ(budget.take(1), 0u);
}

TEST(PageQuota, WhatIsGivenBackCanBeTakenAgain) {
  PageQuota budget(3, 0);
  EXPECT_EQ(budget.take(3), 3u);
  budget.give_back(2);
  EXPECT_FALSE(budget.all_taken());
  EXPECT_EQ(budget.take(3), 2u);
  EXPECT_TRUE(budget.all_taken());
}

TEST(PageQuota, IsUsedUpWhenThePagesAreFinishedNotWhenTheyAreTaken) {
  PageQuota budget(2, 0);
  EXPECT_EQ(budget.take(2), 2u);
  EXPECT_FALSE(budget.used_up());
  budget.finish_one();
  EXPECT_FALSE(budget.used_up());
  budget.finish_one();
  EXPECT_TRUE(budget.used_up());
}

TEST(PageQuota, CountsWhatWasFetchedBefore) {
  PageQuota some(10, 7);
  EXPECT_EQ(some.take(100), 3u);
  EXPECT_FALSE(some.used_up());
  for (int i = 0; i < 3; ++i)
    some.finish_one();
  EXPECT_TRUE(some.used_up());

  for (const std::uint64_t before : {std::uint64_t{10}, std::uint64_t{11}, UINT64_MAX}) {
    PageQuota all(10, before);
    EXPECT_EQ(all.take(1), 0u) << before;
    EXPECT_TRUE(all.all_taken()) << before;
    EXPECT_TRUE(all.used_up()) << before;
  }
}

TEST(PageQuota, TellsItsLimitOfNow) {
  PageQuota quota(7, 3);
  EXPECT_EQ(quota.limit(), 7u);
  quota.set_limit(std::nullopt);
  EXPECT_EQ(quota.limit(), std::nullopt);
  quota.set_limit(5);
  EXPECT_EQ(quota.limit(), 5u);
}

TEST(PageQuota, WithoutALimitNeverEnds) {
  PageQuota budget(std::nullopt, 1'000'000'000);
  EXPECT_EQ(budget.take(1'000'000), 1'000'000u);
  budget.give_back(1'000'000);
  budget.finish_one();
  EXPECT_FALSE(budget.all_taken());
  EXPECT_FALSE(budget.used_up());
}

// Threads take, give back and finish as fetchers do. Together they finish exactly the limit.
TEST(PageQuota, ThreadsTogetherNeverExceedTheLimit) {
  constexpr std::uint64_t kLimit = 20'000;
  for (const unsigned seed : {1u, 2u, 3u}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PageQuota budget(kLimit, 0);
    std::atomic<std::uint64_t> held{0};
    std::atomic<std::uint64_t> most_held{0};
    std::atomic<std::uint64_t> finished{0};
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < 4; ++id) {
      threads.emplace_back([&, id] {
        std::mt19937 random(seed * 100 + id);
        while (!budget.used_up()) {
          const std::uint64_t taken = budget.take(random() % 50);
          const std::uint64_t now = held.fetch_add(taken) + taken;
          std::uint64_t most = most_held.load();
          while (most < now && !most_held.compare_exchange_weak(most, now)) {
          }
          const std::uint64_t unused = taken == 0 ? 0 : random() % (taken + 1);
          for (std::uint64_t i = unused; i < taken; ++i) {
            finished.fetch_add(1);
            budget.finish_one();
          }
          held.fetch_sub(unused);
          budget.give_back(unused);
        }
      });
    }
    for (auto& thread : threads)
      thread.join();
    EXPECT_EQ(finished.load(), kLimit);
    EXPECT_LE(most_held.load(), kLimit) << "finished and taken together";
    EXPECT_TRUE(budget.all_taken());
  }
}

}  // namespace
}  // namespace trawl
