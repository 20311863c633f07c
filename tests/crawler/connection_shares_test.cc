// How threads divide connections: all of them are used, none twice, and each thread gets its share
// when it wants it.
#include "crawler/run/connection_shares.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <semaphore>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(ConnectionShares, AThreadAloneHasAll) {
  ConnectionShares shares(8, 2, [](std::size_t) {});
  EXPECT_EQ(shares.take(0, 0), 8u);
  EXPECT_EQ(shares.take(0, 8), 0u);
  EXPECT_EQ(shares.take(1, 0), 0u);
}

TEST(ConnectionShares, WhoWantsItsShareIsWokenAndComesFirst) {
  std::vector<std::size_t> woken;
  ConnectionShares shares(8, 2, [&](std::size_t thread) { woken.push_back(thread); });
  ASSERT_EQ(shares.take(0, 0), 8u);
  ASSERT_EQ(shares.take(1, 0), 0u);
  shares.give_back(0, 1);
  EXPECT_EQ(woken, std::vector<std::size_t>{1});
  EXPECT_EQ(shares.take(0, 7), 0u) << "what is free is for the other thread";
  EXPECT_EQ(shares.take(1, 0), 1u);
}

TEST(ConnectionShares, WhoHasEnoughDoesNotKeepOthersFromMore) {
  std::vector<std::size_t> woken;
  ConnectionShares shares(8, 2, [&](std::size_t thread) { woken.push_back(thread); });
  const std::size_t taken = shares.take(1, 0);
  shares.give_back_unused(1, taken);  // there was nothing to do
  EXPECT_EQ(shares.take(0, 0), 8u);
  shares.give_back(0, 1);
  EXPECT_TRUE(woken.empty());
}

TEST(ConnectionShares, AnOddNumberIsDividedToo) {
  ConnectionShares shares(3, 2, [](std::size_t) {});
  EXPECT_EQ(shares.take(0, 0), 3u);
  EXPECT_EQ(shares.take(1, 0), 0u);
  shares.give_back(0, 3);
  EXPECT_EQ(shares.take(0, 0), 2u) << "the other thread wants its one";
  EXPECT_EQ(shares.take(1, 0), 1u);
}

// Threads take, hold and give back at random; a thread that gets nothing sleeps until it is woken.
TEST(ConnectionShares, NoneIsUsedTwiceAndNobodySleepsForEver) {
  constexpr std::size_t kThreads = 3;
  constexpr std::size_t kConnections = 7;
  constexpr int kRounds = 20'000;
  std::array<std::counting_semaphore<>, kThreads> wakes = {
      std::counting_semaphore<>(0), std::counting_semaphore<>(0), std::counting_semaphore<>(0)};
  ConnectionShares shares(kConnections, kThreads, [&](std::size_t i) { wakes[i].release(); });
  std::atomic<std::size_t> used{0};
  std::atomic<bool> too_many{false};
  std::atomic<int> starved{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(i);
      std::size_t held = 0;
      for (int round = 0; round < kRounds; ++round) {
        const std::size_t taken = shares.take(i, held);
        if (used.fetch_add(taken) + taken > kConnections) too_many = true;
        held += taken;
        if (held == 0) {
          if (!wakes[i].try_acquire_for(std::chrono::seconds(20))) ++starved;
          continue;
        }
        const std::size_t ended = 1 + random() % held;
        used.fetch_sub(ended);
        held -= ended;
        shares.give_back(i, ended);
      }
      used.fetch_sub(held);
      shares.give_back_unused(i, held);
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_FALSE(too_many);
  EXPECT_EQ(starved, 0);
}

}  // namespace
}  // namespace trawl
