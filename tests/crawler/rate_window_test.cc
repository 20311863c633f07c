#include "crawler/status/rate_window.h"

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const SteadyTime kStart{std::chrono::hours(5)};

// A crawl's loop, which looks each 100 ms, up to `until`.
void run_loop(RateWindow& window, seconds from, seconds until, std::uint64_t pages,
              std::uint64_t pages_per_second) {
  for (milliseconds at = from; at <= until; at += milliseconds(100)) {
    if (!window.is_due(kStart + at)) continue;
    const auto passed = static_cast<std::uint64_t>((at - from).count());
    window.add(kStart + at, pages + pages_per_second * passed / 1000, 0);
  }
}

TEST(RateWindow, NeedsNobodyWhoAsks) {
  RateWindow window;
  run_loop(window, seconds(0), seconds(9), 0, 10);
  EXPECT_NEAR(window.rates(kStart + seconds(9), 90, 0).pages, 10, 0.01);
  // Paused.
  run_loop(window, seconds(9), seconds(37), 90, 0);
  EXPECT_EQ(window.rates(kStart + seconds(37), 90, 0).pages, 0);
  EXPECT_EQ(window.rates(kStart + seconds(37), 90, 0).bytes, 0);
}

TEST(RateWindow, IsThatOfTheLastTenSeconds) {
  RateWindow window;
  run_loop(window, seconds(0), seconds(60), 0, 1);
  run_loop(window, seconds(60), seconds(75), 60, 50);
  EXPECT_NEAR(window.rates(kStart + seconds(75), 60 + 15 * 50, 0).pages, 50, 1);
}

// Its pages were not fetched in this run, however long ago that was.
TEST(RateWindow, AnEarlierRunDoesNotCount) {
  RateWindow window;
  window.add(kStart, 1000, 5000);
  const auto rates = window.rates(kStart + seconds(4), 1004, 5400);
  EXPECT_NEAR(rates.pages, 1, 0.01);
  EXPECT_NEAR(rates.bytes, 100, 0.01);
}

TEST(RateWindow, TheFirstMomentIsNotExaggerated) {
  RateWindow window;
  EXPECT_EQ(window.rates(kStart, 7, 7).pages, 0);
  window.add(kStart, 0, 0);
  EXPECT_EQ(window.rates(kStart + milliseconds(2), 1, 100).pages, 1);
}

}  // namespace
}  // namespace trawl
