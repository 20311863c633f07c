// How much a HostShard keeps in memory, and that what it does not keep is leased all the same.
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontier/schedule/host_shard.h"
#include "tests/frontier/host_shard_fixture.h"

namespace trawl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::Each;
using ::testing::IsEmpty;

class HostShardMemory : public test::HostShardFixture {
 protected:
  void count_reads() {
    store_.on_read = [this](std::size_t limit) -> Result<void> {
      limits_.push_back(limit);
      return {};
    };
  }
  std::vector<std::size_t> limits_;
};

TEST_F(HostShardMemory, WithFewHostsManyUrlsAreReadAtOnce) {
  HostShard shard(store_, options(milliseconds(0), 1000));
  restore(shard, 100);
  count_reads();
  EXPECT_EQ(lease(shard).size(), 100u);
  EXPECT_EQ(limits_.size(), 2u);
  EXPECT_THAT(limits_, Each(64u));
}

TEST_F(HostShardMemory, UrlsThatAreInMemoryAreNotRead) {
  HostShard shard(store_, options(milliseconds(0), 1000));
  count_reads();
  admit(shard, 64);
  EXPECT_EQ(lease(shard).size(), 64u);
  EXPECT_THAT(limits_, IsEmpty());
}

// Whatever the number of hosts, and however long their URLs are.
TEST_F(HostShardMemory, M1_TheUrlsInMemoryTakeNoMoreThanTheyMay) {
  for (const std::size_t url_bytes : {10u, 2000u}) {
    SCOPED_TRACE(url_bytes);
    store_.queues.clear();
    next_sequence_ = 0;
    auto bounded = options(milliseconds(0), 1000);
    bounded.max_head_bytes = 100'000;
    HostShard shard(store_, bounded);
    std::size_t most = 0;
    std::uint64_t hosts = 0;
    for (const std::uint64_t urls : {100u, 20u, 5u, 1u}) {
      for (std::uint64_t n = 0; n < 150; ++n) {
        const std::string host = "host" + std::to_string(hosts++) + ".test";
        for (std::uint64_t i = 0; i < urls; ++i) {
          QueuedUrl url = queued(next_sequence_++, 0, host);
          const std::string name = "http://" + host + "/" + std::string(url_bytes, 'x');
          url.record = encode_record({.url = name});
          admit(shard, url);
        }
      }
      // In addition to its URLs a host takes 200 bytes; a share is rounded up to a chunk of them.
      most = std::max<std::size_t>(most, shard.stats().memory);
      EXPECT_LE(shard.stats().memory, bounded.max_head_bytes + 200 * hosts + 20'000);
    }
    EXPECT_GT(most, bounded.max_head_bytes / 2) << "the memory is used";
    std::set<std::uint64_t> leased;
    while (leased.size() < next_sequence_) {
      const auto leases = lease(shard, 100);
      ASSERT_FALSE(leases.empty());
      for (const auto& lease : leases) {
        EXPECT_TRUE(leased.insert(lease.url.order.sequence).second);
        complete(shard, lease);
      }
    }
    EXPECT_THAT(lease(shard), IsEmpty());
    EXPECT_EQ(shard.stats().hosts, 0u);
  }
}

TEST_F(HostShardMemory, M1_AHostThatWaitsTakesLittle) {
  auto bounded = options(milliseconds(0));
  bounded.max_head_bytes = 0;
  HostShard shard(store_, bounded);
  constexpr std::uint64_t kHosts = 100'000;
  for (std::uint64_t n = 0; n < kHosts; ++n)
    shard.restore_host(n << 20 | 1, std::nullopt);
  EXPECT_EQ(shard.stats().hosts, kHosts);
  EXPECT_LE(shard.stats().memory, 160 * kHosts);
}

// What the store has of hosts when it is opened; returns how often their queues were read before
// all of them had been leased in order.
std::size_t reads_after_restart(test::FakeStore& store, HostShard& shard, std::uint64_t hosts,
                                std::uint64_t urls_each, std::size_t first) {
  std::map<HostId, std::vector<std::uint64_t>> expected;
  for (std::uint64_t host = 0; host < hosts; ++host) {
    for (std::uint64_t n = 0; n < urls_each; ++n) {
      const auto url =
          test::queued_url(host * urls_each + n, 0, "h" + std::to_string(host) + ".test");
      store.put(url);
      expected[url.host].push_back(url.order.sequence);
    }
  }
  EXPECT_TRUE(store.visit_queues(0, first, [&](HostId host, const QueueBeginning& queue) {
    shard.restore_host(host, std::nullopt, queue);
    return true;
  }));
  std::size_t reads = 0;
  store.on_read = [&](std::size_t) {
    ++reads;
    return Result<void>{};
  };
  std::vector<NumberedLease> leases;
  EXPECT_TRUE(shard.lease(1'000'000, leases));
  std::map<HostId, std::vector<std::uint64_t>> leased;
  for (const NumberedLease& lease : leases)
    leased[lease.url.host].push_back(lease.url.order.sequence);
  EXPECT_EQ(leased, expected);
  return reads;
}

TEST_F(HostShardMemory, AfterARestartTheFirstUrlsAreNotReadAgain) {
  const auto bounded = options(milliseconds(0), 1000);
  HostShard whole(store_, bounded);
  EXPECT_EQ(reads_after_restart(store_, whole, 100, 4, 4), 0u);
  test::FakeStore longer;
  HostShard begun(longer, bounded);
  EXPECT_EQ(reads_after_restart(longer, begun, 100, 6, 4), 100u);
}

TEST_F(HostShardMemory, M1_AfterARestartTheFirstUrlsKeepWithinTheBytes) {
  auto bounded = options(milliseconds(0), 1000);
  bounded.max_head_bytes = 2'000;
  HostShard shard(store_, bounded);
  const std::size_t reads = reads_after_restart(store_, shard, 100, 4, 4);
  EXPECT_GT(reads, 50u);
  EXPECT_LT(reads, 500u);
  test::FakeStore none;
  bounded.max_head_bytes = 0;
  HostShard small(none, bounded);
  EXPECT_GE(reads_after_restart(none, small, 100, 4, 4), 100u);
}

TEST_F(HostShardMemory, M1_WithRoomForNoUrlsTheyAreReadAFewAtOnce) {
  auto bounded = options(milliseconds(0), 1000);
  bounded.max_head_bytes = 0;
  HostShard shard(store_, bounded);
  admit(shard, 10);
  admit(shard, 10, "b.test");
  count_reads();
  EXPECT_EQ(lease(shard).size(), 20u);
  EXPECT_THAT(limits_, Each(4u));
  EXPECT_LE(shard.stats().memory, 20'000u);
}

// Nobody leases, and yet nothing piles up.
TEST_F(HostShardMemory, M1_ALongInboxIsTakenIn) {
  HostShard shard(store_, options(milliseconds(0)));
  for (std::uint64_t n = 0; n < 100'000; ++n) {
    shard.push_admitted(queued(n));
    shard.relieve_inbox();
  }
  EXPECT_LE(shard.stats().memory, 100'000u);
}

TEST_F(HostShardMemory, M1_AnInboxWithLongRunsIsLong) {
  HostShard shard(store_, options(milliseconds(0)));
  const auto run = std::make_shared<QueueRun>();
  for (std::uint64_t n = 0; n < 3000; ++n) {
    const QueuedUrl url = queued(n);
    run->add(0, 0, {}, url.host, 0, 0, url.record);
  }
  shard.push_part(run, 0);
  EXPECT_FALSE(shard.has_long_inbox());
  shard.relieve_inbox();
  EXPECT_EQ(run.use_count(), 2) << "a short one is left to the next lease";
  shard.push_part(run, 0);
  EXPECT_TRUE(shard.has_long_inbox());
  shard.relieve_inbox();
  EXPECT_FALSE(shard.has_long_inbox());
  EXPECT_EQ(run.use_count(), 1) << "its memory is not kept";
}

TEST_F(HostShardMemory, M1_IdleHostsAreForgottenWhenTheirDelayHasPassed) {
  HostShard shard(store_, options(milliseconds(1000)));
  for (std::uint64_t n = 0; n < 1000; ++n)
    admit(shard, 1, "host" + std::to_string(n) + ".test");
  const auto leases = lease(shard);
  ASSERT_EQ(leases.size(), 1000u);
  for (const auto& lease : leases)
    complete(shard, lease);
  now_ += milliseconds(999);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().hosts, 1000u);
  now_ += milliseconds(1);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().hosts, 0u);
  EXPECT_EQ(shard.next_due(), std::nullopt);
}

}  // namespace
}  // namespace trawl
