#include "crawler/http/body_memory_budget.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using State = BodyWaiter::State;

void count(void* context) {
  static_cast<std::atomic<int>*>(context)->fetch_add(1);
}

// A transfer as far as the budget sees it. Those made later are younger.
struct Body {
  explicit Body(std::shared_ptr<BodyMemoryBudget> budget) : charge(std::move(budget)) {
    static std::atomic<int> made{0};
    waiter.charge = &charge;
    waiter.since =
        std::chrono::steady_clock::time_point() + std::chrono::seconds(made.fetch_add(1));
    waiter.wake = &count;
    waiter.context = &wakes;
  }
  void wait(BodyMemoryBudget& budget, std::uint64_t wanted) {
    waiter.wanted = wanted;
    budget.wait(waiter);
  }
  BodyCharge charge;
  BodyWaiter waiter;
  std::atomic<int> wakes{0};
};

TEST(BodyMemoryBudget, GrantsUpToItsLimitAndTakesBack) {
  const auto budget = std::make_shared<BodyMemoryBudget>(100);
  BodyCharge one(budget);
  BodyCharge other(budget);
  EXPECT_TRUE(one.grow(60));
  EXPECT_FALSE(other.grow(41));
  EXPECT_EQ(other.bytes(), 0u);
  EXPECT_TRUE(other.grow(40));
  EXPECT_EQ(budget->used(), 100u);
  one.shrink_to(10);
  EXPECT_EQ(budget->used(), 50u);
  one.shrink_to(20);
  EXPECT_EQ(one.bytes(), 10u) << "nothing was granted";
  BodyCharge moved = std::move(one);
  EXPECT_EQ(moved.bytes(), 10u);
  EXPECT_EQ(budget->used(), 50u);
  moved = std::move(other);
  EXPECT_EQ(budget->used(), 40u) << "what it held before is given back";
  moved.release();
  EXPECT_EQ(budget->used(), 0u);
  EXPECT_FALSE(moved.grow(101));
  EXPECT_FALSE(moved.grow(UINT64_MAX));
}

TEST(BodyMemoryBudget, WithoutABudgetEverythingIsGranted) {
  BodyCharge charge;
  EXPECT_TRUE(charge.grow(1ull << 60));
  EXPECT_EQ(charge.bytes(), 1ull << 60);
}

TEST(BodyMemoryBudget, WaitersGetRoomWhenThereIsSomeTheOldestFirst) {
  const auto budget = std::make_shared<BodyMemoryBudget>(100);
  std::optional<BodyCharge> written(budget);
  ASSERT_TRUE(written->grow(80));
  Body old(budget);
  Body young(budget);
  ASSERT_TRUE(old.charge.grow(10));
  ASSERT_TRUE(young.charge.grow(10));
  young.wait(*budget, 50);
  old.wait(*budget, 50);
  EXPECT_TRUE(budget->crowded());
  EXPECT_EQ(budget->state(old.waiter), State::kWaiting);
  EXPECT_EQ(budget->state(young.waiter), State::kWaiting);
  EXPECT_EQ(old.wakes + young.wakes, 0);

  written.reset();
  EXPECT_EQ(budget->state(old.waiter), State::kGranted);
  EXPECT_EQ(old.charge.bytes(), 60u);
  EXPECT_EQ(old.wakes, 1);
  EXPECT_EQ(budget->state(young.waiter), State::kWaiting);

  old.charge.release();
  EXPECT_EQ(budget->state(young.waiter), State::kGranted);
  EXPECT_EQ(young.charge.bytes(), 60u);
  EXPECT_FALSE(budget->crowded());
  EXPECT_EQ(budget->used(), 60u);
}

TEST(BodyMemoryBudget, IfOnlyWaitersHoldMemoryTheYoungestGoes) {
  const auto budget = std::make_shared<BodyMemoryBudget>(100);
  std::vector<std::unique_ptr<Body>> bodies;
  for (int i = 0; i < 5; ++i) {
    bodies.push_back(std::make_unique<Body>(budget));
    ASSERT_TRUE(bodies.back()->charge.grow(20));
  }
  for (int i : {2, 4, 0, 3})
    bodies[i]->wait(*budget, 30);
  for (const auto& body : bodies)
    EXPECT_EQ(body->wakes, 0) << "a body may still end";
  bodies[1]->wait(*budget, 30);
  EXPECT_EQ(budget->state(bodies[4]->waiter), State::kEvicted);
  EXPECT_EQ(bodies[4]->wakes, 1);
  EXPECT_EQ(budget->state(bodies[3]->waiter), State::kWaiting) << "one at a time";
  // 20 bytes do not suffice for any: the next goes as well, and then the oldest continues.
  bodies[4]->charge.release();
  EXPECT_EQ(budget->state(bodies[3]->waiter), State::kEvicted);
  bodies[3]->charge.release();
  EXPECT_EQ(budget->state(bodies[0]->waiter), State::kGranted);
  EXPECT_EQ(budget->state(bodies[1]->waiter), State::kWaiting);
}

TEST(BodyMemoryBudget, OneThatCanNeverBeServedIsEvictedAtOnce) {
  const auto budget = std::make_shared<BodyMemoryBudget>(100);
  Body body(budget);
  ASSERT_TRUE(body.charge.grow(60));
  body.wait(*budget, 50);
  EXPECT_EQ(budget->state(body.waiter), State::kEvicted);
}

TEST(BodyMemoryBudget, WhatTablesTakeIsNotThereForBodies) {
  const auto budget = std::make_shared<BodyMemoryBudget>(100, 30);
  TableCharge table(budget);
  table.take(40);
  EXPECT_EQ(budget->held(), 40u);
  BodyCharge charge(budget);
  EXPECT_FALSE(charge.grow(61));
  EXPECT_TRUE(charge.grow(60));
  table.give_back(40);
  EXPECT_TRUE(charge.grow(40));
  charge.release();
  table.take(1000);
  EXPECT_FALSE(charge.grow(31));
  EXPECT_TRUE(charge.grow(30)) << "bodies keep some, whatever tables take";
}

TEST(BodyMemoryBudget, ATableThatGoesMakesRoomForWaiters) {
  const auto budget = std::make_shared<BodyMemoryBudget>(100);
  Body body(budget);
  BodyCharge other(budget);
  ASSERT_TRUE(other.grow(10));
  {
    TableCharge table(budget);
    table.take(60);
    body.wait(*budget, 50);
    EXPECT_EQ(budget->state(body.waiter), State::kWaiting);
  }
  EXPECT_EQ(budget->state(body.waiter), State::kGranted);
  EXPECT_EQ(body.charge.bytes(), 50u);
  EXPECT_EQ(budget->held(), 0u);
}

TEST(BodyMemoryBudget, OneThatHoldsNothingIsNotEvictedForOthers) {
  const auto budget = std::make_shared<BodyMemoryBudget>(100);
  Body old(budget);
  Body young(budget);
  Body empty(budget);
  ASSERT_TRUE(old.charge.grow(50));
  ASSERT_TRUE(young.charge.grow(50));
  empty.wait(*budget, 10);
  old.wait(*budget, 20);
  young.wait(*budget, 20);
  EXPECT_EQ(budget->state(young.waiter), State::kEvicted);
  EXPECT_EQ(budget->state(empty.waiter), State::kWaiting);
  young.charge.release();
  EXPECT_EQ(budget->state(old.waiter), State::kGranted);
  EXPECT_EQ(budget->state(empty.waiter), State::kGranted);
}

TEST(BodyMemoryBudget, WhoIsCancelledIsForgotten) {
  const auto budget = std::make_shared<BodyMemoryBudget>(100);
  BodyCharge written(budget);
  ASSERT_TRUE(written.grow(50));
  Body gone(budget);
  Body stays(budget);
  ASSERT_TRUE(gone.charge.grow(30));
  ASSERT_TRUE(stays.charge.grow(20));
  gone.wait(*budget, 10);
  stays.wait(*budget, 10);
  budget->cancel(gone.waiter);
  EXPECT_EQ(budget->state(gone.waiter), State::kIdle);
  gone.charge.release();
  EXPECT_EQ(gone.wakes, 0);
  EXPECT_EQ(budget->state(stays.waiter), State::kGranted);
}

// Threads whose bodies are together far too large all come to an end, and the budget is kept.
TEST(BodyMemoryBudget, NeverDeadlocksAndNeverExceedsItsLimit) {
  constexpr std::uint64_t kLimit = 700;
  constexpr int kThreads = 4;
  constexpr int kBodies = 1000;
  const auto budget = std::make_shared<BodyMemoryBudget>(kLimit);
  std::atomic<int> whole{0};
  std::atomic<int> evicted{0};
  std::atomic<std::uint64_t> most{0};
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::latch begin(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      begin.arrive_and_wait();
      std::mt19937 random(seed + static_cast<unsigned>(t));
      for (int i = 0; i < kBodies; ++i) {
        Body body(budget);
        bool ended = false;
        for (int step = 0; step < 10 && !ended; ++step) {
          const std::uint64_t wanted = random() % 70 + 1;
          if (!body.charge.grow(wanted)) {
            body.wait(*budget, wanted);
            while (body.wakes.exchange(0) == 0)
              std::this_thread::yield();
            ended = budget->state(body.waiter) == State::kEvicted;
          }
          std::uint64_t seen = most.load();
          const std::uint64_t used = budget->used();
          std::this_thread::yield();  // so that the bodies overlap
          while (used > seen && !most.compare_exchange_weak(seen, used)) {
          }
        }
        (ended ? evicted : whole).fetch_add(1);
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(whole + evicted, kThreads * kBodies);
  EXPECT_GT(whole, 0);
  EXPECT_LE(most, kLimit);
  EXPECT_EQ(budget->used(), 0u);
  EXPECT_FALSE(budget->crowded());
}

}  // namespace
}  // namespace trawl
