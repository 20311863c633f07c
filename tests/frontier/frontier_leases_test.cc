// Leases shared by the shards of a frontier, and the announcements of free ones.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/frontier.h"

#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

// Two shards that share two leases; counts the announcements to each.
class FrontierLeasesTest : public test::FrontierFixture {
 protected:
  void begin(std::chrono::milliseconds lease_timeout = std::chrono::milliseconds(0)) {
    auto frontier_options = options();
    frontier_options.store.shards = 2;
    frontier_options.limits.max_open_leases = 2;
    frontier_options.politeness.leases_per_host = 10;
    frontier_options.limits.lease_timeout = lease_timeout;
    frontier_options.testing.clock = [this] { return SteadyTime(now_.load()); };
    frontier_ = open(frontier_options);
    for (const std::uint32_t shard : {0u, 1u})
      ASSERT_TRUE(frontier_->on_wake([this, shard] { ++told_.at(shard); }, shard));
    // Two hosts, one in each shard.
    for (int i = 0; hosts_[0].empty() || hosts_[1].empty(); ++i) {
      const std::string host = "http://host" + std::to_string(i) + ".test/";
      offer_one(*frontier_, host);
      const auto first = frontier_->lease({.max = 1, .shard = 0}).value();
      const auto leases = first.empty() ? frontier_->lease({.max = 1, .shard = 1}).value() : first;
      ASSERT_EQ(leases.size(), 1u);
      hosts_.at(first.empty() ? 1 : 0) = host;
      complete(*frontier_, leases[0]);
      ASSERT_TRUE(frontier_->flush());
    }
  }
  // `n` URLs of a shard.
  void queue(std::uint32_t shard, int n) {
    std::vector<std::string> urls;
    for (int i = 0; i < n; ++i)
      urls.push_back(hosts_.at(shard) + std::to_string(offered_++));
    offer(*frontier_, urls);
  }
  void end_all(const std::vector<Lease>& leases) {
    for (const Lease& lease : leases)
      complete(*frontier_, lease);
    ASSERT_TRUE(frontier_->flush());
  }

  std::atomic<SteadyTime::duration> now_{std::chrono::hours(1)};
  std::array<std::atomic<int>, 2> told_{};
  std::array<std::string, 2> hosts_;
  int offered_ = 0;
  std::unique_ptr<Frontier> frontier_;
};

// A thread with nothing to do is not to be woken for nothing.
TEST_F(FrontierLeasesTest, AShardWithNothingToLeaseIsNotToldOfLeases) {
  begin();
  for (const std::uint32_t idle : {0u, 1u}) {
    const std::uint32_t busy = 1 - idle;
    queue(busy, 20);
    told_[idle] = told_[busy] = 0;
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(frontier_->lease({.max = 10, .shard = idle}).value().empty());
      const auto leases = frontier_->lease({.max = 10, .shard = busy}).value();
      ASSERT_EQ(leases.size(), 2u);
      EXPECT_TRUE(frontier_->lease({.max = 10, .shard = idle}).value().empty());
      EXPECT_FALSE(frontier_->next_due(idle).value());
      EXPECT_TRUE(frontier_->lease({.max = 10, .shard = busy}).value().empty());
      end_all(leases);
    }
    EXPECT_EQ(told_.at(idle), 0);
    EXPECT_GE(told_.at(busy), 10);
  }
}

TEST_F(FrontierLeasesTest, AShardIsToldThatOnlyAskedWhenItIsDue) {
  begin();
  queue(0, 2);
  const auto leases = frontier_->lease({.max = 10, .shard = 0}).value();
  ASSERT_EQ(leases.size(), 2u);
  queue(1, 1);
  told_[1] = 0;
  EXPECT_FALSE(frontier_->next_due(1).value()) << "there is no lease for it";
  end_all(leases);
  EXPECT_GE(told_[1], 1);
  EXPECT_TRUE(frontier_->next_due(1).value());
  EXPECT_EQ(frontier_->lease({.max = 10, .shard = 1}).value().size(), 1u);
}

TEST_F(FrontierLeasesTest, LeasesThatEndedInOneShardAreThereForAnyCall) {
  begin();
  for (const std::uint32_t busy : {0u, 1u, 0u, 1u}) {
    queue(busy, 6);
    for (int i = 0; i < 3; ++i) {
      const auto leases = frontier_->lease({.max = 2}).value();
      ASSERT_EQ(leases.size(), 2u) << "shard " << busy << ", time " << i;
      EXPECT_TRUE(frontier_->lease({.max = 2}).value().empty());
      end_all(leases);
    }
    EXPECT_TRUE(frontier_->lease({.max = 2}).value().empty());
  }
}

// A thread may still look when it may lease again.
TEST_F(FrontierLeasesTest, ShardsMayBeAskedForTheirTurnAfterTheEnd) {
  begin();
  offer(*frontier_, {hosts_[0] + "a", hosts_[0] + "b", hosts_[1] + "c"});
  const auto leases = frontier_->lease({.max = 2, .shard = 0}).value();
  ASSERT_EQ(leases.size(), 2u);
  ASSERT_TRUE(frontier_->set_host(leases[0].host, {.delay = std::chrono::seconds(1)}));
  ASSERT_TRUE(frontier_->close());
  for (const std::uint32_t shard : {0u, 1u}) {
    EXPECT_EQ(frontier_->next_due(shard).error().code, ErrorCode::kClosed);
    EXPECT_FALSE(frontier_->lease({.max = 1, .shard = shard}));
  }
}

TEST_F(FrontierLeasesTest, LeasesThatExpireInOneShardMakeRoomInTheOther) {
  begin(std::chrono::seconds(5));
  queue(0, 2);
  ASSERT_EQ(frontier_->lease({.max = 10, .shard = 0}).value().size(), 2u);
  queue(1, 1);
  EXPECT_TRUE(frontier_->lease({.max = 10, .shard = 1}).value().empty());
  const auto due = frontier_->next_due(1).value();
  ASSERT_TRUE(due) << "when the other shard's leases expire";
  now_ = now_.load() + std::chrono::seconds(6);
  EXPECT_EQ(frontier_->lease({.max = 10, .shard = 1}).value().size(), 1u);
}

// Threads that share fewer leases than they could use, and sleep until the announcement of work or
// of their next turn: none is forgotten.
TEST_F(FrontierLeasesTest, NoThreadSleepsWhileItCouldLease) {
  constexpr std::uint32_t kThreads = 4;
  constexpr int kHosts = 30;
  constexpr int kUrlsEach = 60;
  std::mutex mutex;
  std::condition_variable told;
  std::array<bool, kThreads> has_work{};
  auto frontier_options = options();
  frontier_options.store.shards = kThreads;
  frontier_options.limits.max_open_leases = kThreads;
  frontier_options.politeness.leases_per_host = 3;
  const auto frontier = open(frontier_options);
  for (std::uint32_t shard = 0; shard < kThreads; ++shard) {
    const auto wake = [&, shard] {
      const std::lock_guard lock(mutex);
      has_work.at(shard) = true;
      told.notify_all();
    };
    ASSERT_TRUE(frontier->on_wake(wake, shard));
  }
  std::vector<std::string> urls;
  for (int i = 0; i < kHosts * kUrlsEach; ++i)
    urls.push_back(fmt::format("http://host{}.test/{}", i % kHosts, i / kHosts));
  offer(*frontier, urls);
  std::atomic<int> left = kHosts * kUrlsEach;
  std::atomic<int> forgotten = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t shard = 0; shard < kThreads; ++shard) {
    threads.emplace_back([&, shard] {
      std::vector<Lease> open_leases;
      int turn = 0;
      while (left > 0) {
        auto more = frontier->lease({.max = 2, .shard = shard}).value();
        std::ranges::move(more, std::back_inserter(open_leases));
        if (!open_leases.empty()) {
          const Lease lease = open_leases.back();
          open_leases.pop_back();
          if (++turn % 7 == 0) {
            ASSERT_TRUE(frontier->release(lease.id));
          } else {
            complete(*frontier, lease);
            --left;
          }
          continue;
        }
        const auto due = frontier->next_due(shard).value();
        if (due && *due <= std::chrono::steady_clock::now()) continue;
        std::unique_lock lock(mutex);
        const auto ready = [&] { return has_work.at(shard) || left == 0; };
        // Long enough for any machine, and never waited for.
        if (!told.wait_for(lock, std::chrono::seconds(30), ready)) {
          ++forgotten;
          left = 0;
        }
        has_work.at(shard) = false;
      }
      const std::lock_guard lock(mutex);
      told.notify_all();
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(forgotten, 0);
  ASSERT_TRUE(frontier->flush());
  EXPECT_TRUE(frontier->progress()->finished);
}

// One shard may use all of them; the other gets an announcement when some are free again.
TEST_F(FrontierLeasesTest, N1_ShardsShareTheLeasesThatMayBeOpen) {
  begin();
  queue(0, 20);
  queue(1, 20);
  auto leases = frontier_->lease({.max = 10, .shard = 0}).value();
  ASSERT_EQ(leases.size(), 2u);
  EXPECT_TRUE(frontier_->lease({.max = 10, .shard = 1}).value().empty());
  EXPECT_FALSE(frontier_->next_due(1).value());
  for (const bool release : {false, true}) {
    told_[1] = 0;
    if (release) {
      ASSERT_TRUE(frontier_->release(leases[1].id));
    } else {
      end_all({leases[0]});
    }
    EXPECT_GE(told_[1], 1) << "released: " << release;
    EXPECT_TRUE(frontier_->next_due(1).value());
    EXPECT_EQ(frontier_->lease({.max = 10, .shard = 1}).value().size(), 1u)
        << "released: " << release;
    EXPECT_TRUE(frontier_->lease({.max = 10, .shard = 1}).value().empty());
  }
}

}  // namespace
}  // namespace trawl
