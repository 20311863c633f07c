// HostShard with ranges of hosts that come and go, the buckets of a shared frontier.
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/quota.h"
#include "frontier/schedule/host_shard.h"
#include "tests/frontier/fake_store.h"
#include "tests/frontier/host_shard_fixture.h"
#include "tests/frontier/host_shard_ranges_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::host_in;
using test::range_of;
using test::url_in;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class HostShardRanges : public test::HostShardFixture {
 protected:
  ShardOptions in_ranges(milliseconds delay = milliseconds(0), std::uint32_t leases_per_host = 1) {
    ShardOptions in_ranges = options(delay, leases_per_host);
    in_ranges.in_ranges = true;
    in_ranges.may_lease = [this](HostId id) { return !stopped_.contains(test::bucket_of(id)); };
    return in_ranges;
  }
  void put(std::uint64_t bucket, std::uint64_t host, std::uint64_t urls = 1) {
    for (std::uint64_t n = 0; n < urls; ++n)
      store_.put(url_in(bucket, host, next_in_[bucket]++));
  }
  void take(HostShard& shard, std::uint64_t bucket, std::optional<SteadyTime> since = {}) {
    const HostRange range = range_of(bucket);
    shard.begin_taking(range, since.value_or(now_));
    const auto from = store_.queues.lower_bound(range.first);
    for (auto it = from; it != store_.queues.upper_bound(range.last); ++it) {
      const auto record = store_.host(it->first);
      ASSERT_TRUE(record);
      shard.restore_host(it->first, *record);
    }
    shard.end_taking(range);
    for (auto it = from; it != store_.queues.upper_bound(range.last); ++it)
      shard.add_counted(it->first, it->second.size());
  }
  void admit_in(HostShard& shard, std::uint64_t bucket, std::uint64_t host) {
    admit(shard, url_in(bucket, host, next_in_[bucket]++));
  }
  // The buckets and hosts of leases.
  static std::vector<std::pair<std::uint64_t, std::uint64_t>> places(
      const std::vector<NumberedLease>& leases) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const auto& lease : leases)
      places.emplace_back(test::bucket_of(lease.url.host), lease.url.host & 0xFFFF);
    return places;
  }

  std::map<std::uint64_t, std::uint64_t> next_in_;  // sequences, by bucket
  std::set<std::uint64_t> stopped_;                 // buckets
};

TEST_F(HostShardRanges, HostsOfOtherRangesAreNotThere) {
  auto addressed = in_ranges();
  GroupRateLimiter addresses(milliseconds(100));
  addressed.addresses = &addresses;
  HostShard shard(store_, addressed);
  put(1, 1);
  put(2, 1);
  take(shard, 1);
  const HostId other = host_in(2, 1);
  const auto block = [](HostRecord& record) { record.max_leases = 1; };
  const auto changed = shard.change_host(other, "h1.b2.test", block);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(shard.revive_if_given_up(other).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(shard.start_elsewhere(other, "h1.b2.test", {}).error().code, ErrorCode::kUnavailable);
  shard.set_address(other, "192.0.2.1");
  EXPECT_EQ(shard.begin_drop(other).error().code, ErrorCode::kUnavailable);
  shard.end_drop(other);
  shard.restore_host(other, std::nullopt);
  shard.add_counted(other, 1);
  EXPECT_FALSE(shard.record_of(other));
  shard.push_saved(other);
  shard.push_admitted(url_in(2, 1, 7));
  shard.push_ended(other, 3);
  EXPECT_FALSE(shard.info(other));
  EXPECT_FALSE(shard.counts(other));
  EXPECT_THAT(places(lease(shard)), ElementsAre(std::pair(1, 1)));
  EXPECT_EQ(shard.stats().hosts, 1u);
  shard.forget_hosts(range_of(2));  // it has none
  EXPECT_EQ(shard.leased(), 1u);
}

TEST_F(HostShardRanges, P1_HostsOfATakenRangeRestForTheirDelay) {
  HostShard shard(store_, in_ranges(seconds(1)));
  put(1, 1, 3);
  take(shard, 1, now_ - seconds(5));
  EXPECT_THAT(places(lease(shard)), ElementsAre(std::pair(1, 1)));
  now_ += milliseconds(500);
  const SteadyTime since = now_;
  put(2, 1);
  put(2, 2);
  store_.host_records[host_in(2, 2)] = {.name = "h2.b2.test", .delay = seconds(3)};
  take(shard, 2);
  now_ = since + milliseconds(500);
  EXPECT_THAT(places(lease(shard)), IsEmpty()) << "one lease a host";
  now_ = since + milliseconds(999);
  admit_in(shard, 2, 3);  // its record may have been lost
  admit_in(shard, 1, 2);
  EXPECT_THAT(places(lease(shard)), ElementsAre(std::pair(1, 2)));
  EXPECT_EQ(shard.next_due(), since + seconds(1));
  now_ = since + seconds(1);
  EXPECT_THAT(places(lease(shard)), UnorderedElementsAre(std::pair(2, 1), std::pair(2, 3)));
  now_ = since + milliseconds(2999);
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ = since + seconds(3);
  EXPECT_THAT(places(lease(shard)), ElementsAre(std::pair(2, 2)));
  // On behalf of another host: as above.
  shard.forget_hosts(range_of(2));
  take(shard, 2);
  const auto turn = shard.start_elsewhere(host_in(2, 9), "h9.b2.test", {});
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->at, now_ + seconds(1));
}

TEST_F(HostShardRanges, P1_DomainsAndAddressesOfATakenRangeRestToo) {
  GroupRateLimiter domains(seconds(5));
  GroupRateLimiter addresses(seconds(7));
  auto grouped = in_ranges();
  grouped.domains = &domains;
  grouped.addresses = &addresses;
  HostShard shard(store_, grouped);
  put(1, 1);
  put(2, 1);
  const SteadyTime since = now_;
  take(shard, 1, since - seconds(5));
  take(shard, 2);
  EXPECT_THAT(places(lease(shard)), ElementsAre(std::pair(1, 1)));
  now_ = since + milliseconds(4999);
  admit_in(shard, 2, 2);
  EXPECT_THAT(lease(shard), IsEmpty());
  now_ = since + seconds(5);
  const auto leases = lease(shard);
  EXPECT_EQ(leases.size(), 1u) << "of one domain";
  // Its address becomes known.
  const auto turn = shard.start(leases.at(0).number, "192.0.2.1");
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->at, since + seconds(7));
}

TEST_F(HostShardRanges, LeasesOfAForgottenRangeHaveEnded) {
  Quota quota(10);
  auto limited = in_ranges(milliseconds(0), 3);
  limited.leases = &quota;
  limited.lease_timeout = seconds(10);
  HostShard shard(store_, limited);
  put(1, 1, 4);
  put(2, 1, 1);
  take(shard, 1);
  const auto expired = lease(shard, 1);
  now_ += seconds(10);
  take(shard, 2);
  std::vector<NumberedLease> open = lease(shard);  // one of an expired lease's URL again
  ASSERT_EQ(open.size(), 4u);
  std::erase_if(open, [](const auto& lease) { return test::bucket_of(lease.url.host) == 2; });
  begin(shard, open[0]);
  EXPECT_EQ(shard.leased_in(range_of(1)), 3u);
  EXPECT_EQ(shard.leased_in(range_of(2)), 1u);
  shard.forget_hosts(range_of(1));
  EXPECT_EQ(shard.leased_in(range_of(1)), 0u);
  EXPECT_EQ(shard.leased(), 1u);
  EXPECT_EQ(quota.take(100), 9u);
  quota.give_back(9);
  for (const auto& leases : {expired, open}) {
    for (const NumberedLease& lease : leases) {
      EXPECT_EQ(begin(shard, lease).end, LeaseEnd::kRepeated);
      const auto failure =
          shard.begin_failure(lease.number, FailureReason::kTimeout, std::nullopt, {});
      ASSERT_TRUE(failure);
      EXPECT_EQ(failure->lease.end, LeaseEnd::kRepeated);
      EXPECT_FALSE(failure->released);
      EXPECT_EQ(shard.release(lease.number, std::nullopt).error().code, ErrorCode::kNotFound);
      EXPECT_EQ(shard.renew(lease.number).error().code, ErrorCode::kNotFound);
      EXPECT_EQ(shard.start(lease.number, {}).error().code, ErrorCode::kNotFound);
      EXPECT_EQ(shard.open_record(lease.number).value(), "");
    }
  }
  EXPECT_EQ(shard.stats().hosts, 1u);
  EXPECT_EQ(shard.stats().leased_hosts, 1u);
  // It comes back, and all its URLs are leased once more.
  take(shard, 1);
  EXPECT_EQ(lease(shard).size(), 3u);
  EXPECT_EQ(begin(shard, open[0]).end, LeaseEnd::kRepeated);
  EXPECT_EQ(shard.leased(), 4u);
  EXPECT_EQ(quota.take(100), 6u);
  EXPECT_EQ(shard.counts(host_in(1, 1)).value().queued, 4u);
}

TEST_F(HostShardRanges, WhatWasPushedForAForgottenRangeIsDropped) {
  HostShard shard(store_, in_ranges());
  put(1, 1, 2);
  take(shard, 1);
  const auto leases = lease(shard);
  begin(shard, leases.at(0));
  admit_in(shard, 1, 2);
  admit_in(shard, 1, 1);
  shard.push_ended(leases[0].url.host, leases[0].url.order.sequence);
  EXPECT_TRUE(shard.record_of(host_in(1, 1)));
  shard.push_saved(host_in(1, 1));
  shard.forget_hosts(range_of(1));
  shard.push_ended(leases[0].url.host, leases[0].url.order.sequence);
  shard.push_saved(host_in(1, 1));
  shard.push_admitted(url_in(1, 5, 100));
  take(shard, 1);
  EXPECT_EQ(shard.stats().hosts, 2u);
  EXPECT_EQ(shard.counts(host_in(1, 1)).value().queued, 3u);
  EXPECT_EQ(shard.counts(host_in(1, 2)).value().queued, 1u);
  EXPECT_EQ(lease(shard).size(), 2u);
}

TEST_F(HostShardRanges, TheRecordsOfAForgottenRangeAreAnothersNow) {
  HostShard shard(store_, in_ranges());
  put(1, 1);
  take(shard, 1);
  const auto changed = shard.change_host(host_in(1, 1), "h1.b1.test",
                                         [](HostRecord& record) { record.given_up = true; });
  ASSERT_TRUE(changed);
  EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(shard.stats().given_up, 1u);
  shard.forget_hosts(range_of(1));
  EXPECT_EQ(shard.stats().given_up, 0u);
  EXPECT_FALSE(shard.record_of(host_in(1, 1), *changed));
  EXPECT_EQ(shard.stats().hosts, 0u);
  store_.host_records[host_in(1, 1)] = {.name = "h1.b1.test", .max_leases = 7};
  take(shard, 1);
  EXPECT_EQ(lease(shard).size(), 1u);
  // A change of the former time.
  const auto record = shard.record_of(host_in(1, 1), *changed);
  ASSERT_TRUE(record);
  EXPECT_FALSE(record->given_up);
  EXPECT_EQ(record->max_leases, 7u);
  shard.push_saved(host_in(1, 1));
}

// Its queue is restored after a call brought it into memory and had its record changed.
TEST_F(HostShardRanges, ACallWhileARangeIsRestoredIsNotLost) {
  HostShard shard(store_, in_ranges());
  put(1, 1);
  put(1, 2, 3);
  const HostRange range = range_of(1);
  shard.begin_taking(range, now_);
  shard.restore_host(host_in(1, 1), std::nullopt);
  const auto changed = shard.change_host(host_in(1, 2), "h2.b1.test",
                                         [](HostRecord& record) { record.remaining = 2; });
  ASSERT_TRUE(changed);
  commit_host(shard, host_in(1, 2));
  for (int n = 0; n < 3; ++n) {
    lease(shard);
    now_ += seconds(2);  // it must not be forgotten meanwhile
  }
  EXPECT_FALSE(shard.counts(host_in(1, 2)).value().is_exact);
  shard.restore_host(host_in(1, 2), std::nullopt, {.urls = {}, .whole = false});
  shard.end_taking(range);
  shard.add_counted(host_in(1, 1), 1);
  shard.add_counted(host_in(1, 2), 3);
  EXPECT_EQ(shard.counts(host_in(1, 2)).value().queued, 3u);
  for (int n = 0; n < 2; ++n) {
    const auto leases = lease(shard);
    ASSERT_EQ(leases.size(), 1u);
    EXPECT_EQ(leases[0].url.host, host_in(1, 2));
    complete(shard, leases[0]);
  }
  EXPECT_THAT(lease(shard), IsEmpty()) << "at its limit";
}

class HostShardRangeReads : public HostShardRanges,
                            public ::testing::WithParamInterface<std::tuple<bool, bool, bool>> {};

// What is read is of no use, and the hosts that have the numbers of the forgotten ones are not
// those that were read.
TEST_P(HostShardRangeReads, ARangeIsForgottenWhileItIsRead) {
  const auto [of_records, comes_back, fails] = GetParam();
  auto read = in_ranges(milliseconds(0), 10);
  HostShard* reading = nullptr;
  bool forgotten = false;
  const auto after_read = [&, comes_back = comes_back] {
    if (std::exchange(forgotten, true)) return;
    reading->forget_hosts(range_of(1));
    store_.queues.erase(host_in(1, 1));
    store_.host_records.clear();
    EXPECT_EQ(reading->stats().leased, 0u);
    put(1, 1);
    if (comes_back) take(*reading, 1);
  };
  (of_records ? read.after_record_read : read.after_read) = after_read;
  HostShard shard(store_, read);
  reading = &shard;
  put(2, 1);
  if (of_records) {
    take(shard, 1);
    take(shard, 2);
    store_.host_records[host_in(1, 1)] = {.name = "h1.b1.test", .given_up = true};
    admit_in(shard, 1, 1);
    admit_in(shard, 1, 2);
    admit_in(shard, 2, 2);
  } else {
    put(1, 1, 3);
    put(1, 2, 3);
    take(shard, 1);
    take(shard, 2);
  }
  const auto fail = [fails = fails]() -> Result<void> {
    if (fails) return error(ErrorCode::kUnavailable, "gone");
    return {};
  };
  store_.on_read = [&](std::size_t) { return forgotten || of_records ? Result<void>{} : fail(); };
  store_.on_host = [&](HostId) { return forgotten || !of_records ? Result<void>{} : fail(); };
  std::vector<NumberedLease> leases;
  for (int n = 0; n < 3; ++n) {
    const auto more = lease(shard);
    leases.insert(leases.end(), more.begin(), more.end());
  }
  EXPECT_TRUE(forgotten);
  std::vector<std::pair<int, int>> expected = {{2, 1}};
  if (of_records) expected.emplace_back(2, 2);
  std::map<HostId, std::size_t> of_hosts;
  for (const auto& lease : leases)
    ++of_hosts[lease.url.host];
  EXPECT_EQ(of_hosts[host_in(2, 1)], 1u);
  EXPECT_EQ(of_hosts[host_in(2, 2)], of_records ? 1u : 0u);
  EXPECT_EQ(of_hosts[host_in(1, 1)], comes_back ? 1u : 0u);
  const std::size_t of_second = of_records ? 1 : 3;  // they are in the store
  EXPECT_EQ(of_hosts[host_in(1, 2)], comes_back ? of_second : 0u);
  for (const auto& lease : leases)
    complete(shard, lease);
  now_ += seconds(5);
  lease(shard);
  shard.has_turn();
  now_ += seconds(5);
  shard.has_turn();
  EXPECT_EQ(shard.stats().hosts, 0u);
  EXPECT_EQ(shard.stats().leased, 0u);
}

INSTANTIATE_TEST_SUITE_P(, HostShardRangeReads,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool(),
                                            ::testing::Bool()));

// Given before a read, and handed out after it: another crawler may request that URL by then.
TEST_F(HostShardRanges, P1_LeasesOfARangeThatIsForgottenDuringAReadAreNotHandedOut) {
  for (const bool is_stopped : {false, true}) {
    SCOPED_TRACE(is_stopped);
    auto read = in_ranges();
    HostShard* reading = nullptr;
    int reads = 0;
    read.after_read = [&] {
      if (++reads != 2) return;
      if (is_stopped) {
        stopped_ = {1};
      } else {
        reading->forget_hosts(range_of(1));
      }
    };
    read.deterministic = true;  // one host after the other
    HostShard shard(store_, read);
    reading = &shard;
    store_.queues.clear();
    put(1, 1);
    put(2, 1);
    take(shard, 1);
    take(shard, 2);
    EXPECT_THAT(places(lease(shard)), ElementsAre(std::pair(2, 1)));
    EXPECT_EQ(shard.leased(), 1u);
    stopped_.clear();
    now_ += milliseconds(25);
    EXPECT_EQ(lease(shard).size(), is_stopped ? 1u : 0u) << "its URL was put back";
  }
}

TEST_F(HostShardRanges, HostsThatMayNotBeLeasedHoldUpNoOthers) {
  constexpr std::uint64_t kHosts = 5000;
  auto counted = in_ranges();
  std::size_t questions = 0;
  counted.may_lease = [&](HostId id) {
    ++questions;
    return !stopped_.contains(test::bucket_of(id));
  };
  HostShard shard(store_, counted);
  for (std::uint64_t host = 0; host < kHosts; ++host)
    put(1, host, 2);
  put(2, 1, 10);
  take(shard, 1);
  take(shard, 2);
  stopped_ = {1};
  std::size_t reads = 0;
  store_.on_read = [&reads](std::size_t) -> Result<void> {
    ++reads;
    return {};
  };
  EXPECT_EQ(lease(shard).size(), 1u);
  EXPECT_LE(reads, 1u) << "the store may be out of reach";
  EXPECT_LE(questions, kHosts + 10);
  for (int n = 0; n < 100; ++n) {
    EXPECT_FALSE(shard.has_turn());
    const auto due = shard.next_due();
    ASSERT_TRUE(due);
    ASSERT_GE(*due, now_ + milliseconds(20));
    ASSERT_LE(*due, now_ + milliseconds(50));
    now_ = *due;
    EXPECT_THAT(lease(shard), IsEmpty());
  }
  EXPECT_LE(questions, kHosts + 1000);
  EXPECT_EQ(shard.stats().leasable, kHosts + 1);
  stopped_.clear();
  now_ += milliseconds(25);
  std::size_t leased = 0;
  for (int n = 0; n < 10; ++n)
    leased += lease(shard).size();
  EXPECT_EQ(leased, kHosts);
  EXPECT_EQ(shard.next_due(), std::nullopt);
}

TEST_F(HostShardRanges, HostsWhoseUrlsCannotBeReadHoldUpNoOthers) {
  constexpr std::uint64_t kHosts = 3000;
  test::StoreInParts store(store_);
  HostShard shard(store, in_ranges(milliseconds(0), 1000));
  for (std::uint64_t host = 1; host <= kHosts; ++host)
    put(1, host);
  put(2, 1, 2);
  take(shard, 1);
  take(shard, 2);
  store.away = {1};
  admit_in(shard, 1, kHosts + 1);
  using Place = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_THAT(places(lease(shard)),
              UnorderedElementsAre(Place(2, 1), Place(2, 1), Place(1, kHosts + 1)))
      << "what is in memory is leased";
  const int asked = store.asked_in_vain;
  EXPECT_LT(asked, 100) << "the others are not asked for";
  EXPECT_GT(asked, 0);
  for (int i = 0; i < 10; ++i)
    EXPECT_THAT(lease(shard), IsEmpty());
  EXPECT_EQ(store.asked_in_vain, asked) << "not again at once";
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(shard.next_due());
    EXPECT_GT(*shard.next_due(), now_);
    now_ = *shard.next_due();
    EXPECT_THAT(lease(shard), IsEmpty());
    EXPECT_GT(store.asked_in_vain, asked + i);
    EXPECT_LT(store.asked_in_vain, asked * (i + 2) + 1);
  }
  EXPECT_EQ(shard.stats().waiting, kHosts) << "none is lost";
  store.away.clear();
  std::size_t leased = 0;
  for (int i = 0; i < 20 && leased < kHosts; ++i) {
    now_ = shard.next_due().value_or(now_);
    leased += lease(shard).size();
  }
  EXPECT_EQ(leased, kHosts);
}

TEST_F(HostShardRanges, AStoppedRangeIsForgottenAndComesBack) {
  HostShard shard(store_, in_ranges());
  for (std::uint64_t host = 0; host < 100; ++host)
    put(1, host);
  put(2, 1);
  take(shard, 1);
  take(shard, 2);
  stopped_ = {1};
  EXPECT_EQ(lease(shard).size(), 1u);
  shard.forget_hosts(range_of(1));
  EXPECT_EQ(shard.next_due(), std::nullopt);
  take(shard, 1);
  EXPECT_THAT(lease(shard), IsEmpty());
  stopped_.clear();
  now_ += milliseconds(25);
  EXPECT_EQ(lease(shard).size(), 100u);
}

// Hosts wait in line for a domain, or for an address that they share with others.
TEST_F(HostShardRanges, AForgottenRangeLeavesTheLinesOfItsGroups) {
  GroupRateLimiter domains(seconds(1));
  GroupRateLimiter addresses(seconds(2));
  auto grouped = in_ranges();
  grouped.domains = &domains;
  grouped.addresses = &addresses;
  HostShard shard(store_, grouped);
  for (std::uint64_t host = 0; host < 5; ++host)
    put(1, host);
  put(2, 1);
  take(shard, 1, now_ - seconds(5));
  take(shard, 2, now_ - seconds(5));
  for (std::uint64_t host = 0; host < 5; ++host)
    shard.set_address(host_in(1, host), "192.0.2.1");
  shard.set_address(host_in(2, 1), "192.0.2.1");
  std::size_t of_first = 0;
  while (of_first < 2) {
    for (const auto& [bucket, host] : places(lease(shard))) {
      ASSERT_EQ(bucket, 1u);
      ++of_first;
    }
    if (of_first < 2) now_ = shard.next_due().value();
  }
  shard.forget_hosts(range_of(1));
  EXPECT_EQ(shard.next_due(), now_ + seconds(2));
  now_ += seconds(2);
  EXPECT_THAT(places(lease(shard)), ElementsAre(std::pair(2, 1)));
  EXPECT_EQ(shard.stats().hosts, 1u);
}

class HostShardRangesAsleep : public HostShardRanges {
 protected:
  static constexpr std::size_t kAwake = 10;
  ShardOptions few_awake(milliseconds delay = milliseconds(0)) {
    auto few_awake = in_ranges(delay);
    few_awake.most_awake = kAwake;
    return few_awake;
  }
  void admit_many(HostShard& shard, std::uint64_t bucket, std::uint64_t hosts) {
    for (std::uint64_t host = 0; host < hosts; ++host)
      admit_in(shard, bucket, host);
  }
  std::size_t lease_all(HostShard& shard) {
    std::size_t leased = 0;
    for (int n = 0; n < 100; ++n) {
      for (const auto& lease : lease(shard)) {
        complete(shard, lease);
        ++leased;
      }
    }
    return leased;
  }
};

TEST_F(HostShardRangesAsleep, SleepingHostsAreForgottenToo) {
  HostShard shard(store_, few_awake());
  take(shard, 1);
  take(shard, 2);
  admit_many(shard, 1, 1000);
  admit_many(shard, 2, 100);
  EXPECT_EQ(shard.stats().hosts, 1100u);
  shard.forget_hosts(range_of(1));
  EXPECT_EQ(shard.stats().hosts, 100u);
  EXPECT_EQ(lease_all(shard), 100u);
  take(shard, 1);
  EXPECT_EQ(lease_all(shard), 1000u);
}

TEST_F(HostShardRangesAsleep, HostsThatMayNotBeLeasedDoNotWake) {
  HostShard shard(store_, few_awake());
  take(shard, 1);
  take(shard, 2);
  admit_many(shard, 2, kAwake);
  admit_many(shard, 1, 10'000);
  admit_many(shard, 2, 100);
  stopped_ = {1};
  std::size_t reads = 0;
  store_.on_host = [&reads](HostId id) -> Result<void> {
    if (test::bucket_of(id) == 1) ++reads;
    return {};
  };
  std::size_t leased = 0;
  for (int n = 0; n < 1000; ++n) {
    for (const auto& lease : lease(shard)) {
      EXPECT_EQ(test::bucket_of(lease.url.host), 2u);
      complete(shard, lease);
      ++leased;
    }
    if (leased == 100 + kAwake) break;
    now_ += milliseconds(1);
  }
  EXPECT_EQ(leased, 100 + kAwake);
  EXPECT_LE(reads, kAwake);
  lease(shard);
  const auto due = shard.next_due();
  ASSERT_TRUE(due);
  EXPECT_GT(*due, now_);
  stopped_.clear();
  now_ += milliseconds(50);
  for (int n = 0; n < 300; ++n)
    leased += lease_all(shard);
  EXPECT_EQ(leased, 10'100 + kAwake);
}

TEST_F(HostShardRangesAsleep, P1_NoneWakesBeforeItMayStart) {
  constexpr milliseconds kDelay(10'000);
  HostShard shard(store_, few_awake(kDelay));
  take(shard, 1);
  admit_many(shard, 1, 5000);
  std::size_t reads = 0;
  store_.on_host = [&reads](HostId) -> Result<void> {
    ++reads;
    return {};
  };
  const SteadyTime since = now_;
  for (; now_ < since + kDelay; now_ += milliseconds(100))
    EXPECT_TRUE(lease(shard).empty());
  EXPECT_LE(reads, kAwake);
  EXPECT_FALSE(lease(shard, 1).empty());
}

}  // namespace
}  // namespace trawl
