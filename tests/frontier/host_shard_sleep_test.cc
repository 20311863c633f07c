// Hosts that sleep because there are too many.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontier/schedule/host_shard.h"
#include "tests/frontier/host_shard_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

class HostShardSleep : public test::HostShardFixture {
 protected:
  static constexpr std::size_t kAwake = 16;

  ShardOptions few_awake(milliseconds delay = milliseconds(0)) {
    auto few = options(delay);
    few.most_awake = kAwake;
    return few;
  }
  static std::string name(std::uint64_t host) { return "host" + std::to_string(host) + ".test"; }
  void admit_all(HostShard& shard, std::uint64_t hosts, std::uint64_t urls) {
    for (std::uint64_t n = 0; n < urls; ++n) {
      for (std::uint64_t host = 0; host < hosts; ++host)
        admit(shard, 1, name(host));
    }
  }
};

TEST_F(HostShardSleep, EachUrlIsLeasedOnceAndNoHostWaitsForAllOthers) {
  constexpr std::uint64_t kHosts = 300;
  constexpr std::uint64_t kUrls = 60;
  HostShard shard(store_, few_awake());
  admit_all(shard, kHosts, kUrls);
  EXPECT_EQ(shard.stats().hosts, kHosts);
  EXPECT_EQ(shard.stats().leasable, kHosts);
  EXPECT_TRUE(shard.has_turn());

  std::set<std::uint64_t> leased;
  std::map<HostId, std::size_t> first;
  while (leased.size() < kHosts * kUrls) {
    const auto lease = lease_one(shard);
    ASSERT_TRUE(leased.insert(lease.url.order.sequence).second);
    first.emplace(lease.url.host, leased.size());
    complete(shard, lease);
    now_ += milliseconds(1);
  }
  EXPECT_TRUE(lease(shard).empty());
  EXPECT_EQ(shard.stats().leasable, 0u);
  // 32 leases at a time at most, and a few hosts wait for a second round.
  const auto late =
      std::ranges::count_if(first, [](const auto& host) { return host.second >= kHosts * 40; });
  EXPECT_LE(late, 6) << "they had to wait for the ends of others";
}

TEST_F(HostShardSleep, TheyAreCountedAndRanked) {
  HostShard shard(store_, few_awake());
  admit_all(shard, 40, 1);
  admit(shard, 6, name(39));
  RankedHosts ranked(2);
  shard.rank_hosts(HostOrder::kQueued, ranked);
  const auto busiest = ranked.take();
  ASSERT_EQ(busiest.size(), 2u);
  EXPECT_EQ(busiest.front(), test::id_of(name(39)));
  const auto counts = shard.counts(test::id_of(name(39)));
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->queued, 7u);
  EXPECT_TRUE(counts->is_exact);
  EXPECT_EQ(shard.stats().hosts, 40u);
}

TEST_F(HostShardSleep, OneWithVeryManyUrlsWakes) {
  HostShard shard(store_, few_awake());
  admit_all(shard, 40, 1);
  admit(shard, 300, name(39));
  const auto counts = shard.counts(test::id_of(name(39)));
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->queued, 301u);
}

TEST_F(HostShardSleep, P1_DelaysHoldForHostsThatSleepInBetween) {
  constexpr milliseconds kDelay(1000);
  HostShard shard(store_, few_awake(kDelay));
  admit_all(shard, 100, 12);
  std::map<HostId, SteadyTime> last;
  std::size_t leased = 0;
  for (int round = 0; round < 40'000 && leased < 1200; ++round) {
    for (const auto& lease : lease(shard, 3)) {
      const auto [at, is_first] = last.try_emplace(lease.url.host, now_);
      EXPECT_TRUE(is_first || now_ - at->second >= kDelay);
      at->second = now_;
      complete(shard, lease);
      ++leased;
    }
    now_ += milliseconds(7);
  }
  EXPECT_EQ(leased, 1200u);
}

TEST_F(HostShardSleep, SettingsOfOneThatSleepsHoldWhenItWakes) {
  HostShard shard(store_, few_awake());
  admit_all(shard, 40, 1);
  for (std::uint64_t host = 0; host < 40; ++host)
    change(
        shard, [](HostRecord& record) { record.given_up = true; }, name(host));
  EXPECT_TRUE(lease(shard).empty());
  for (std::uint64_t host = 0; host < 40; ++host)
    change(
        shard, [](HostRecord& record) { record.given_up = false; }, name(host));
  EXPECT_EQ(lease(shard).size(), 40u);
}

TEST_F(HostShardSleep, StoredRecordsHoldWhenOneWakes) {
  for (std::uint64_t host = 0; host < 40; ++host) {
    HostRecord record;
    record.name = name(host);
    record.given_up = true;
    store_.host_records[test::id_of(name(host))] = record;
  }
  HostShard shard(store_, few_awake());
  admit_all(shard, 41, 1);
  EXPECT_EQ(lease(shard).size(), 1u);
  EXPECT_EQ(shard.stats().given_up, 40u);
  EXPECT_EQ(shard.stats().leasable, 0u) << "the one is leased";
}

TEST_F(HostShardSleep, ALateCompletionCountsForOneThatSleeps) {
  auto expiring = few_awake();
  expiring.lease_timeout = milliseconds(100);
  HostShard shard(store_, expiring);
  admit_all(shard, 40, 6);
  std::vector<NumberedLease> late;
  // No host answers, so that each may sleep.
  for (int round = 0; round < 8; ++round) {
    for (const auto& lease : lease(shard, 40))
      late.push_back(lease);
    now_ += milliseconds(101);
  }
  std::size_t counted = 0;
  std::set<std::uint64_t> ended;
  for (const auto& lease : late) {
    const auto end = begin(shard, lease, {}).end;
    if (end != LeaseEnd::kLate && end != LeaseEnd::kOpen) continue;
    EXPECT_TRUE(ended.insert(lease.url.order.sequence).second);
    commit_end(shard, lease.url);
    ++counted;
  }
  std::set<std::uint64_t> sequences;
  for (const auto& lease : late)
    sequences.insert(lease.url.order.sequence);
  EXPECT_EQ(counted, sequences.size()) << "each URL that was leased ended once";
}

TEST_F(HostShardSleep, AnErrorOfTheStoreWakesNobodyAndLosesNothing) {
  HostShard shard(store_, few_awake());
  admit_all(shard, 100, 1);
  shard.take_inbox();
  store_.on_host = [](HostId) -> Result<void> { return error(ErrorCode::kIo, "broken"); };
  std::vector<NumberedLease> leases;
  EXPECT_FALSE(shard.lease(100, leases));
  store_.on_host = nullptr;
  while (leases.size() < 100) {
    const std::size_t before = leases.size();
    ASSERT_TRUE(shard.lease(100, leases));
    ASSERT_GT(leases.size(), before);
  }
}

// The end is in the inbox when hosts are to wake, and then none sleeps.
TEST_F(HostShardSleep, TheLastOneIsDoneBeforeItWakes) {
  auto few = few_awake(milliseconds(1000));
  few.most_awake = 1;
  HostShard shard(store_, few);
  admit(shard, 1, name(0));
  shard.take_inbox();
  admit(shard, 1, name(1));  // sleeps
  shard.take_inbox();
  ASSERT_EQ(lease(shard, 1).size(), 1u);
  // As if it had been read, leased and completed in between.
  const QueuedUrl last = queued(1, 0, name(1));
  store_.remove(last);
  shard.push_ended(last.host, last.order.sequence);
  EXPECT_TRUE(lease(shard).empty());
  EXPECT_TRUE(lease(shard).empty());
  shard.close();
}

TEST_F(HostShardSleep, AfterARestartNoneWakesBeforeItMayStart) {
  constexpr milliseconds kDelay(10'000);
  auto restarted = few_awake(kDelay);
  restarted.restarted = now_;
  HostShard shard(store_, restarted);
  admit_all(shard, 5'000, 1);
  std::size_t reads = 0;
  store_.on_host = [&reads](HostId) -> Result<void> {
    ++reads;
    return {};
  };
  EXPECT_TRUE(lease(shard).empty());
  EXPECT_LE(reads, kAwake);
  EXPECT_EQ(shard.next_due(), now_ + kDelay);
  now_ += kDelay;
  EXPECT_FALSE(lease(shard, 1).empty());
}

TEST_F(HostShardSleep, ACallWakesNoMoreThanSomeHundred) {
  auto expiring = few_awake();
  HostShard shard(store_, expiring);
  admit_all(shard, 20, 1);
  for (std::uint64_t host = 20; host < 5'000; ++host) {
    HostRecord record;
    record.name = name(host);
    record.given_up = true;
    store_.host_records[test::id_of(name(host))] = record;
    admit(shard, 1, name(host));
  }
  std::size_t reads = 0;
  store_.on_host = [&reads](HostId) -> Result<void> {
    ++reads;
    return {};
  };
  std::size_t leased = 0;
  for (int calls = 0; calls < 1000 && shard.has_turn(); ++calls) {
    reads = 0;
    leased += lease(shard).size();
    EXPECT_LE(reads, 300u);
  }
  EXPECT_EQ(leased, 20u);
  EXPECT_FALSE(shard.has_turn());
  EXPECT_EQ(shard.stats().leasable, 0u);
}

TEST_F(HostShardSleep, HostsWithSettingsSleepToo) {
  HostShard shard(store_, few_awake());
  admit_all(shard, 100, 40);
  for (std::uint64_t host = 0; host < 100; ++host)
    change(
        shard, [](HostRecord& record) { record.delay = milliseconds(2); }, name(host));
  std::map<HostId, SteadyTime> last;
  std::size_t leased = 0;
  for (int round = 0; round < 40'000 && leased < 4000; ++round) {
    for (const auto& lease : lease(shard, 3)) {
      const auto [at, is_first] = last.try_emplace(lease.url.host, now_);
      EXPECT_TRUE(is_first || now_ - at->second >= milliseconds(2));
      at->second = now_;
      complete(shard, lease, {});
      ++leased;
    }
    now_ += milliseconds(1);
  }
  EXPECT_EQ(leased, 4000u);
}

TEST_F(HostShardSleep, MemoryOfManyHosts) {
  constexpr std::uint64_t kHosts = 100'000;
  HostShard shard(store_, few_awake());
  for (std::uint64_t host = 0; host < kHosts; ++host)
    shard.push_admitted(queued(host, 0, name(host)));
  EXPECT_EQ(shard.stats().hosts, kHosts);
  EXPECT_LT(shard.stats().memory, kHosts * 16 + 100'000);
}

}  // namespace
}  // namespace trawl
