#include "base/operation_gate.h"

#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(OperationGate, NoOperationIsUnderWayAtQuiescence) {
  OperationGate gate;
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  std::atomic<bool> stop{false};
  // Not atomic on purpose: the gate alone must order the operations and the quiescent function.
  std::vector<int> halves(kThreads * 16, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      while (!stop.load(std::memory_order_relaxed)) {
        const OperationGate::Pass pass(gate);
        ++halves[static_cast<std::size_t>(t) * 16];
        ++halves[static_cast<std::size_t>(t) * 16 + 1];
      }
    });
  }
  const auto all_have_begun = [&] {
    bool begun = true;
    gate.at_quiescence([&] {
      for (std::size_t t = 0; t < kThreads; ++t)
        begun &= halves[t * 16] > 0;
    });
    return begun;
  };
  while (!all_have_begun())
    std::this_thread::yield();
  for (int round = 0; round < kRounds; ++round) {
    gate.at_quiescence([&] {
      for (std::size_t t = 0; t < kThreads; ++t)
        EXPECT_EQ(halves[t * 16], halves[t * 16 + 1]);
    });
  }
  stop = true;
  for (auto& thread : threads)
    thread.join();
  for (std::size_t t = 0; t < kThreads; ++t)
    EXPECT_GT(halves[t * 16], 0) << "thread " << t;
}

TEST(OperationGate, WhatRunsAtQuiescenceNeverOverlaps) {
  OperationGate gate;
  int counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        gate.at_quiescence([&] { ++counter; });
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(counter, 2000);
}

TEST(OperationGate, AFunctionThatThrowsLeavesTheGateOpen) {
  OperationGate gate;
  EXPECT_THROW(gate.at_quiescence([] { throw std::bad_alloc(); }), std::bad_alloc);
  const OperationGate::Pass pass(gate);  // would wait forever
  SUCCEED();
}

}  // namespace
}  // namespace trawl
