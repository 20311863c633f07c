// HostShard on a real store, whose queues are read while URLs are queued, leased, ended and
// dropped.
#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
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
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ShardOptions shard_options(std::uint64_t max_head_bytes, std::uint32_t leases_per_host) {
  ShardOptions options;
  options.politeness.delay = milliseconds(0);
  options.politeness.leases_per_host = leases_per_host;
  options.lease_timeout = milliseconds(0);
  options.max_head_bytes = max_head_bytes;
  options.clock = [] { return std::chrono::steady_clock::now(); };
  options.wall_clock = [] { return std::chrono::system_clock::now(); };
  return options;
}

using Forget = std::function<void(HeadReads::Changes&)>;

// Random calls, of which some are made while a read is under way, between its view of the store and
// its end. Counts URLs that were leased twice, or after their end, or out of turn, or never.
class ReadsRun {
 public:
  ReadsRun(const test::TemporaryDirectory& directory, std::uint64_t seed, const Forget& forget)
      : random_(seed), store_(open_store(directory)), shard_(*store_, options(forget)) {
    // As after a restart: the whole queues are in the store.
    for (std::uint64_t host = 0; host < kHosts; ++host) {
      for (int n = 0; n < 20; ++n)
        write(host);
    }
    for (std::uint64_t host = 0; host < kHosts; ++host) {
      shard_.restore_host(test::id_of(name_of(host)), std::nullopt);
      shard_.add_counted(test::id_of(name_of(host)), 20);
    }
    for (Url& url : urls_)
      url.pushed = true;
    pushes_.clear();
  }

  // Returns the number of errors.
  int run(int steps) {
    for (int step = 0; step < steps; ++step)
      take_step(true);
    // The rest, in turn.
    calm_ = true;
    for (int rounds = 0; rounds < 1000; ++rounds) {
      end_drops();
      push(pushes_.size());
      lease(1000);
      while (!open_.empty())
        complete();
      commit_ends(ending_.size());
    }
    for (const Url& url : urls_) {
      if (url.state == State::kWaiting) note("lost");
    }
    return errors_;
  }

 private:
  static constexpr std::uint64_t kHosts = 3;
  enum class State { kWaiting, kOpen, kEnding, kGone };
  struct Url {
    QueuedUrl url;
    std::uint64_t host;
    State state = State::kWaiting;
    bool pushed = false;  // the shard knows that it is in the store
  };

  ShardOptions options(const Forget& forget) {
    auto options = shard_options(below(2) == 0 ? below(3'000) : 100'000, 1 + below(3));
    // Of three hosts, so that others sleep.
    few_awake_ = below(2) == 0;
    if (few_awake_) options.most_awake = 1;
    options.forget_changes = forget;
    // Not after reads of records: a drop would wait for these, in the same thread.
    options.after_read = [this] {
      if (calm_) return;
      for (std::uint32_t n = below(6); n > 0; --n)
        take_step(false);
    };
    return options;
  }

  std::uint32_t below(std::uint64_t n) { return static_cast<std::uint32_t>(random_() % n); }
  void note(const char*) { ++errors_; }

  void take_step(bool may_lease) {
    switch (below(8)) {
      case 0:
        for (std::uint32_t n = 1 + below(4); n > 0; --n)
          write(below(kHosts));
        return;
      case 1:
        return push(below(4));
      case 2:
      case 3:
        return complete();
      case 4:
        return commit_ends(below(4));
      case 5:
        return below(4) == 0 ? begin_drop(below(kHosts)) : release();
      default:
        // A second thread would wait for the read that is under way.
        if (!may_lease) return;
        end_drops();
        return lease(1 + below(3));
    }
  }

  void write(std::uint64_t host) {
    QueuedUrl url =
        test::queued_url(urls_.size(), static_cast<std::int32_t>(below(3)), name_of(host));
    Store::Batch batch;
    batch.add_pending(url.host, url.order, url.record);
    ASSERT_TRUE(store_->write(batch));
    pushes_.push_back([this, n = urls_.size()] {
      urls_[n].pushed = true;
      shard_.push_admitted(urls_[n].url);
    });
    urls_.push_back({.url = std::move(url), .host = host});
  }

  // Passes the next commits to the shard.
  void push(std::size_t n) {
    for (; n > 0 && !pushes_.empty(); --n, pushes_.pop_front())
      pushes_.front()();
    shard_.take_inbox();
  }

  void complete() {
    if (open_.empty()) return;
    const auto lease = open_[below(open_.size())];
    std::erase(open_, lease);
    // A host that answers has a record to be stored, and does not sleep.
    if (!shard_.begin_completion(lease.first, {.status = few_awake_ ? 0 : 200}))
      return note("not given");
    urls_[lease.second].state = State::kEnding;
    ending_.push_back(lease.second);
  }

  void release() {
    if (open_.empty()) return;
    const auto lease = open_[below(open_.size())];
    std::erase(open_, lease);
    if (!shard_.release(lease.first, std::nullopt)) return note("not given");
    urls_[lease.second].state = State::kWaiting;
  }

  void commit_ends(std::size_t most) {
    for (; most > 0 && !ending_.empty(); --most, ending_.pop_front()) {
      Url& url = urls_[ending_.front()];
      Store::Batch batch;
      batch.remove_pending(url.url.host, url.url.order);
      ASSERT_TRUE(store_->write(batch));
      url.state = State::kGone;
      pushes_.push_back([this, n = ending_.front()] {
        shard_.push_ended(urls_[n].url.host, urls_[n].url.order.sequence);
      });
    }
  }

  // As frontier_hosts.cc and the committer do.
  void begin_drop(std::uint64_t host) {
    if (drops_.contains(host)) return;
    const HostId id = test::id_of(name_of(host));
    static_cast<void>(shard_.begin_drop(id));
    Store::Batch batch;
    for (Url& url : urls_) {
      if (url.host != host || url.state != State::kWaiting ||
          shard_.is_leased(id, url.url.order.sequence))
        continue;
      batch.remove_pending(id, url.url.order);
      url.state = State::kGone;
      ++drops_[host];
    }
    ASSERT_TRUE(store_->write(batch));
    drops_.try_emplace(host, 0);
  }
  void end_drops() {
    // What was committed before was pushed before.
    if (!drops_.empty()) push(pushes_.size());
    for (const auto& [host, dropped] : std::exchange(drops_, {}))
      shard_.end_drop(test::id_of(name_of(host)), dropped);
  }

  void lease(std::size_t max) {
    std::map<std::uint64_t, std::set<QueueOrder>> known;  // by host: what the shard knows now
    for (const Url& url : urls_) {
      if (url.state == State::kWaiting && url.pushed) known[url.host].insert(url.url.order);
    }
    std::vector<NumberedLease> leases;
    if (!shard_.lease(max, leases)) return note("failed");
    for (const NumberedLease& lease : leases) {
      const std::uint64_t n = lease.url.order.sequence;
      Url& url = urls_.at(n);
      if (std::exchange(url.state, State::kOpen) != State::kWaiting) note("leased again");
      if (lease.url.record != url.url.record) note("another record");
      auto& before = known[url.host];
      before.erase(url.url.order);
      // Meanwhile some may have been dropped.
      std::erase_if(before, [&](const QueueOrder& order) {
        return urls_[order.sequence].state == State::kGone;
      });
      if (!before.empty() && *before.begin() < url.url.order) note("out of turn");
      open_.emplace_back(lease.number, n);
    }
  }

  std::mt19937_64 random_;
  int errors_ = 0;
  bool calm_ = false;
  bool few_awake_ = false;
  std::vector<Url> urls_;  // by sequence
  std::deque<std::function<void()>> pushes_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> open_;  // lease, URL
  std::deque<std::uint64_t> ending_;
  std::map<std::uint64_t, std::uint64_t> drops_;
  std::unique_ptr<Store> store_;
  HostShard shard_;
};

int errors_of_reads(const Forget& forget) {
  return test::errors_of_runs<ReadsRun>(forget, 400);
}

TEST(HostShardReads, N1_A1_WhatChangesDuringAReadIsNeitherLostNorLeasedTwice) {
  EXPECT_EQ(errors_of_reads(nullptr), 0);
}

// Each of the three is needed.
TEST(HostShardReads, WithoutNotesOfWhatChangesUrlsAreLostOrLeasedTwice) {
  EXPECT_GT(errors_of_reads([](auto& changes) { changes.dropped = false; }), 0);
  EXPECT_GT(errors_of_reads([](auto& changes) { changes.first_added.reset(); }), 0);
  EXPECT_GT(errors_of_reads([](auto& changes) { changes.ended.clear(); }), 0);
}

// Threads that lease, a committer, and one that drops queues, on one shard. Reads are slow.
void race(std::size_t most_awake, const Outcome& outcome) {
  constexpr std::uint64_t kHosts = 40;
  constexpr std::uint64_t kUrls = 12'000;
  const test::TemporaryDirectory directory;
  const auto store = open_store(directory);
  auto options = shard_options(4'000, 2);
  options.most_awake = most_awake;
  std::atomic<std::uint32_t> reads{0};
  options.after_read = [&reads] {
    std::this_thread::sleep_for(std::chrono::microseconds(reads++ % 5 * 50));
  };
  HostShard shard(*store, options);

  std::mutex mutex;
  std::deque<QueuedUrl> ended;
  std::map<HostId, std::vector<std::pair<std::uint64_t, QueueOrder>>> leased;  // number, place
  std::deque<std::pair<HostId, std::atomic<std::uint64_t>*>> drops;
  std::set<std::uint64_t> gone;  // dropped or ended
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> dropped_in_all{0};
  std::mt19937 random(7);

  std::thread committer([&] {
    std::map<HostId, std::map<QueueOrder, std::string>> queues;
    std::uint64_t next = 0;
    while (gone.size() < kUrls) {
      std::vector<QueuedUrl> admitted;
      std::deque<QueuedUrl> ends;
      decltype(drops) to_drop;
      {
        const std::lock_guard lock(mutex);
        ends.swap(ended);
        to_drop.swap(drops);
      }
      Store::Batch batch;
      for (std::uint32_t n = random() % 60; n > 0 && next < kUrls; --n, ++next) {
        admitted.push_back(test::queued_url(next, static_cast<std::int32_t>(random() % 2),
                                            name_of(random() % kHosts)));
        batch.add_pending(admitted.back().host, admitted.back().order, admitted.back().record);
        queues[admitted.back().host].emplace(admitted.back().order, admitted.back().record);
      }
      for (const QueuedUrl& url : ends) {
        batch.remove_pending(url.host, url.order);
        queues[url.host].erase(url.order);
        gone.insert(url.order.sequence);
      }
      ASSERT_TRUE(store->write(batch));
      for (QueuedUrl& url : admitted)
        shard.push_admitted(std::move(url));
      for (const QueuedUrl& url : ends)
        shard.push_ended(url.host, url.order.sequence);
      for (const auto& [host, count] : to_drop) {
        Store::Batch removed;
        std::uint64_t n = 0;
        std::erase_if(queues[host], [&](const auto& url) {
          if (shard.is_leased(host, url.first.sequence)) return false;
          removed.remove_pending(host, url.first);
          gone.insert(url.first.sequence);
          ++n;
          return true;
        });
        ASSERT_TRUE(store->write(removed));
        dropped_in_all += n;
        count->store(n + 1);
      }
      shard.relieve_inbox();
    }
    done = true;
  });
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&] {
      while (!done) {
        std::vector<NumberedLease> leases;
        EXPECT_TRUE(shard.lease(16, leases));
        if (leases.empty()) std::this_thread::yield();
        for (const NumberedLease& lease : leases) {
          EXPECT_TRUE(shard.begin_completion(lease.number, outcome));
          const std::lock_guard lock(mutex);
          leased[lease.url.host].emplace_back(lease.number, lease.url.order);
          ended.push_back(lease.url);
        }
      }
    });
  }
  threads.emplace_back([&] {
    std::mt19937 some(8);
    while (!done) {
      const HostId host = test::id_of(name_of(some() % kHosts));
      std::atomic<std::uint64_t> count{0};
      static_cast<void>(shard.begin_drop(host));
      {
        const std::lock_guard lock(mutex);
        drops.emplace_back(host, &count);
      }
      while (count == 0 && !done)
        std::this_thread::yield();
      shard.end_drop(host, count == 0 ? 0 : count - 1);
      // Otherwise little would be left to lease.
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  committer.join();
  for (auto& thread : threads)
    thread.join();

  std::set<std::uint64_t> once;
  for (auto& [host, of_host] : leased) {
    std::ranges::sort(of_host);
    std::map<std::int32_t, std::uint64_t> last;  // by priority
    for (const auto& [number, order] : of_host) {
      EXPECT_TRUE(once.insert(order.sequence).second) << order.sequence << " was leased again";
      const auto [at, is_first] = last.emplace(order.priority, order.sequence);
      EXPECT_TRUE(is_first || at->second < order.sequence) << order.sequence << " came too late";
      at->second = order.sequence;
    }
  }
  EXPECT_EQ(once.size() + dropped_in_all, kUrls);
  EXPECT_GT(reads, 100u);
  EXPECT_GT(once.size(), kUrls / 4);
}

TEST(HostShardReads, N1_A1_EachUrlIsLeasedOnceInTurnThoughThreadsRace) {
  race(ShardOptions().most_awake, {.status = 200});
}

TEST(HostShardReads, N1_A1_TheSameIfMostHostsSleep) {
  race(5, {});
}

class HostShardReadsTest : public test::HostShardFixture {};

// In debug builds a thread that locks the mutex twice fails; in others it would wait forever.
TEST_F(HostShardReadsTest, NoLockIsHeldOverARead) {
  auto expiring = options(milliseconds(0), 10);
  expiring.lease_timeout = milliseconds(1000);
  expiring.max_head_bytes = 0;
  HostShard shard(store_, expiring);
  restore(shard, 9);
  int reads = 0;
  store_.on_read = [&](std::size_t) -> Result<void> {
    ++reads;
    EXPECT_EQ(shard.stats().hosts, 1u);
    return {};
  };
  const auto leases = lease(shard, 6);
  ASSERT_THAT(leases, SizeIs(6));
  EXPECT_GT(std::exchange(reads, 0), 0);
  now_ += milliseconds(1000);
  EXPECT_THAT(lease(shard, 0), IsEmpty());
  EXPECT_EQ(begin(shard, leases.back()).end, LeaseEnd::kLate);
  EXPECT_GT(std::exchange(reads, 0), 0) << "its URL was not in memory";
  static_cast<void>(shard.begin_drop(test::id_of("a.test")));
  shard.end_drop(test::id_of("a.test"));
  EXPECT_GT(reads, 0);
}

// There is room for a fiftieth of the hosts' heads.
TEST_F(HostShardReadsTest, AReadServesManyLeasesHoweverManyHostsThereAre) {
  constexpr std::uint64_t kHosts = 5000;
  constexpr std::uint64_t kUrls = 40;
  auto bounded = options(milliseconds(0));
  bounded.max_head_bytes = 400'000;
  HostShard shard(store_, bounded);
  for (std::uint64_t host = 0; host < kHosts; ++host)
    restore(shard, kUrls, name_of(host));
  std::size_t reads = 0;
  store_.on_read = [&](std::size_t) -> Result<void> {
    ++reads;
    return {};
  };
  std::set<std::uint64_t> leased;
  for (std::size_t n = 0; n < kHosts * kUrls;) {
    const auto leases = lease(shard, 64);
    ASSERT_THAT(leases, Each(::testing::Field(&NumberedLease::number, Ge(1u))));
    ASSERT_FALSE(leases.empty());
    for (const auto& lease : leases) {
      EXPECT_TRUE(leased.insert(lease.url.order.sequence).second);
      complete(shard, lease);
    }
    n += leases.size();
  }
  EXPECT_LE(shard.stats().memory, 200 * kHosts + bounded.max_head_bytes);
  EXPECT_LE(4 * reads, kHosts * kUrls);
}

// Hosts that are not due fill the memory, and another one always is.
TEST_F(HostShardReadsTest, AHostIsNotHeldBackForever) {
  auto bounded = options(milliseconds(0), 1000);
  bounded.max_head_bytes = 2'000'000;
  HostShard shard(store_, bounded);
  for (std::uint64_t host = 0; host < 1000; ++host) {
    set_delay(shard, std::chrono::hours(1), name_of(host));
    restore(shard, 80, name_of(host));
  }
  ASSERT_THAT(lease(shard), SizeIs(1000));
  admit(shard, 8, "busy.test");
  ASSERT_THAT(lease(shard, 1), SizeIs(1));
  const std::uint64_t waiting = next_sequence_;
  restore(shard, 1, "waiting.test");
  std::size_t passed = 0;
  for (bool found = false; !found && passed < 100'000;) {
    admit(shard, 8, "busy.test");
    const auto leases = lease(shard, 8);
    ASSERT_FALSE(leases.empty());
    for (const auto& lease : leases) {
      found |= lease.url.order.sequence == waiting;
      complete(shard, lease);
    }
    passed += leases.size();
  }
  EXPECT_GT(passed, 1000u) << "there was room";
  EXPECT_LT(passed, 20'000u);
}

// P1: a lease that waits for another host's read is handed out later than it was given.
TEST_F(HostShardReadsTest, P1_TheDelayCountsFromTheEndOfAReadForOthers) {
  HostShard shard(store_, options(milliseconds(1000), 2));
  admit(shard, 3, "first.test");
  restore(shard, 1, "read.test");
  store_.on_read = [&](std::size_t) -> Result<void> {
    now_ += milliseconds(1500);
    return {};
  };
  EXPECT_THAT(sequences(lease(shard)), ElementsAre(0u, 3u));
  ASSERT_EQ(now_, start_ + milliseconds(1500));
  expect_due(shard, now_, milliseconds(1000));
}

}  // namespace
}  // namespace trawl
