// Loops that wait in lease(), and loops woken by on_wake().
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontier/conformance/conformance.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using ConformanceWaits = test::Conformance;

TEST_P(ConformanceWaits, LeaseWaitsForADelayForAnOfferAndForACompletion) {
  auto polite = options();
  polite.politeness.delay = 200ms;
  polite.politeness.leases_per_host = 1;
  const auto frontier = open(polite);
  offer(*frontier, {"http://a.test/1", "http://a.test/2"});
  const auto start = std::chrono::steady_clock::now();
  const auto first = frontier->lease({.max = 8, .wait = 60s}).value();
  ASSERT_EQ(first.size(), 1u);
  // Another thread completes it, and so ends what keeps the host.
  std::thread other([&] { complete(*frontier, first[0]); });
  const auto second = frontier->lease({.max = 8, .wait = 60s}).value();
  other.join();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 200ms);
  std::thread offers([&] {
    std::this_thread::sleep_for(20ms);
    offer(*frontier, {"http://b.test/"});
  });
  EXPECT_THAT(urls_of(frontier->lease({.max = 8, .wait = 60s}).value()),
              ElementsAre("http://b.test/"));
  offers.join();
}

TEST_P(ConformanceWaits, AFetchedLeaseEndsAWaitAndCallsTheCallback) {
  auto one_each = options();
  one_each.politeness.leases_per_host = 1;
  const auto frontier = open(one_each);
  offer(*frontier, {"http://a.test/1", "http://a.test/2", "http://a.test/3"});
  ASSERT_TRUE(frontier->flush());
  const Lease first = lease_one(*frontier);
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_TRUE(frontier->fetched(first.id));
  });
  const auto second = frontier->lease({.max = 8, .wait = std::chrono::hours(1)}).value();
  other.join();
  ASSERT_THAT(urls_of(second), ElementsAre("http://a.test/2"));

  std::atomic<int> told{0};
  ASSERT_TRUE(frontier->on_wake([&] { ++told; }, 0));
  ASSERT_TRUE(frontier->fetched(second[0].id));
  EXPECT_GE(told, 1);
  ASSERT_THAT(urls_of(lease_all(*frontier)), ElementsAre("http://a.test/3"));
  ASSERT_TRUE(frontier->on_wake({}, 0));
}

TEST_P(ConformanceWaits, LeaseWaitsNoLongerThanThereIsSomethingToWaitFor) {
  const auto frontier = open();
  offer(*frontier, {"http://a.test/"});
  const auto leases = lease_all(*frontier);
  EXPECT_THAT(frontier->lease({.max = 8, .wait = 30ms}).value(), IsEmpty()) << "in time";
  EXPECT_FALSE(frontier->progress()->at_end());
  std::thread other([&] { complete(*frontier, leases.at(0)); });
  EXPECT_THAT(frontier->lease({.max = 8, .wait = std::chrono::hours(1)}).value(), IsEmpty());
  other.join();
  EXPECT_TRUE(frontier->progress()->finished);
}

TEST_P(ConformanceWaits, CloseEndsAWait) {
  const auto frontier = open();
  offer(*frontier, {"http://a.test/"});
  ASSERT_EQ(lease_all(*frontier).size(), 1u);
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    EXPECT_TRUE(frontier->close());
  });
  const auto leases = frontier->lease({.max = 8, .wait = std::chrono::hours(1)});
  other.join();
  ASSERT_FALSE(leases);
  EXPECT_EQ(leases.error().code, ErrorCode::kClosed);
}

// A loop that does nothing but wait for the callback comes to the end.
TEST_P(ConformanceWaits, WakesAreEnoughToCrawlBy) {
  auto polite = options();
  polite.politeness.delay = 20ms;
  polite.politeness.leases_per_host = 1;
  polite.retry = {.retries = 1, .retry_delay = 30ms, .host_backoff = 0ms};
  const auto frontier = open(polite);
  std::mutex mutex;
  std::condition_variable told;
  bool woken = true;
  ASSERT_TRUE(frontier->on_wake([&] {
    const std::lock_guard lock(mutex);
    woken = true;
    told.notify_all();
  }));
  offer(*frontier, {"http://a.test/1", "http://a.test/2", "http://a.test/3", "http://b.test/1"});
  int failures = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex);
      ASSERT_TRUE(told.wait_for(lock, 20s, [&] { return woken; })) << "never woken";
      woken = false;
    }
    const auto leases = frontier->lease({.max = 8}).value();
    for (const Lease& lease : leases) {
      if (lease.attempts == 0 && lease.host == "b.test") {
        ++failures;
        ASSERT_TRUE(frontier->fail(lease.id, FailureReason::kServerError));
      } else {
        complete(*frontier, lease);
      }
    }
    if (frontier->progress()->finished) break;
  }
  EXPECT_EQ(failures, 1);
  EXPECT_EQ(frontier->stats()->succeeded, 4u);
  ASSERT_TRUE(frontier->on_wake({}));
}

TRAWL_CONFORMS(ConformanceWaits);

}  // namespace
}  // namespace trawl
