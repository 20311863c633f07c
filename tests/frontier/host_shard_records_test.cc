// HostShard on a real store, whose host records are read while they change, are committed, and
// while their hosts come into memory and are forgotten.
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frontier/schedule/host_shard.h"
#include "tests/frontier/host_shard_fixture.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::name_of;
using test::open_store;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kRecordLimit = 1'000'000;

ShardOptions options_of_records(std::size_t most_awake) {
  ShardOptions options;
  options.politeness.delay = milliseconds(0);
  options.politeness.leases_per_host = 2;
  options.lease_timeout = milliseconds(0);
  options.most_awake = most_awake;
  options.clock = [] { return std::chrono::steady_clock::now(); };
  options.wall_clock = [] { return std::chrono::system_clock::now(); };
  return options;
}

// A change that shows if it is lost, as the limit does that each completion lowers.
void count_change(HostRecord& record) {
  record.max_leases = record.max_leases.value_or(1) + 1;
  if (!record.remaining) record.remaining = kRecordLimit;
}

// What is committed together: an operation of the frontier.
struct Commit {
  HostId host = 0;
  std::optional<QueuedUrl> admitted = std::nullopt;
  std::optional<QueuedUrl> ended = std::nullopt;
  std::optional<std::uint64_t> change = std::nullopt;  // of the host's record
};

// As the committer does, in three steps.
void prepare(HostShard& shard, const Commit& commit, Store::Batch& batch) {
  if (commit.admitted)
    batch.add_pending(commit.host, commit.admitted->order, commit.admitted->record);
  if (commit.ended) batch.remove_pending(commit.host, commit.ended->order);
  if (!commit.change) return;
  const auto record = shard.record_of(commit.host, *commit.change);
  if (!record) return;
  if (record->is_default() && !record->answered) {
    batch.remove_host(commit.host);
  } else {
    batch.set_host(commit.host, *record);
  }
}
void push(HostShard& shard, const Commit& commit) {
  if (commit.admitted) shard.push_admitted(*commit.admitted);
  if (commit.change) shard.push_saved(commit.host);
  if (commit.ended) shard.push_ended(commit.host, commit.ended->order.sequence);
}

// Random calls, of which some are made while a read is under way. Counts changes that were lost.
class RecordsRun {
 public:
  RecordsRun(const test::TemporaryDirectory& directory, std::uint64_t seed, bool forget)
      : random_(seed), store_(open_store(directory)), shard_(*store_, options(forget)) {}

  int run(int steps) {
    for (int step = 0; step < steps; ++step)
      take_step(true);
    calm_ = true;
    for (int round = 0; round < 500; ++round) {
      advance_committer();
      lease(10);
      complete();
    }
    for (std::uint64_t host = 0; host < kHosts; ++host) {
      if (changes_[host] == 0) continue;
      const auto record = store_->host(test::id_of(name_of(host))).value();
      if (!record || record->max_leases != 1 + changes_[host] ||
          record->remaining != kRecordLimit - completed_[host])
        ++errors_;
    }
    EXPECT_THAT(waiting_, IsEmpty());
    return errors_;
  }

 private:
  static constexpr std::uint64_t kHosts = 3;

  ShardOptions options(bool forget) {
    auto options = options_of_records(below(2) == 0 ? 1 : 1000);
    options.forget_uncommitted = forget;
    options.clock = [this] { return now_; };
    options.after_record_read = [this] {
      for (std::uint32_t n = calm_ ? 0 : below(5); n > 0; --n)
        take_step(false);
    };
    return options;
  }

  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(random_() % n); }

  // Calls that read the store would wait for the read that is under way, in the same thread.
  void take_step(bool may_read) {
    now_ += milliseconds(below(20) == 0 ? 2000 : 1);
    const std::uint64_t host = below(kHosts);
    switch (below(9)) {
      case 0:
        return offer(host);
      case 1:
      case 2:
        return advance_committer();
      case 3:
        return complete();
      case 4:
        return may_read ? change(host) : shard_.take_inbox();
      case 5:
        if (may_read) check(host);
        return;
      default:
        if (may_read) lease(1 + below(3));
    }
  }

  void offer(std::uint64_t host) {
    const QueuedUrl url = test::queued_url(next_sequence_++, 0, name_of(host));
    waiting_.push_back({.host = url.host, .admitted = url});
  }

  void change(std::uint64_t host) {
    const HostId id = test::id_of(name_of(host));
    const auto number = shard_.change_host(id, name_of(host), count_change);
    ASSERT_TRUE(number);
    ++changes_[host];
    waiting_.push_back({.host = id, .change = *number});
  }

  void lease(std::size_t max) { ASSERT_TRUE(shard_.lease(max, open_)); }

  void complete() {
    if (open_.empty()) return;
    const std::size_t n = below(open_.size());
    const NumberedLease lease = open_[n];
    open_.erase(open_.begin() + n);
    const auto ended = shard_.begin_completion(lease.number, {.status = 200});
    ASSERT_TRUE(ended);
    for (std::uint64_t host = 0; host < kHosts; ++host) {
      if (lease.url.host == test::id_of(name_of(host)) && changes_[host] > 0) ++completed_[host];
    }
    waiting_.push_back(
        {.host = lease.url.host,
         .ended = lease.url,
         .change = ended->host_changed ? std::optional(ended->host_change) : std::nullopt});
  }

  void advance_committer() {
    if (group_.empty()) {
      batch_.clear();
      is_written_ = false;
      for (std::uint32_t n = 1 + below(3); n > 0 && !waiting_.empty(); --n) {
        group_.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
        prepare(shard_, group_.back(), batch_);
      }
    } else if (!is_written_) {
      ASSERT_TRUE(store_->write(batch_));
      is_written_ = true;
    } else {
      for (const Commit& commit : group_)
        push(shard_, commit);
      group_.clear();
    }
  }

  // The record in memory, if the host is there.
  void check(std::uint64_t host) {
    const auto info = shard_.info(test::id_of(name_of(host)));
    if (!info || changes_[host] == 0) return;
    if (info->settings.leases != 1 + changes_[host] ||
        info->settings.limit != kRecordLimit - completed_[host])
      ++errors_;
  }

  std::mt19937_64 random_;
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  bool calm_ = false;
  int errors_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::map<std::uint64_t, std::uint32_t> changes_;    // by host
  std::map<std::uint64_t, std::uint64_t> completed_;  // since the first change
  std::vector<NumberedLease> open_;
  std::deque<Commit> waiting_;  // to be committed
  std::vector<Commit> group_;   // is being committed
  Store::Batch batch_;
  bool is_written_ = false;
  std::unique_ptr<Store> store_;
  HostShard shard_;
};

TEST(HostShardRecords, NoChangeIsLostThoughHostsComeAndGo) {
  EXPECT_EQ(test::errors_of_runs<RecordsRun>(false, 600), 0);
}

TEST(HostShardRecords, ChangesAreLostIfHostsAreForgottenBeforeTheyAreDurable) {
  EXPECT_GT(test::errors_of_runs<RecordsRun>(true, 600), 0);
}

// Threads that lease, change and look at hosts, and a committer. Reads are slow.
void race_for_records(std::size_t most_awake) {
  constexpr std::uint64_t kHosts = 30;
  constexpr std::uint64_t kUrls = 6'000;
  const test::TemporaryDirectory directory;
  const auto store = open_store(directory);
  auto options = options_of_records(most_awake);
  std::atomic<std::uint32_t> reads{0};
  std::atomic<std::int64_t> skipped{0};  // seconds, so that hosts are forgotten early
  options.clock = [&] {
    return std::chrono::steady_clock::now() + std::chrono::seconds(skipped.load());
  };
  options.after_record_read = [&reads] {
    std::this_thread::sleep_for(std::chrono::microseconds(reads++ % 5 * 50));
  };
  HostShard shard(*store, options);
  // All hosts have records from the beginning, so that each completion changes them.
  for (std::uint64_t host = 0; host < kHosts; ++host) {
    HostRecord record{.name = name_of(host)};
    count_change(record);
    Store::Batch batch;
    batch.set_host(test::id_of(name_of(host)), record);
    ASSERT_TRUE(store->write(batch));
  }

  std::mutex mutex;
  std::vector<Commit> waiting;
  std::map<HostId, std::uint32_t> changes;
  std::map<HostId, std::uint64_t> completed;
  std::atomic<bool> done{false};
  std::thread committer([&] {
    std::mt19937 random(7);
    std::uint64_t next = 0;
    for (std::uint64_t ended = 0; ended < kUrls;) {
      std::vector<Commit> group;
      {
        const std::lock_guard lock(mutex);
        group.swap(waiting);
      }
      for (std::uint32_t n = random() % 10; n > 0 && next < kUrls; --n, ++next) {
        const QueuedUrl url = test::queued_url(next, 0, name_of(random() % kHosts));
        group.push_back({.host = url.host, .admitted = url});
      }
      Store::Batch batch;
      for (const Commit& commit : group)
        prepare(shard, commit, batch);
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
      ASSERT_TRUE(store->write(batch));
      for (const Commit& commit : group) {
        push(shard, commit);
        ended += commit.ended ? 1 : 0;
      }
      shard.relieve_inbox();
      skipped += 2;
    }
    done = true;
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&] {
      while (!done) {
        std::vector<NumberedLease> leases;
        EXPECT_TRUE(shard.lease(4, leases));
        if (leases.empty()) std::this_thread::yield();
        for (const NumberedLease& lease : leases) {
          const auto ended = shard.begin_completion(lease.number, {.status = 200});
          ASSERT_TRUE(ended);
          EXPECT_TRUE(ended->host_changed);
          const std::lock_guard lock(mutex);
          ++completed[lease.url.host];
          waiting.push_back(
              {.host = lease.url.host, .ended = lease.url, .change = ended->host_change});
        }
      }
    });
  }
  threads.emplace_back([&] {
    std::mt19937 random(8);
    while (!done) {
      const std::uint64_t host = random() % kHosts;
      const HostId id = test::id_of(name_of(host));
      const auto number = shard.change_host(id, name_of(host), count_change);
      ASSERT_TRUE(number);
      {
        const std::lock_guard lock(mutex);
        ++changes[id];
        waiting.push_back({.host = id, .change = *number});
      }
      (void)shard.counts(test::id_of(name_of(random() % kHosts)));
      (void)shard.info(test::id_of(name_of(random() % kHosts)));
      (void)shard.stats();
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  committer.join();
  for (auto& thread : threads)
    thread.join();
  // What was changed last.
  Store::Batch rest;
  for (const Commit& commit : waiting)
    prepare(shard, commit, rest);
  ASSERT_TRUE(store->write(rest));
  for (std::uint64_t host = 0; host < kHosts; ++host) {
    const HostId id = test::id_of(name_of(host));
    const auto record = store->host(id).value();
    ASSERT_TRUE(record);
    EXPECT_EQ(record->max_leases, 2 + changes[id]) << host;
    EXPECT_EQ(record->remaining, kRecordLimit - completed[id]) << host;
  }
  EXPECT_GT(reads, 200u);
}

TEST(HostShardRecords, NoChangeIsLostThoughThreadsRace) {
  race_for_records(ShardOptions().most_awake);
}

TEST(HostShardRecords, TheSameIfMostHostsSleep) {
  race_for_records(5);
}

class HostShardRecordsTest : public test::HostShardFixture {
 protected:
  // In debug builds a thread that locks the mutex twice fails; in others it would wait forever.
  void look_at_each_read(HostShard& shard) {
    store_.on_host = [&](HostId) -> Result<void> {
      ++reads_;
      EXPECT_TRUE(shard.next_due());
      EXPECT_EQ(shard.stats().leased, 0u);
      return {};
    };
  }
  int reads_ = 0;
};

TEST_F(HostShardRecordsTest, NoLockIsHeldOverARead) {
  GroupRateLimiter addresses(milliseconds(1));
  auto with_addresses = options(milliseconds(0));
  with_addresses.addresses = &addresses;
  HostShard shard(store_, with_addresses);
  look_at_each_read(shard);
  const auto expect_reads = [this](int n, const char* by) {
    EXPECT_EQ(std::exchange(reads_, 0), n) << by;
  };
  admit(shard, 2, "a.test");
  admit(shard, 1, "b.test");
  shard.take_inbox();
  EXPECT_FALSE(shard.record_of(test::id_of("a.test"))) << "what is stored is right";
  shard.push_saved(test::id_of("a.test"));
  shard.relieve_inbox();
  expect_reads(0, "the committer");
  ASSERT_TRUE(shard.info(test::id_of("a.test")));
  expect_reads(1, "info()");
  ASSERT_TRUE(shard.counts(test::id_of("b.test")));
  expect_reads(1, "counts()");
  admit(shard, 1, "c.test");
  const auto c = lease(shard, 3);
  ASSERT_THAT(c, SizeIs(3));
  expect_reads(1, "lease()");
  for (const auto& lease : c)
    complete(shard, lease);
  expect_reads(0, "known hosts");
  ASSERT_TRUE(shard.change_host(test::id_of("d.test"), "d.test",
                                [](HostRecord& record) { record.given_up = true; }));
  expect_reads(1, "change_host()");
  ASSERT_TRUE(shard.revive_if_given_up(test::id_of("e.test")));
  expect_reads(1, "revive_if_given_up()");
  ASSERT_TRUE(shard.start_elsewhere(test::id_of("f.test"), "f.test", "10.0.0.1"));
  expect_reads(1, "start_elsewhere()");
  shard.set_address(test::id_of("g.test"), "10.0.0.2");
  expect_reads(1, "set_address()");
  EXPECT_TRUE(shard.begin_drop(test::id_of("h.test")));
  shard.end_drop(test::id_of("h.test"));
  expect_reads(1, "begin_drop()");
  now_ += std::chrono::hours(1);
  EXPECT_THAT(lease(shard), SizeIs(1));
  expect_reads(0, "hosts that are forgotten");
}

// First those that the shard knows.
TEST_F(HostShardRecordsTest, ManyHostsThatArriveAreReadInPartsWhileOthersAreDue) {
  HostShard shard(store_, options(milliseconds(0), 100));
  admit(shard, 1, "known.test");
  complete(shard, lease_one(shard));
  for (int host = 0; host < 2'000; ++host)
    admit(shard, 1, name_of(static_cast<std::uint64_t>(host)));
  admit(shard, 50, "known.test");
  int reads = 0;
  store_.on_host = [&](HostId) -> Result<void> {
    ++reads;
    return {};
  };
  EXPECT_THAT(lease(shard, 1), SizeIs(1));
  EXPECT_LE(reads, 1024);
  EXPECT_EQ(shard.stats().leasable, 2'001u);
  // But one that finds nothing else goes on.
  for (int host = 0; host < 2'000; ++host) {
    HostRecord record;
    record.given_up = true;
    store_.host_records[test::id_of(name_of(static_cast<std::uint64_t>(host)))] = record;
  }
  while (!lease(shard, 100).empty()) {
  }
  EXPECT_EQ(reads, 2'000);
  EXPECT_FALSE(shard.has_turn());
}

TEST_F(HostShardRecordsTest, AHostStaysUntilItsRecordIsDurable) {
  HostShard shard(store_, options(milliseconds(0)));
  const HostId id = test::id_of("a.test");
  ASSERT_TRUE(shard.change_host(id, "a.test", count_change));
  const auto forget = [&] {
    now_ += std::chrono::seconds(2);
    EXPECT_THAT(lease(shard), IsEmpty());
    return shard.stats().hosts == 0;
  };
  EXPECT_FALSE(forget()) << "nobody asked for its record";
  store_.host_records[id] = shard.record_of(id).value();
  EXPECT_FALSE(forget());
  shard.push_saved(id);
  EXPECT_TRUE(forget());
  EXPECT_FALSE(shard.record_of(id));
  shard.push_saved(id);
  // What was asked for before counts, though the host was forgotten in between.
  EXPECT_FALSE(shard.record_of(id));
  ASSERT_TRUE(shard.change_host(id, "a.test", count_change));
  store_.host_records[id] = shard.record_of(id).value();
  shard.push_saved(id);
  EXPECT_FALSE(forget());
  shard.push_saved(id);
  EXPECT_TRUE(forget());
}

}  // namespace
}  // namespace trawl
