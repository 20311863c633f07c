// HostShard on a store that tests control: what is never leased twice, and when hosts are due.
#include "frontier/host_shard.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontier/fake_store.h"

namespace trawl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostShardTest : public ::testing::Test {
 protected:
  ShardOptions options(milliseconds delay, std::uint32_t leases_per_host = 1) {
    return {.delay = delay,
            .leases_per_host = leases_per_host,
            .max_leases = 1'000'000,
            .clock = [this] { return now_; },
            .restarted = std::nullopt,
            .first_lease = 1};
  }
  static QueuedUrl queued(std::uint64_t sequence, std::int32_t priority = 0,
                          const std::string& host = "a.test") {
    return {.host = host,
            .order = {.priority = priority, .sequence = sequence},
            .url = "http://" + host + "/" + std::to_string(sequence),
            .parent = "",
            .depth = 0,
            .redirects = 0};
  }
  // As the committer does: durable first, then told.
  void admit(HostShard& shard, const QueuedUrl& url) {
    store_.put(url);
    shard.push_admitted(url);
  }
  // The store has n URLs of a host, of which the shard is given the first, as on a restart. URLs
  // are numbered from 0 on, over all hosts.
  void restore(HostShard& shard, std::uint64_t n, std::uint64_t given,
               const std::string& host = "a.test") {
    std::vector<QueuedUrl> head;
    for (std::uint64_t i = 0; i < n; ++i) {
      const QueuedUrl url = queued(next_sequence_++, 0, host);
      store_.put(url);
      if (i < given) head.push_back(url);
    }
    shard.restore_queue(std::move(head), given < n);
  }
  static std::vector<NumberedLease> lease(HostShard& shard, std::size_t max = 1'000'000) {
    std::vector<NumberedLease> leases;
    EXPECT_TRUE(shard.lease(max, leases));
    return leases;
  }
  static std::vector<std::uint64_t> sequences(const std::vector<NumberedLease>& leases) {
    std::vector<std::uint64_t> sequences;
    for (const auto& lease : leases)
      sequences.push_back(lease.url.order.sequence);
    return sequences;
  }
  static NumberedLease lease_one(HostShard& shard) {
    const auto leases = lease(shard, 1);
    EXPECT_EQ(leases.size(), 1u);
    return leases.empty() ? NumberedLease{} : leases.front();
  }
  static void complete(HostShard& shard, const NumberedLease& lease, const Outcome& outcome = {}) {
    EXPECT_TRUE(shard.begin_completion(lease.number, outcome));
    shard.push_completed(lease.url.order.sequence);
  }
  // The shard's one host is due `wait` after `from`, and not a moment before.
  void expect_due(HostShard& shard, SteadyTime from, milliseconds wait) {
    now_ = from + wait - milliseconds(1);
    EXPECT_THAT(sequences(lease(shard, 1)), IsEmpty()) << "too early";
    EXPECT_EQ(shard.next_due(), from + wait);
    now_ = from + wait;
    EXPECT_EQ(lease(shard, 1).size(), 1u) << "too late";
  }

  test::FakeStore store_;
  const SteadyTime start_ = SteadyTime{} + hours(1);
  SteadyTime now_ = start_;
  std::uint64_t next_sequence_ = 0;
};

TEST_F(HostShardTest, AUrlLeasedBeforeOthersPushedItsNeighboursOutIsNotLeasedTwice) {
  HostShard shard(store_, options(milliseconds(0), 1000));
  admit(shard, queued(0));
  ASSERT_THAT(sequences(lease(shard)), ElementsAre(0u));
  for (std::uint64_t n = 1; n <= 70; ++n)
    admit(shard, queued(n, 1));
  admit(shard, queued(71));
  std::vector<std::uint64_t> expected;
  for (std::uint64_t n = 1; n <= 71; ++n)
    expected.push_back(n);
  EXPECT_EQ(sequences(lease(shard)), expected);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
}

// The committer writes to the store before it tells the shard.
TEST_F(HostShardTest, AUrlReadFromTheStoreBeforeItsAdmissionArrivesIsNotQueuedTwice) {
  HostShard shard(store_, options(milliseconds(0), 1000));
  restore(shard, 5, 4);
  for (const std::uint64_t n : {5u, 6u, 7u})
    store_.put(queued(n));
  // 5 is leased and 6 is being completed when their admissions arrive; 7 is queued.
  const auto leases = lease(shard, 7);
  ASSERT_THAT(sequences(leases), ElementsAre(0u, 1u, 2u, 3u, 4u, 5u, 6u));
  EXPECT_TRUE(shard.begin_completion(leases[6].number, {}));
  for (const std::uint64_t n : {5u, 6u, 7u})
    shard.push_admitted(queued(n));
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(7u));
  store_.queues["a.test"].erase(queued(6).order);
  shard.push_completed(6);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  EXPECT_EQ(shard.leased(), 7u);
}

TEST_F(HostShardTest, P1_ALoweredDelayHoldsFromTheRequestBefore) {
  HostShard shard(store_, options(milliseconds(0)));
  shard.set_delay("a.test", hours(1));
  restore(shard, 3, 3);
  complete(shard, lease_one(shard));
  shard.set_delay("a.test", seconds(1));
  expect_due(shard, start_, seconds(1));
}

TEST_F(HostShardTest, P1_TheLongerOfTheHostsOwnDelayAndTheCommonOneHolds) {
  HostShard shard(store_, options(seconds(2)));
  restore(shard, 3, 3);
  shard.set_delay("a.test", milliseconds(500));
  complete(shard, lease_one(shard));
  expect_due(shard, start_, seconds(2));
}

TEST_F(HostShardTest, P1_TwoLeasesOfOneCallAreNotTakenForOne) {
  HostShard shard(store_, options(milliseconds(0), 2));
  restore(shard, 3, 3);
  const auto leases = lease(shard);
  ASSERT_EQ(leases.size(), 2u);
  EXPECT_TRUE(shard.begin_completion(leases[0].number, {.requested = false}));
  shard.set_delay("a.test", seconds(1));
  now_ += milliseconds(999);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
}

TEST_F(HostShardTest, P1_AHostThatALoweredDelayMakesOverdueIsDueAtOnce) {
  HostShard shard(store_, options(milliseconds(0)));
  shard.set_delay("a.test", hours(1));
  restore(shard, 3, 3);
  complete(shard, lease_one(shard));
  now_ += seconds(10);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  shard.set_delay("a.test", seconds(1));
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(1u));
}

TEST_F(HostShardTest, P1_ARaisedDelayHoldsFromTheRequestBefore) {
  HostShard shard(store_, options(seconds(1)));
  restore(shard, 3, 3);
  complete(shard, lease_one(shard));
  shard.set_delay("a.test", hours(1));
  now_ = start_ + seconds(1);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  expect_due(shard, start_, hours(1));
}

TEST_F(HostShardTest, P1_TheDelayCountsFromTheEndOfASlowRead) {
  for (const std::uint32_t leases_per_host : {1u, 2u}) {
    SCOPED_TRACE(leases_per_host);
    now_ = start_;
    store_.on_read = {};
    HostShard shard(store_, options(milliseconds(1000), leases_per_host));
    restore(shard, 5, 1);
    complete(shard, lease_one(shard));
    store_.on_read = [this](std::size_t) { now_ += milliseconds(900); };
    now_ = start_ + milliseconds(1000);
    const auto second = lease_one(shard);
    const SteadyTime handed_out = now_;
    ASSERT_EQ(handed_out, start_ + milliseconds(1900));
    if (leases_per_host == 1) complete(shard, second);
    expect_due(shard, handed_out, milliseconds(1000));
  }
}

TEST_F(HostShardTest, P1_ALeaseWithoutARequestLeavesTheDelayOfTheOneBefore) {
  for (const bool released : {false, true}) {
    for (const bool undone_first : {false, true}) {
      SCOPED_TRACE(testing::Message() << "released " << released << ", first " << undone_first);
      now_ = start_;
      HostShard shard(store_, options(milliseconds(1000), 2));
      restore(shard, 5, 5);
      const auto a = lease_one(shard);
      now_ = start_ + milliseconds(1000);
      const auto b = lease_one(shard);
      const auto undo = [&] {
        if (released) {
          EXPECT_TRUE(shard.release(b.number, std::nullopt));
        } else {
          complete(shard, b, {.requested = false});
        }
      };
      if (undone_first) undo();
      complete(shard, a, {.started_after = milliseconds(900)});
      if (!undone_first) undo();
      EXPECT_THAT(sequences(lease(shard)), IsEmpty());
      expect_due(shard, start_ + milliseconds(900), milliseconds(1000));
    }
  }
}

TEST_F(HostShardTest, AReleaseUntilATimeHoldsWhateverTheDelayBecomes) {
  HostShard shard(store_, options(milliseconds(0)));
  shard.set_delay("a.test", seconds(60));
  restore(shard, 2, 2);
  EXPECT_TRUE(shard.release(lease_one(shard).number, start_ + seconds(120)));
  shard.set_delay("a.test", milliseconds(0));
  now_ = start_ + seconds(61);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  expect_due(shard, start_, seconds(120));
}

// Its delay was long when it was scheduled first.
TEST_F(HostShardTest, M1_AnIdleHostIsForgottenThoughItWasScheduledForLater) {
  HostShard shard(store_, options(milliseconds(0)));
  shard.set_delay("a.test", hours(1));
  restore(shard, 1, 1);
  complete(shard, lease_one(shard));
  store_.queues.clear();
  shard.set_delay("a.test", seconds(1));
  now_ = start_ + seconds(1);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  admit(shard, queued(1));
  complete(shard, lease_one(shard));
  store_.queues.clear();
  now_ = start_ + seconds(2);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  now_ = start_ + hours(1);
  EXPECT_THAT(sequences(lease(shard)), IsEmpty());
  EXPECT_EQ(shard.hosts(), 0u);
}

TEST_F(HostShardTest, M1_WithVeryManyHostsFewUrlsOfEachAreInMemory) {
  constexpr std::size_t kHosts = 20'001;
  constexpr std::size_t kBig = 100;  // every so manieth host has more than is restored
  constexpr std::uint64_t kUrls = 10;
  std::set<std::size_t> limits;
  store_.on_read = [&](std::size_t limit) { limits.insert(limit); };
  HostShard shard(store_, options(milliseconds(0), 1000));
  std::size_t expected = 0;
  for (std::size_t host = 0; host < kHosts; ++host) {
    const bool big = host % kBig == 0;
    restore(shard, big ? kUrls : 1, big ? HostShard::kRestoredHead : 1,
            "host" + std::to_string(host) + ".test");
    expected += big ? kUrls : 1;
  }
  for (std::uint64_t n = 0; n < kUrls; ++n)
    admit(shard, queued(next_sequence_ + n, 0, "new.test"));
  expected += kUrls;
  EXPECT_EQ(lease(shard).size(), expected);
  EXPECT_EQ(limits, std::set<std::size_t>{4});
}

// A host has as many URLs in memory as are leased without another look at the store.
TEST_F(HostShardTest, M1_ANewHostAmongVeryManyKeepsFewUrlsInMemory) {
  HostShard shard(store_, options(milliseconds(0), 1000));
  for (std::size_t host = 0; host < 20'001; ++host) {
    const std::string name = "host" + std::to_string(host) + ".test";
    restore(shard, 1, 1, name);
    shard.set_delay(name, hours(1));
  }
  ASSERT_EQ(lease(shard).size(), 20'001u);
  for (std::uint64_t n = 0; n < 10; ++n)
    admit(shard, queued(next_sequence_ + n, 0, "new.test"));
  std::size_t reads = 0;
  store_.on_read = [&](std::size_t) { ++reads; };
  EXPECT_EQ(lease(shard, 4).size(), 4u);
  EXPECT_EQ(reads, 0u);
  EXPECT_EQ(lease(shard, 1).size(), 1u);
  EXPECT_EQ(reads, 1u);
}

TEST_F(HostShardTest, WithFewHostsMoreUrlsAreReadAtOnce) {
  std::vector<std::size_t> limits;
  store_.on_read = [&](std::size_t limit) { limits.push_back(limit); };
  HostShard shard(store_, options(milliseconds(0), 1000));
  restore(shard, 100, HostShard::kRestoredHead);
  EXPECT_EQ(lease(shard).size(), 100u);
  EXPECT_EQ(limits.size(), 2u);
  EXPECT_THAT(limits, Each(64u));
}

}  // namespace
}  // namespace trawl
