// HostShard with delays between requests to a domain and to an address.
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontier/schedule/host_shard.h"
#include "tests/frontier/host_shard_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostShardGroups : public test::HostShardFixture {
 protected:
  ShardOptions grouped(milliseconds delay = milliseconds(0)) {
    auto grouped = options(delay);
    if (domains_) grouped.domains = &*domains_;
    if (addresses_) grouped.addresses = &*addresses_;
    return grouped;
  }
  static std::string host_name(std::uint64_t n, const std::string& domain = "d.test") {
    return "host" + std::to_string(n) + "." + domain;
  }
  void set_address(HostShard& shard, const std::string& host, std::string_view address) {
    shard.set_address(test::id_of(host), address);
  }

  std::optional<GroupRateLimiter> domains_;
  std::optional<GroupRateLimiter> addresses_;
};

TEST_F(HostShardGroups, P1_HostsOfADomainTakeTurns) {
  domains_.emplace(seconds(1));
  HostShard shard(store_, grouped());
  for (std::uint64_t n = 0; n < 3; ++n)
    admit(shard, 2, host_name(n));
  admit(shard, 1, "other.test");
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(0u, 6u));
  for (const std::uint64_t next : {2u, 4u}) {
    EXPECT_EQ(shard.next_due(), now_ + seconds(1));
    now_ += milliseconds(999);
    EXPECT_THAT(lease(shard), IsEmpty());
    now_ += milliseconds(1);
    EXPECT_THAT(sequences(lease(shard)), ElementsAre(next));
  }
}

TEST_F(HostShardGroups, P1_PortsAndSubdomainsShareADomainAndNumbersDoNot) {
  domains_.emplace(seconds(1));
  HostShard shard(store_, grouped());
  for (const char* host : {"www.d.co.uk", "d.co.uk:8080", "a.b.d.co.uk", "[::1]:8080", "[::2]",
                           "127.0.0.1", "127.0.0.2:80", "e.co.uk"})
    admit(shard, 1, host);
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(0u, 3u, 4u, 5u, 6u, 7u));
}

TEST_F(HostShardGroups, P1_ADomainIsKeptAcrossShards) {
  domains_.emplace(seconds(1));
  HostShard one(store_, grouped());
  HostShard other(store_, grouped());
  admit(one, 1, "a.d.test");
  admit(other, 1, "b.d.test");
  EXPECT_EQ(lease(one).size(), 1u);
  EXPECT_THAT(lease(other), IsEmpty());
  EXPECT_EQ(other.next_due(), now_ + seconds(1));
  now_ += seconds(1);
  EXPECT_EQ(lease(other).size(), 1u);
}

TEST_F(HostShardGroups, P1_TheDomainsDelayCountsFromTheRealStart) {
  domains_.emplace(seconds(1));
  HostShard shard(store_, grouped());
  admit(shard, 1, "a.d.test");
  admit(shard, 1, "b.d.test");
  const auto first = lease_one(shard);
  now_ += milliseconds(700);
  complete(shard, first, {.started_after = milliseconds(600)});
  now_ = start_ + milliseconds(1599);
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ = start_ + milliseconds(1600);
  EXPECT_EQ(lease(shard).size(), 1u);
}

TEST_F(HostShardGroups, ALeaseWithoutARequestGivesTheDomainsTurnBack) {
  domains_.emplace(seconds(10));
  for (const bool released : {false, true}) {
    SCOPED_TRACE(released);
    now_ += seconds(100);
    store_.queues.clear();
    HostShard shard(store_, grouped());
    admit(shard, 1, "a.d.test");
    admit(shard, 1, "b.d.test");
    const auto first = lease_one(shard);
    EXPECT_THAT(lease(shard), IsEmpty());
    now_ += seconds(1);
    if (released) {
      EXPECT_TRUE(shard.release(first.number, std::nullopt));
    } else {
      complete(shard, first, {.requested = false});
    }
    const auto second = lease(shard);
    ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(second[0].url.order.sequence, first.url.order.sequence + 1);
  }
}

TEST_F(HostShardGroups, P1_AnAddressIsLearntFromOutcomesOrSet) {
  addresses_.emplace(seconds(1));
  HostShard shard(store_, grouped());
  for (const char* host : {"a.test", "b.test", "c.test"})
    admit(shard, 3, host);
  ASSERT_EQ(lease(shard).size(), 3u) << "no address is known yet";
  now_ += milliseconds(500);
  EXPECT_TRUE(shard.begin_completion(1, {.started_after = milliseconds(400), .address = "10.1"}));
  EXPECT_TRUE(shard.begin_completion(2, {.address = "10.2"}));
  set_address(shard, "c.test", "10.1");
  EXPECT_TRUE(shard.begin_completion(3, {}));
  // a and c have one address, which was asked at 400 ms; b has another, asked at 0 ms.
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ = start_ + seconds(1);
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(4u));
  now_ = start_ + milliseconds(1399);
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ = start_ + milliseconds(1400);
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(7u)) << "c was ready before a";
  set_address(shard, "a.test", "10.3");  // while it waits for its turn
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(1u));
}

TEST_F(HostShardGroups, P1_AnAddressSetAtOnceHolds) {
  addresses_.emplace(seconds(1));
  HostShard shard(store_, grouped());
  set_address(shard, "b.test", "10.1");  // before its first URL
  EXPECT_THAT(lease(shard), IsEmpty());
  admit(shard, 1, "a.test");
  set_address(shard, "a.test", "10.1");  // before anybody looked at its URL
  admit(shard, 1, "b.test");
  EXPECT_EQ(lease(shard).size(), 1u);
  now_ += milliseconds(999);
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ += milliseconds(1);
  EXPECT_EQ(lease(shard).size(), 1u);
}

TEST_F(HostShardGroups, M1_AHostOfWhichOnlyTheAddressIsKnownIsForgotten) {
  addresses_.emplace(seconds(5));
  HostShard shard(store_, grouped());
  set_address(shard, "a.test", "10.1");
  EXPECT_EQ(shard.stats().hosts, 1u);
  now_ += seconds(5);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().hosts, 0u);
  EXPECT_FALSE(shard.next_due());
  store_.on_host = [](HostId) -> Result<void> { return error(ErrorCode::kIo, "the disk is gone"); };
  set_address(shard, "a.test", "10.1");
  std::vector<NumberedLease> leases;
  EXPECT_FALSE(shard.lease(1, leases));
}

TEST_F(HostShardGroups, P1_TheAddressOfAHostWithoutUrlsIsKeptForItsDelay) {
  addresses_.emplace(seconds(10));
  HostShard shard(store_, grouped(milliseconds(100)));
  for (int page = 0; page < 4; ++page) {
    SCOPED_TRACE(page);
    admit(shard, 1);
    if (page > 0) {
      now_ += milliseconds(101);
      EXPECT_THAT(lease(shard), IsEmpty());
      now_ += milliseconds(9798);
      EXPECT_THAT(lease(shard), IsEmpty());
      now_ += milliseconds(1);
    }
    complete(shard, lease_one(shard), {.address = "10.1"});
    now_ += milliseconds(100);
    EXPECT_THAT(lease(shard), IsEmpty());
  }
  now_ += seconds(10);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().hosts, 0u);
}

TEST_F(HostShardGroups, P1_AnAddressLearntDuringARequestCountsIt) {
  for (const bool told : {false, true}) {
    SCOPED_TRACE(told);
    now_ += seconds(100);
    addresses_.emplace(seconds(1));
    HostShard shard(store_, grouped());
    admit(shard, 1, "a.test");
    const auto first = lease_one(shard);
    admit(shard, 1, "b.test");
    set_address(shard, "b.test", "10.1");
    set_address(shard, "a.test", "10.1");
    now_ += milliseconds(500);
    if (told) complete(shard, first, {.started_after = milliseconds(300), .address = "10.1"});
    now_ += milliseconds(told ? 799 : 499);
    EXPECT_THAT(lease(shard), IsEmpty());
    now_ += milliseconds(1);
    EXPECT_EQ(lease(shard).size(), 1u);
  }
}

TEST_F(HostShardGroups, P1_ARequestThatIsNotMadeUndoesNoOther) {
  for (const bool known : {false, true}) {
    SCOPED_TRACE(known);
    now_ += seconds(100);
    addresses_.emplace(seconds(1));
    HostShard shard(store_, grouped());
    for (const char* host : {"a.test", "b.test", "c.test"})
      admit(shard, 1, host);
    set_address(shard, "b.test", "10.1");
    if (known) set_address(shard, "a.test", "10.2");
    const auto leases = lease(shard, 2);
    ASSERT_EQ(leases.size(), 2u);
    set_address(shard, "a.test", "10.1");
    set_address(shard, "c.test", "10.1");
    complete(shard, leases[0], {.requested = false});
    EXPECT_THAT(lease(shard), IsEmpty()) << "b was asked";
    complete(shard, leases[1], {.requested = false});
    EXPECT_EQ(lease(shard).size(), 1u);
  }
}

TEST_F(HostShardGroups, P1_AfterARestartGroupsWaitTheirDelayToo) {
  domains_.emplace(seconds(5));
  auto restarted = grouped(seconds(1));
  restarted.restarted = now_;
  HostShard shard(store_, restarted);
  restore(shard, 1, "a.d.test");
  now_ += milliseconds(4999);
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ += milliseconds(1);
  EXPECT_EQ(lease(shard).size(), 1u);
}

// Counts what it does by what it reads: each host that is looked at has its URLs read.
TEST_F(HostShardGroups, ManyHostsOfOneDomainCostNoMoreThanTheFirst) {
  domains_.emplace(seconds(1));
  auto no_heads = grouped();
  no_heads.max_head_bytes = 0;
  HostShard shard(store_, no_heads);
  constexpr std::uint64_t kHosts = 2000;
  for (std::uint64_t n = 0; n < kHosts; ++n)
    admit(shard, 1, host_name(n));
  ASSERT_EQ(lease(shard).size(), 1u);
  std::size_t reads = 0;
  store_.on_read = [&](std::size_t) -> Result<void> {
    ++reads;
    return {};
  };
  for (std::uint64_t n = 1; n < kHosts; ++n) {
    EXPECT_EQ(shard.next_due(), now_ + seconds(1));
    EXPECT_THAT(lease(shard), IsEmpty());
    now_ += seconds(1);
    EXPECT_THAT(sequences(lease(shard)), ElementsAre(n));
  }
  EXPECT_LE(reads, 2 * kHosts);
}

TEST_F(HostShardGroups, AHostThatWaitsForItsAddressHoldsUpNobodyElseOfItsDomain) {
  domains_.emplace(seconds(1));
  addresses_.emplace(seconds(10));
  HostShard shard(store_, grouped());
  for (std::uint64_t n = 0; n < 4; ++n) {
    admit(shard, 2, host_name(n));
    EXPECT_TRUE(shard.lease(0, *std::make_unique<std::vector<NumberedLease>>()));
    set_address(shard, host_name(n), n < 2 ? "10.1" : "10.2");
  }
  // 0 and 1 share an address, 2 and 3 another.
  std::vector<std::uint64_t> order;
  for (int second = 0; second < 12; ++second) {
    for (const auto sequence : sequences(lease(shard)))
      order.push_back(sequence);
    now_ += seconds(1);
  }
  EXPECT_THAT(order, ElementsAre(0u, 4u, 2u, 6u));
}

TEST_F(HostShardGroups, F1_AHostIsNotStarvedByItsTwoGroupsInTurn) {
  domains_.emplace(milliseconds(10));
  addresses_.emplace(milliseconds(10));
  const std::vector<std::string> hosts = {"a.d.test", "b.d.test", "c.e.test"};
  // Behind the first address there are hosts of two domains.
  for (const milliseconds phase : {milliseconds(0), milliseconds(5)}) {
    SCOPED_TRACE(phase.count());
    now_ += seconds(1);
    store_.queues.clear();
    HostShard shard(store_, grouped());
    std::map<HostId, int> leases;
    const auto run = [&](milliseconds time) {
      for (const SteadyTime end = now_ + time; now_ < end; now_ += milliseconds(1)) {
        for (const auto& lease : lease(shard)) {
          ++leases[lease.url.host];
          complete(shard, lease);
        }
      }
    };
    admit(shard, 1100, hosts[1]);
    set_address(shard, hosts[1], "10.2");
    run(phase);
    admit(shard, 1100, hosts[2]);
    set_address(shard, hosts[2], "10.1");
    run(milliseconds(10));
    admit(shard, 1100, hosts[0]);
    set_address(shard, hosts[0], "10.1");
    leases.clear();
    run(seconds(10));
    for (const std::string& host : hosts)
      EXPECT_GE(leases[test::id_of(host)], 250) << host;
  }
}

// Two hosts of one domain and address have the domain's turns at the moments of the address's.
TEST_F(HostShardGroups, F1_AHostIsNotStarvedByADomainThatTakesItsAddressesTurns) {
  domains_.emplace(milliseconds(10));
  addresses_.emplace(milliseconds(10));
  HostShard shard(store_, grouped());
  std::map<HostId, int> leases;
  for (const char* host : {"a.d.test", "b.d.test", "c.e.test"}) {
    admit(shard, 1000, host);
    set_address(shard, host, "10.1");
  }
  for (int step = 0; step < 3000; ++step, now_ += milliseconds(1)) {
    for (const auto& lease : lease(shard)) {
      ++leases[lease.url.host];
      complete(shard, lease);
    }
  }
  EXPECT_EQ(leases.size(), 3u);
  for (const auto& [host, n] : leases)
    EXPECT_GE(n, 75);
}

// Random hosts with domains and addresses: none waits much longer than all that could be before it.
TEST_F(HostShardGroups, F1_NoHostOfManyGroupsIsStarved) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 10; ++run) {
    store_.queues.clear();
    domains_.emplace(milliseconds(100));
    addresses_.emplace(milliseconds(random() % 2 == 0 ? 100 : 70));
    HostShard shard(store_, grouped());
    constexpr std::uint64_t kHosts = 16;
    std::map<HostId, int> leases;
    for (std::uint64_t n = 0; n < kHosts; ++n) {
      const std::string host = host_name(n, "d" + std::to_string(random() % 4) + ".test");
      admit(shard, 600, host);
      set_address(shard, host, "10." + std::to_string(random() % 4));
      leases[test::id_of(host)] = 0;
    }
    // With at most 16 hosts before it, each held up by two delays.
    for (int step = 0; step < 6000; ++step, now_ += milliseconds(1 + random() % 20)) {
      for (const auto& lease : lease(shard, 1 + random() % 4)) {
        ++leases[lease.url.host];
        complete(shard, lease);
      }
    }
    for (const auto& [host, n] : leases)
      EXPECT_GE(n, 18);
  }
}

// Random hosts with domains and addresses: no two starts of a group are too close, and all URLs are
// leased in the end.
TEST_F(HostShardGroups, P1_NoGroupIsAskedTooSoonAndNoneIsForgotten) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int run = 0; run < 20; ++run) {
    store_.queues.clear();
    next_sequence_ = 0;
    const milliseconds domain_delay(random() % 3 * 700);
    const milliseconds address_delay(random() % 3 * 500);
    domains_.emplace(domain_delay);
    addresses_.emplace(address_delay);
    auto both = grouped(milliseconds(random() % 2 * 300));
    if (!domains_->enabled()) both.domains = nullptr;
    if (!addresses_->enabled()) both.addresses = nullptr;
    both.politeness.leases_per_host = 1 + random() % 2;
    both.lease_timeout = seconds(20);
    std::vector<std::unique_ptr<HostShard>> shards;
    for (int shard = 0; shard < 2; ++shard)
      shards.push_back(std::make_unique<HostShard>(store_, both));

    constexpr std::uint64_t kHosts = 40;
    std::map<HostId, std::uint64_t> host_of_id;
    std::map<std::uint64_t, std::string> addresses;
    std::map<std::uint64_t, SteadyTime> asked;  // hosts, at the address that they have
    std::map<std::string, SteadyTime> last_start;
    for (std::uint64_t n = 0; n < kHosts; ++n)
      host_of_id[test::id_of(host_name(n, "d" + std::to_string(n % 5) + ".test"))] = n;
    const auto check_start = [&](const std::string& group, milliseconds delay) {
      const auto [last, is_first] = last_start.try_emplace(group, now_);
      if (!is_first) {
        EXPECT_GE(now_ - last->second, delay) << group;
      }
      last->second = now_;
    };
    std::set<std::uint64_t> leased;
    std::vector<std::pair<int, NumberedLease>> open;
    std::uint64_t admitted = 0;
    for (int step = 0; step < 20'000 && (step < 500 || leased.size() < admitted); ++step) {
      if (step < 500 && random() % 3 == 0) {
        const std::uint64_t n = random() % kHosts;
        admit(*shards[n % 2], 1, host_name(n, "d" + std::to_string(n % 5) + ".test"));
        ++admitted;
      }
      if (step < 500 && random() % 10 == 0) {
        const std::uint64_t n = random() % kHosts;
        const std::string host = host_name(n, "d" + std::to_string(n % 5) + ".test");
        const std::string address = "10." + std::to_string(random() % 4);
        set_address(*shards[n % 2], host, address);
        if (std::exchange(addresses[n], address) != address) asked.erase(n);
      }
      const int shard = static_cast<int>(random() % 2);
      for (const NumberedLease& lease : lease(*shards[shard], 1 + random() % 5)) {
        const std::uint64_t n = host_of_id.at(lease.url.host);
        if (both.domains != nullptr) check_start("d" + std::to_string(n % 5), domain_delay);
        if (both.addresses != nullptr && addresses.contains(n)) {
          check_start(addresses[n], address_delay);
          asked[n] = now_;
        }
        EXPECT_TRUE(leased.insert(lease.url.order.sequence).second);
        open.emplace_back(shard, lease);
      }
      while (!open.empty() && random() % 2 == 0) {
        complete(*shards[open.back().first], open.back().second);
        open.pop_back();
      }
      // A host without URLs is forgotten, and its address with it, but not within the address's
      // delay.
      for (const auto& [id, n] : host_of_id) {
        if (shards[n % 2]->info(id)) continue;
        if (asked.contains(n)) {
          EXPECT_GE(now_ - asked[n], address_delay) << n;
        }
        addresses.erase(n);
        asked.erase(n);
      }
      now_ += milliseconds(random() % 200);
    }
    EXPECT_EQ(leased.size(), admitted);
  }
}

TEST_F(HostShardGroups, TheSameCallsGiveTheSameLeases) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> runs(2);
  for (auto& run : runs) {
    std::mt19937_64 random(seed);
    now_ = start_;
    store_.queues.clear();
    store_.host_records.clear();
    domains_.emplace(milliseconds(300));
    addresses_.emplace(milliseconds(200));
    auto both = grouped(milliseconds(100));
    both.max_head_bytes = 3000;
    both.seed = seed;
    HostShard shard(store_, both);
    std::vector<NumberedLease> open;
    for (std::uint64_t step = 0; step < 3000; ++step) {
      const std::uint64_t n = random() % 50;
      const std::string host = host_name(n, "d" + std::to_string(n % 7) + ".test");
      admit(shard, queued(step, static_cast<std::int32_t>(random() % 3), host));
      if (random() % 4 == 0) set_address(shard, host, std::to_string(random() % 5));
      for (const auto& lease : lease(shard, random() % 6)) {
        run.emplace_back(lease.number, lease.url.order.sequence);
        open.push_back(lease);
      }
      if (!open.empty() && random() % 3 > 0) {
        if (random() % 3 == 0) {
          EXPECT_TRUE(shard.begin_failure(open.back().number, FailureReason::kTimeout, {}, {}));
          commit_end(shard, open.back().url);
        } else {
          complete(shard, open.back());
        }
        open.pop_back();
      }
      now_ += milliseconds(random() % 100);
    }
    EXPECT_GT(run.size(), 500u);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

}  // namespace
}  // namespace trawl
