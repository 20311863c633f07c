#include "frontier/schedule/sleeping_hosts.h"

#include <cstdint>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/mix.h"

namespace trawl {
namespace {

// Of one shard of many: the highest bits are the same.
constexpr std::uint64_t kShards = 16;
HostId id(std::uint64_t n) {
  return (mix64(n) >> 4) | (std::uint64_t{5} << 60);
}

TEST(SleepingHostsTest, HoldsWhatAMapHolds) {
  std::mt19937_64 random(1);
  SleepingHosts hosts(kShards);
  std::map<HostId, std::uint64_t> expected;
  for (int step = 0; step < 300'000; ++step) {
    const HostId host = id(random() % 30'000);
    switch (random() % 8) {
      case 0:
      case 1:
      case 2: {
        const std::uint64_t urls = 1 + random() % SleepingHosts::kMostUrls;
        hosts.set(host, urls);
        expected[host] = urls;
        break;
      }
      case 3: {
        const auto there = expected.find(host);
        ASSERT_EQ(hosts.remove(host), there == expected.end() ? 0 : there->second);
        if (there != expected.end()) expected.erase(there);
        break;
      }
      case 4:
        if (!expected.empty()) {
          const auto next = hosts.next();
          ASSERT_EQ(expected.at(next.id), next.urls);
          expected.erase(next.id);
        }
        break;
      default: {
        const auto there = expected.find(host);
        ASSERT_EQ(hosts.urls(host), there == expected.end() ? 0 : there->second);
      }
    }
    ASSERT_EQ(hosts.size(), expected.size());
  }
  std::map<HostId, std::uint64_t> visited;
  for (std::size_t table = 0; table < SleepingHosts::kTables; ++table)
    hosts.visit(table, [&](HostId host, std::uint64_t urls) { visited[host] = urls; });
  EXPECT_EQ(visited, expected);
  while (!hosts.empty())
    ASSERT_EQ(expected.erase(hosts.next().id), 1u);
  EXPECT_TRUE(expected.empty());
}

TEST(SleepingHostsTest, NextGoesRoundAlthoughHostsComeAndGo) {
  SleepingHosts hosts(kShards);
  for (std::uint64_t n = 0; n < 20'000; ++n)
    hosts.set(id(n), 2);
  std::set<HostId> had;
  // Each that had its turn comes back, and new ones come.
  for (std::uint64_t n = 0; n < 22'000; ++n) {
    const auto next = hosts.next();
    had.insert(next.id);
    hosts.set(next.id, next.urls);
    if (n % 10 == 0) hosts.set(id(100'000 + n), 1);
  }
  std::size_t missed = 0;
  for (std::uint64_t n = 0; n < 20'000; ++n)
    missed += had.contains(id(n)) ? 0 : 1;
  EXPECT_LE(missed, 200u);
}

TEST(SleepingHostsTest, TakesLittleMemoryAndGivesItBack) {
  constexpr std::uint64_t kHosts = 1'000'000;
  SleepingHosts hosts(kShards);
  for (std::uint64_t n = 0; n < kHosts; ++n) {
    hosts.set(id(n), 1);
    if (n > 100'000 && n % 10'000 == 0) {
      ASSERT_LE(hosts.bytes(), 16 * hosts.size()) << n;
    }
  }
  while (hosts.size() > kHosts / 1000)
    hosts.next();
  EXPECT_LE(hosts.bytes(), kHosts / 10);
}

}  // namespace
}  // namespace trawl
