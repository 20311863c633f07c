// HostShard with ranges that come and go while threads lease, and others look on.
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/quota.h"
#include "frontier/schedule/host_shard.h"
#include "tests/frontier/host_shard_ranges_fixture.h"

namespace trawl {
namespace {

class HostShardRangesThreads : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBuckets = 4;
  static constexpr std::uint64_t kHosts = 50;  // of each
  static constexpr std::uint64_t kUrls = 4000;
  static constexpr std::uint64_t kQuota = 200;

  // A store that is written while it is read.
  class Reads final : public ShardReads {
   public:
    std::map<HostId, std::map<QueueOrder, std::string>> queues;  // under `mutex`
    mutable std::mutex mutex;

    Result<void> read_queues(std::span<QueueRead> reads) const override {
      const std::lock_guard lock(mutex);
      for (QueueRead& read : reads) {
        read.ended = true;
        const auto queue = queues.find(read.host);
        if (queue == queues.end()) continue;
        auto url = read.after ? queue->second.upper_bound(*read.after) : queue->second.begin();
        for (; url != queue->second.end(); ++url) {
          read.ended = read.urls.size() < read.limit;
          if (!read.ended) break;
          read.urls.push_back({.host = read.host, .order = url->first, .record = url->second});
        }
      }
      return {};
    }
    Result<void> read_hosts(std::span<HostRead>) const override { return {}; }
  };
  struct Bucket {
    std::uint64_t next_sequence = 0;
    std::atomic<std::uint64_t> time{0};  // changes before and after it is forgotten
    std::atomic<bool> stopped{false};
  };
  struct Ended {
    std::uint64_t bucket;
    std::uint64_t time;
    HostId host;
    std::uint64_t sequence;
  };

  ShardOptions options() {
    ShardOptions options;
    options.politeness.delay = std::chrono::milliseconds(0);
    options.politeness.leases_per_host = 2;
    options.retry = {};
    options.max_head_bytes = 100'000;
    options.most_awake = 100;
    options.clock = [] { return std::chrono::steady_clock::now(); };
    options.wall_clock = [] { return std::chrono::system_clock::now(); };
    options.in_ranges = true;
    options.may_lease = [this](HostId host) {
      return !buckets_[test::bucket_of(host)].stopped.load();
    };
    options.leases = &quota_;
    options.domains = &domains_;
    options.addresses = &addresses_;
    return options;
  }

  void take(HostShard& shard, std::uint64_t bucket) {
    ++buckets_[bucket].time;
    shard.begin_taking(test::range_of(bucket), std::chrono::steady_clock::now());
    for (std::uint64_t host = 0; host < kHosts; ++host) {
      const HostId id = test::host_in(bucket, host);
      if (store_.queues.contains(id)) shard.restore_host(id, std::nullopt);
    }
    shard.end_taking(test::range_of(bucket));
    for (const auto& [host, queue] : store_.queues) {
      if (test::bucket_of(host) == bucket) shard.add_counted(host, queue.size());
    }
  }
  void forget(HostShard& shard, std::uint64_t bucket) {
    ++buckets_[bucket].time;
    shard.forget_hosts(test::range_of(bucket));
    EXPECT_EQ(shard.leased_in(test::range_of(bucket)), 0u);
  }
  // The committer, which is the only thread that pushes.
  void commit(HostShard& shard) {
    std::mt19937_64 random(1);
    for (std::uint64_t bucket = 0; bucket < kBuckets; ++bucket)
      take(shard, bucket);
    std::uint64_t left = kUrls;
    for (std::uint64_t round = 0, admitted = 0; left > 0; ++round) {
      const std::uint64_t bucket = random() % kBuckets;
      for (int n = 0; n < 10 && admitted < kUrls; ++n, ++admitted) {
        const auto url = test::url_in(bucket, random() % kHosts, buckets_[bucket].next_sequence++);
        {
          const std::lock_guard lock(store_.mutex);
          store_.queues[url.host].emplace(url.order, url.record);
        }
        shard.push_admitted(url);
      }
      std::deque<Ended> ended;
      {
        const std::lock_guard lock(mutex_);
        ended.swap(ended_);
      }
      for (const Ended& url : ended) {
        if (buckets_[url.bucket].time != url.time) continue;  // it is leased again
        {
          const std::lock_guard lock(store_.mutex);
          const auto queue = store_.queues.find(url.host);
          ASSERT_NE(queue, store_.queues.end());
          ASSERT_EQ(queue->second.erase({.priority = 0, .sequence = url.sequence}), 1u);
          if (queue->second.empty()) store_.queues.erase(queue);
        }
        static_cast<void>(shard.record_of(url.host));
        shard.push_saved(url.host);
        shard.push_ended(url.host, url.sequence);
        --left;
      }
      buckets_[random() % kBuckets].stopped = admitted < kUrls && random() % 4 == 0;
      if (round % 3 == 0 && admitted < kUrls) {
        forget(shard, bucket);
        take(shard, bucket);
      }
    }
  }
  void lease(HostShard& shard) {
    while (!done_) {
      std::vector<NumberedLease> leases;
      ASSERT_TRUE(shard.lease(16, leases));
      for (const NumberedLease& lease : leases) {
        static_cast<void>(shard.start(lease.number, "192.0.2.1"));
        // That of the lease if it is open afterwards, or the range is being forgotten.
        const std::uint64_t bucket = test::bucket_of(lease.url.host);
        const std::uint64_t time = buckets_[bucket].time;
        const auto end = shard.begin_completion(lease.number, {.status = 200});
        ASSERT_TRUE(end);
        if (end->end != LeaseEnd::kOpen) continue;
        const std::lock_guard lock(mutex_);
        ended_.push_back({.bucket = bucket,
                          .time = time,
                          .host = lease.url.host,
                          .sequence = lease.url.order.sequence});
      }
    }
  }
  void look_on(HostShard& shard) {
    while (!done_) {
      const HostId host = test::host_in(1, 2);
      EXPECT_LE(shard.stats().leased, kQuota);
      static_cast<void>(shard.next_due());
      static_cast<void>(shard.has_turn());
      static_cast<void>(shard.info(host));
      static_cast<void>(shard.counts(host));
      EXPECT_LE(shard.leased_in(test::range_of(2)), kQuota);
      shard.set_address(test::host_in(2, 3), "192.0.2.2");
      static_cast<void>(shard.begin_drop(host));
      shard.end_drop(host);
      const auto turn = shard.start_elsewhere(test::host_in(3, 1), "h1.b3.test", "192.0.2.3");
      if (turn) {
        shard.sent(*turn, std::nullopt, {});
      } else {
        EXPECT_EQ(turn.error().code, ErrorCode::kUnavailable);
      }
    }
  }

  Reads store_;
  std::array<Bucket, kBuckets> buckets_;
  Quota quota_{kQuota};
  GroupRateLimiter domains_{std::chrono::milliseconds(0)};
  GroupRateLimiter addresses_{std::chrono::milliseconds(0)};
  std::mutex mutex_;
  std::deque<Ended> ended_;
  std::atomic<bool> done_{false};
};

// A URL whose lease was forgotten is leased once more; an end of the former time is dropped.
TEST_F(HostShardRangesThreads, N1_EachUrlEndsOnceWhileRangesComeAndGo) {
  HostShard shard(store_, options());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread)
    threads.emplace_back([&] { lease(shard); });
  threads.emplace_back([&] { look_on(shard); });
  commit(shard);
  done_ = true;
  for (auto& thread : threads)
    thread.join();
  EXPECT_TRUE(store_.queues.empty());
  for (std::uint64_t bucket = 0; bucket < kBuckets; ++bucket)
    forget(shard, bucket);
  EXPECT_EQ(shard.stats().hosts, 0u);
  EXPECT_EQ(shard.leased(), 0u);
  EXPECT_EQ(quota_.take(2 * kQuota), kQuota);
}

}  // namespace
}  // namespace trawl
