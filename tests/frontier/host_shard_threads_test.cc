// HostShard with a committer, threads that lease, and others that look on.
#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "frontier/schedule/host_shard.h"
#include "tests/frontier/host_shard_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

// All URLs go through the inbox and fit the heads: the store, which only has no records, is read
// while nothing is written there.
class HostShardThreads : public test::HostShardFixture {};

TEST_F(HostShardThreads, A1_EachUrlIsLeasedOnceHoweverManyThreadsAsk) {
  constexpr std::uint64_t kUrls = 20'000;
  constexpr std::uint64_t kHosts = 2'000;
  auto many = options(milliseconds(0), 4);
  many.clock = [] { return std::chrono::steady_clock::now(); };
  many.wall_clock = [] { return std::chrono::system_clock::now(); };
  HostShard shard(store_, many);

  std::mutex mutex;
  std::deque<std::uint64_t> ended;  // to be committed
  std::set<std::uint64_t> leased;
  std::atomic<bool> done{false};
  std::thread committer([&] {
    std::uint64_t next = 0;
    std::uint64_t told = 0;
    while (told < kUrls) {
      for (int n = 0; n < 20 && next < kUrls; ++n, ++next)
        shard.push_admitted(queued(next, 0, "host" + std::to_string(next % kHosts) + ".test"));
      const std::lock_guard lock(mutex);
      for (; !ended.empty(); ended.pop_front(), ++told)
        shard.push_ended(test::id_of("host" + std::to_string(ended.front() % kHosts) + ".test"),
                         ended.front());
      shard.relieve_inbox();
      (void)shard.record_of(test::id_of("host1.test"));
      shard.push_saved(test::id_of("host1.test"));
    }
    done = true;
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&] {
      while (!done) {
        for (const auto& lease : lease(shard, 16)) {
          EXPECT_TRUE(shard.begin_completion(lease.number, {.status = 200}));
          const std::lock_guard lock(mutex);
          EXPECT_TRUE(leased.insert(lease.url.order.sequence).second);
          ended.push_back(lease.url.order.sequence);
        }
      }
    });
  }
  threads.emplace_back([&] {
    while (!done) {
      const ShardStats stats = shard.stats();
      EXPECT_LE(stats.leased, kUrls);
      (void)shard.stats();
      (void)shard.next_due();
      (void)shard.info(test::id_of("host2.test"));
      EXPECT_TRUE(shard.change_host(test::id_of("host3.test"), "host3.test",
                                    [](HostRecord& record) { record.max_leases = 3; }));
    }
  });
  committer.join();
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(leased.size(), kUrls);
  EXPECT_EQ(shard.stats().leased, 0u);
  EXPECT_EQ(shard.stats().leasable, 0u);
}

}  // namespace
}  // namespace trawl
