#include "crawler/cli/signal_waiter.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace trawl::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kLong = 60s;

bool is_soon(std::chrono::steady_clock::time_point since) {
  return std::chrono::steady_clock::now() - since < kLong / 2;
}

TEST(SignalWaiter, IsWokenByAnotherThread) {
  const SignalWaiter signals;
  const auto begun = std::chrono::steady_clock::now();
  std::thread other([&signals] { signals.wake(); });
  EXPECT_FALSE(signals.wait(kLong));
  EXPECT_TRUE(is_soon(begun));
  other.join();
}

TEST(SignalWaiter, AWakeBeforeTheWaitCounts) {
  const SignalWaiter signals;
  const auto begun = std::chrono::steady_clock::now();
  signals.wake();
  signals.wake();
  EXPECT_FALSE(signals.wait(kLong));
  EXPECT_TRUE(is_soon(begun));
  EXPECT_FALSE(signals.wait(0ms));
}

// Whichever came first: a signal is never left for later because of a wake.
TEST(SignalWaiter, AWakeHidesNoSignal) {
  const SignalWaiter signals;
  for (const bool wakes_first : {false, true}) {
    if (wakes_first) signals.wake();
    ASSERT_EQ(::kill(::getpid(), SIGTERM), 0);
    if (!wakes_first) signals.wake();
    EXPECT_EQ(signals.wait(kLong), SIGTERM);
    EXPECT_FALSE(signals.wait(0ms));
  }
}

}  // namespace
}  // namespace trawl::cli
