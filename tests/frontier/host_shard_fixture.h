// What the tests of HostShard share: a store and clocks that they control, hosts by name.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/fingerprint.h"

#include "frontier/schedule/host_shard.h"
#include "frontier/store/rocks_store.h"
#include "tests/frontier/fake_store.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {

inline HostId id_of(const std::string& host) {
  static const KeyedHash hash = KeyedHash::from_seed(1);
  return host_id(hash, host);
}

inline std::string name_of(std::uint64_t host) {
  return "host" + std::to_string(host) + ".test";
}

// A real one, with little memory.
inline std::unique_ptr<Store> open_store(const TemporaryDirectory& directory) {
  return RocksStore::open(directory.path() / "store",
                          {.memory = MemoryPlan::of(MemoryPlan::kLeast)})
      .value();
}

inline QueuedUrl queued_url(std::uint64_t sequence, std::int32_t priority = 0,
                            const std::string& host = "a.test", std::uint32_t attempts = 0) {
  const std::string url = "http://" + host + "/" + std::to_string(sequence);
  return {.host = id_of(host),
          .order = {.priority = priority, .sequence = sequence},
          .record = encode_record({.url = url, .attempts = attempts})};
}

// The errors of runs with 40 seeds; up to the first if the shard is made to `forget` something.
template <class Run, class Forget>
int errors_of_runs(const Forget& forget, int steps) {
  int errors = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const TemporaryDirectory directory;
    const int of_run = Run(directory, seed, forget).run(steps);
    EXPECT_TRUE(forget || of_run == 0) << "seed " << seed;
    errors += of_run;
    if (forget && errors > 0) break;
  }
  return errors;
}

class HostShardFixture : public ::testing::Test {
 protected:
  using milliseconds = std::chrono::milliseconds;

  ShardOptions options(milliseconds delay, std::uint32_t leases_per_host = 1) {
    ShardOptions options;
    options.politeness.delay = delay;
    options.politeness.leases_per_host = leases_per_host;
    options.lease_timeout = milliseconds(0);
    options.retry.host_backoff = milliseconds(1000);
    options.retry.max_host_backoff = milliseconds(60'000);
    options.clock = [this] { return now_; };
    options.wall_clock = [this] { return wall_now(); };
    return options;
  }
  // The clocks go together.
  SystemTime wall_now() const {
    return SystemTime{} + std::chrono::hours(500'000) +
           std::chrono::duration_cast<SystemTime::duration>(now_ - start_);
  }
  static QueuedUrl queued(std::uint64_t sequence, std::int32_t priority = 0,
                          const std::string& host = "a.test") {
    return queued_url(sequence, priority, host);
  }
  // Like the committer: durable first, then passed to the shard.
  void admit(HostShard& shard, const QueuedUrl& url) {
    store_.put(url);
    shard.push_admitted(url);
  }
  void admit(HostShard& shard, std::uint64_t n, const std::string& host = "a.test") {
    for (std::uint64_t i = 0; i < n; ++i)
      admit(shard, queued(next_sequence_++, 0, host));
  }
  // The store has n URLs of a host, as on a restart. URLs are numbered from 0 on, over all hosts.
  void restore(HostShard& shard, std::uint64_t n, const std::string& host = "a.test") {
    for (std::uint64_t i = 0; i < n; ++i)
      store_.put(queued(next_sequence_++, 0, host));
    const auto record = store_.host(id_of(host));
    ASSERT_TRUE(record);
    shard.restore_host(id_of(host), *record);
    shard.add_counted(id_of(host), store_.queues[id_of(host)].size());
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
  static EndedLease begin(HostShard& shard, const NumberedLease& lease,
                          const Outcome& outcome = {.status = 200}) {
    auto ended = shard.begin_completion(lease.number, outcome);
    EXPECT_TRUE(ended) << lease.number;
    return ended ? std::move(*ended) : EndedLease{};
  }
  // As a completion that was committed.
  void complete(HostShard& shard, const NumberedLease& lease,
                const Outcome& outcome = {.status = 200}) {
    EXPECT_EQ(begin(shard, lease, outcome).end, LeaseEnd::kOpen);
    commit_end(shard, lease.url);
  }
  void commit_end(HostShard& shard, const QueuedUrl& url) {
    store_.remove(url);
    commit_host(shard, url.host);  // it answered, for the first time perhaps
    shard.push_ended(url.host, url.order.sequence);
  }
  // As the committer does with a host that changed.
  void commit_host(HostShard& shard, const std::string& host = "a.test") {
    commit_host(shard, id_of(host));
  }
  void commit_host(HostShard& shard, HostId host) {
    const auto record = shard.record_of(host);
    if (record && record->is_default() && !record->answered) {
      store_.host_records.erase(host);
    } else if (record) {
      store_.host_records[host] = *record;
    }  // else it was forgotten: what is stored is right
    shard.push_saved(host);
  }
  void change(HostShard& shard, const std::function<void(HostRecord&)>& change,
              const std::string& host = "a.test") {
    ASSERT_TRUE(shard.change_host(id_of(host), host, change));
    commit_host(shard, host);
  }
  void set_delay(HostShard& shard, milliseconds delay, const std::string& host = "a.test") {
    change(
        shard, [&](HostRecord& record) { record.delay = delay; }, host);
  }
  // The shard's one host is due `wait` after `from`, and not a moment before.
  void expect_due(HostShard& shard, SteadyTime from, milliseconds wait) {
    now_ = from + wait - milliseconds(1);
    EXPECT_TRUE(lease(shard, 1).empty()) << "too early";
    EXPECT_EQ(shard.next_due(), from + wait);
    now_ = from + wait;
    EXPECT_EQ(lease(shard, 1).size(), 1u) << "too late";
  }

  FakeStore store_;
  const SteadyTime start_ = SteadyTime{} + std::chrono::hours(1);
  SteadyTime now_ = start_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace trawl::test
