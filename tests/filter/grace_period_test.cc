#include "filter/grace_period.h"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

void wait_for(const std::atomic<bool>& flag) {
  while (!flag.load(std::memory_order_relaxed))
    std::this_thread::yield();
}

TEST(GracePeriod, WhatAnOperationDidIsVisibleAfterAWaitThatItHeldUp) {
  GracePeriod grace;
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> inside{false};
    // Not atomic on purpose: the grace period alone must order them.
    int written = 0;
    std::thread operation([&] {
      const GracePeriod::Operation under_way(grace);
      inside.store(true, std::memory_order_relaxed);
      std::this_thread::yield();
      written = 1;
    });
    wait_for(inside);
    grace.wait();
    EXPECT_EQ(written, 1);
    operation.join();
  }
}

TEST(GracePeriod, ALongOperationHoldsUpWaitButNoOtherOperation) {
  GracePeriod grace;
  std::atomic<bool> called{false}, returned{false};
  auto long_one = std::make_unique<GracePeriod::Operation>(grace);
  std::thread waiter([&] {
    called.store(true, std::memory_order_relaxed);
    grace.wait();
    returned = true;
  });
  wait_for(called);
  for (int i = 0; i < 20'000; ++i) {
    const GracePeriod::Operation other(grace);
    if (i % 100 == 0) std::this_thread::yield();  // the waiter may try
  }
  EXPECT_FALSE(returned.load());
  long_one.reset();
  waiter.join();
  EXPECT_TRUE(returned.load());
}

TEST(GracePeriod, WaitEndsThoughThereIsNoMomentWithoutAnOperation) {
  GracePeriod grace;
  std::atomic<bool> stop{false};
  std::atomic<int> begun{0};
  constexpr int kThreads = 3;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      // Each enters the next operation before it leaves the last.
      std::unique_ptr<GracePeriod::Operation> operations[2];
      operations[0] = std::make_unique<GracePeriod::Operation>(grace);
      begun.fetch_add(1);
      for (unsigned i = 1; !stop.load(std::memory_order_relaxed); ++i) {
        operations[i % 2] = std::make_unique<GracePeriod::Operation>(grace);
        operations[(i + 1) % 2].reset();
      }
    });
  }
  while (begun.load() < kThreads)
    std::this_thread::yield();
  for (int i = 0; i < 50; ++i)
    grace.wait();
  stop = true;
  for (auto& thread : threads)
    thread.join();
}

// What the grace period is for: whoever follows a pointer inside an operation never finds what was
// freed, and what the owner wrote before it published is there.
TEST(GracePeriod, WhatWasUnpublishedBeforeAWaitIsNoLongerUsedAfterIt) {
  struct Pair {
    int first, second;
  };
  GracePeriod grace;
  std::atomic<Pair*> published{new Pair{0, 0}};
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0}, readers_begun{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      readers_begun.fetch_add(1);
      while (!stop.load(std::memory_order_relaxed)) {
        const GracePeriod::Operation under_way(grace);
        const Pair* pair = published.load(std::memory_order_acquire);
        if (pair->first != pair->second) torn.fetch_add(1);
      }
    });
  }
  while (readers_begun.load() < 3)
    std::this_thread::yield();
  for (int i = 1; i <= 2000; ++i) {
    std::unique_ptr<Pair> old(published.exchange(new Pair{i, i}, std::memory_order_acq_rel));
    grace.wait();
    old->first = -1;  // a reader that is still there races with this
  }
  stop = true;
  for (auto& reader : readers)
    reader.join();
  delete published.load();
  EXPECT_EQ(torn.load(), 0);
}

TEST(GracePeriod, ManyMayWaitWhileManyOperate) {
  GracePeriod grace;
  constexpr std::size_t kWaiters = 4;
  constexpr int kRounds = 100;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> entered{0}, left{0};
  std::vector<std::thread> operators, waiters;
  for (int t = 0; t < 2; ++t) {
    operators.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const GracePeriod::Operation under_way(grace);
        entered.fetch_add(1);
        left.fetch_add(1);  // before it leaves, so that a wait sees it
      }
    });
  }
  for (std::size_t w = 0; w < kWaiters; ++w) {
    waiters.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const std::uint64_t begun = entered.load();
        grace.wait();
        EXPECT_GE(left.load(), begun);
      }
    });
  }
  for (auto& waiter : waiters)
    waiter.join();
  stop = true;
  for (auto& thread : operators)
    thread.join();
}

}  // namespace
}  // namespace trawl
