#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontier/store/queue_run.h"
#include "frontier/store/rocks_store.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using Fingerprints = std::vector<Fingerprint>;

constexpr HostId kLastHost = ~HostId{0};

QueueOrder at(std::uint64_t sequence, std::int32_t priority = 0) {
  return {.priority = priority, .sequence = sequence};
}

// A run of URLs whose sequences ascend from `first`, which are their records.
class NumberedRun {
 public:
  explicit NumberedRun(std::uint64_t first) : first_(first) {}
  void add(HostId host, std::int32_t priority = 0) {
    run_->add(0, 0, {}, host, priority, 0, fmt::format("{}", first_ + run_->urls()));
  }
  void add_to(Store::Batch& batch) {
    if (run_->urls() == 0) return;
    run_->parts().front().sequence = first_;
    batch.add_run(run_, run_->parts());
  }

 private:
  const std::uint64_t first_;
  std::shared_ptr<QueueRun> run_ = std::make_shared<QueueRun>();
};

class StoreTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Store> open(const std::filesystem::path& directory,
                                     std::uint64_t memory = 64u << 20) {
    auto store = RocksStore::open(directory, {.memory = MemoryPlan::of(memory)});
    if (!store) throw std::runtime_error(store.error().message);
    return std::move(*store);
  }
  void reopen() {
    store_.reset();
    store_ = open(directory_.path() / "store");
  }
  void SetUp() override { reopen(); }
  void write(const Store::Batch& batch) {
    const auto written = store_->write(batch);
    ASSERT_TRUE(written) << written.error().message;
  }

  std::vector<std::uint64_t> replayed(std::uint64_t from) const {
    std::vector<std::uint64_t> lows;
    EXPECT_TRUE(store_->replay_admissions(
        from, [&](std::uint64_t first, std::span<const Fingerprint> fingerprints) {
          EXPECT_EQ(first, fingerprints.front().low);
          for (const auto& fingerprint : fingerprints)
            lows.push_back(fingerprint.low);
        }));
    return lows;
  }
  std::vector<std::uint64_t> queue(HostId host, std::optional<QueueOrder> after = std::nullopt,
                                   std::size_t limit = 1000) const {
    std::vector<std::uint64_t> sequences;
    QueueRead read{.host = host, .after = after, .limit = limit};
    EXPECT_TRUE(store_->read_queues(std::span(&read, 1)));
    for (const QueuedUrl& url : read.urls) {
      EXPECT_EQ(url.host, host);
      EXPECT_EQ(url.record, fmt::format("{}", url.order.sequence));
      sequences.push_back(url.order.sequence);
    }
    return sequences;
  }
  std::vector<HostId> queued_hosts(HostId from = 0, std::size_t limit = 1'000'000) const {
    std::vector<HostId> hosts;
    EXPECT_TRUE(store_->visit_queued_hosts(from, [&](HostId host) {
      hosts.push_back(host);
      return hosts.size() < limit;
    }));
    return hosts;
  }
  // "0: 7 8, 1: 3 and more"
  std::string beginnings(std::size_t limit) const {
    std::string text;
    EXPECT_TRUE(store_->visit_queues(0, limit, [&](HostId host, const QueueBeginning& queue) {
      text += fmt::format("{}{}:", text.empty() ? "" : ", ", host);
      for (const QueuedUrl& url : queue.urls) {
        EXPECT_EQ(url.host, host);
        text += fmt::format(" {}", url.record);
      }
      if (!queue.whole) text += " and more";
      return true;
    }));
    return text;
  }
  std::vector<std::uint64_t> deferred(std::size_t limit = 1000) const {
    std::vector<std::uint64_t> sequences;
    EXPECT_TRUE(store_->visit_deferred([&](const DeferredUrl& url) {
      if (sequences.size() == limit) return false;
      sequences.push_back(url.sequence);
      return true;
    }));
    return sequences;
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<Store> store_;
};

using Sequences = std::vector<std::uint64_t>;

TEST_F(StoreTest, QueuesAreVisitedWithTheirFirstUrls) {
  EXPECT_EQ(beginnings(4), "");
  Store::Batch batch;
  for (const auto& [host, urls] : std::map<HostId, std::uint64_t>{{0, 3}, {1, 4}, {5, 5}, {6, 20}})
    for (std::uint64_t n = 0; n < urls; ++n)
      batch.add_pending(host, at(n), fmt::format("{}", n));
  write(batch);
  reopen();
  EXPECT_EQ(beginnings(0), "0: and more, 1: and more, 5: and more, 6: and more");
  EXPECT_EQ(beginnings(1), "0: 0 and more, 1: 0 and more, 5: 0 and more, 6: 0 and more");
  EXPECT_EQ(beginnings(3), "0: 0 1 2, 1: 0 1 2 and more, 5: 0 1 2 and more, 6: 0 1 2 and more");
  EXPECT_EQ(beginnings(4), "0: 0 1 2, 1: 0 1 2 3, 5: 0 1 2 3 and more, 6: 0 1 2 3 and more");
  EXPECT_EQ(beginnings(5), "0: 0 1 2, 1: 0 1 2 3, 5: 0 1 2 3 4, 6: 0 1 2 3 4 and more");
  Store::Batch last;
  last.add_pending(kLastHost, at(0), "0");
  for (std::uint64_t n = 1; n < 9; ++n)
    last.add_pending(kLastHost, at(n), fmt::format("{}", n));
  write(last);
  EXPECT_TRUE(beginnings(2).ends_with(fmt::format(", {}: 0 1 and more", kLastHost)));
  EXPECT_TRUE(beginnings(9).ends_with(fmt::format(", {}: 0 1 2 3 4 5 6 7 8", kLastHost)));
}

TEST_F(StoreTest, QueuesAreReadInOrderInPartsAndWithoutTheUnwanted) {
  Store::Batch batch;
  for (const HostId host : {HostId{0}, HostId{1}, HostId{1} << 63, kLastHost}) {
    for (std::uint64_t n = 10; n-- > 0;)
      batch.add_pending(host, at(n, n == 9 ? 1 : 0), fmt::format("{}", n));
  }
  write(batch);
  for (const HostId host : {HostId{0}, kLastHost}) {
    Store::Batch removal;
    removal.remove_pending(host, at(3));
    write(removal);
  }
  reopen();
  for (const HostId host : {HostId{0}, kLastHost}) {
    EXPECT_EQ(queue(host), (Sequences{9, 0, 1, 2, 4, 5, 6, 7, 8})) << "the urgent one first";
    EXPECT_EQ(queue(host, std::nullopt, 2), (Sequences{9, 0}));
    EXPECT_EQ(queue(host, at(9, 1), 3), (Sequences{0, 1, 2}));
    EXPECT_EQ(queue(host, at(2)), (Sequences{4, 5, 6, 7, 8}));
    EXPECT_EQ(queue(host, at(3)), (Sequences{4, 5, 6, 7, 8})) << "behind one that is gone";
    EXPECT_EQ(queue(host, at(8)), Sequences{});
  }
  EXPECT_EQ(queue(1).size(), 10u);
  EXPECT_EQ(queue(2), Sequences{});
}

TEST_F(StoreTest, HostsWithQueuesAreVisitedOnceEach) {
  EXPECT_TRUE(queued_hosts().empty());
  Store::Batch batch;
  for (const HostId host : {kLastHost, HostId{7}, HostId{0}, kLastHost - 1, HostId{8}}) {
    for (std::uint64_t n = 0; n < 50; ++n)
      batch.add_pending(host, at(n, static_cast<std::int32_t>(n % 3)), "x");
  }
  write(batch);
  EXPECT_EQ(queued_hosts(), (std::vector<HostId>{0, 7, 8, kLastHost - 1, kLastHost}));
  EXPECT_EQ(queued_hosts(1), (std::vector<HostId>{7, 8, kLastHost - 1, kLastHost}));
  EXPECT_EQ(queued_hosts(7, 2), (std::vector<HostId>{7, 8}));
  EXPECT_EQ(queued_hosts(kLastHost), std::vector<HostId>{kLastHost});
  reopen();
  batch.clear();
  for (std::uint64_t n = 0; n < 50; ++n) {
    batch.remove_pending(8, at(n, static_cast<std::int32_t>(n % 3)));
    batch.remove_pending(kLastHost, at(n, static_cast<std::int32_t>(n % 3)));
  }
  write(batch);
  EXPECT_EQ(queued_hosts(), (std::vector<HostId>{0, 7, kLastHost - 1}));
}

TEST_F(StoreTest, AllThatIsQueuedIsVisitedOrThatOfOneHostOrThePartAskedFor) {
  Store::Batch batch;
  for (const HostId host : {HostId{3}, kLastHost}) {
    for (std::uint64_t n = 0; n < 5; ++n)
      batch.add_pending(host, at(n), fmt::format("{}/{}", host, n));
  }
  write(batch);
  std::vector<std::string> seen;
  std::size_t limit = 100;
  const auto visit = [&](HostId host, const QueueOrder& order, std::string_view record) {
    EXPECT_EQ(record, fmt::format("{}/{}", host, order.sequence));
    seen.emplace_back(record);
    return seen.size() < limit;
  };
  ASSERT_TRUE(store_->visit_pending(std::nullopt, visit));
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_EQ(seen.front(), "3/0");
  seen.clear();
  ASSERT_TRUE(store_->visit_pending(kLastHost, visit));
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(seen.back(), fmt::format("{}/4", kLastHost));
  seen.clear();
  ASSERT_TRUE(store_->visit_pending(4, visit));
  EXPECT_TRUE(seen.empty());
  limit = 7;
  ASSERT_TRUE(store_->visit_pending(std::nullopt, visit));
  EXPECT_EQ(seen.size(), 7u);
}

TEST_F(StoreTest, DeferredUrlsComeByTime) {
  Store::Batch batch;
  batch.add_deferred(500, 1, 42, -3, "late");
  batch.add_deferred(-500, 2, 43, 4, "before the epoch");
  batch.add_deferred(500, 0, 44, 0, "late, but first");
  write(batch);
  reopen();
  EXPECT_EQ(deferred(), (Sequences{2, 0, 1}));
  ASSERT_TRUE(store_->visit_deferred([](const DeferredUrl& url) {
    EXPECT_EQ(url.not_before, -500);
    EXPECT_EQ(url.host, 43u);
    EXPECT_EQ(url.priority, 4);
    EXPECT_EQ(url.record, "before the epoch");
    return false;
  }));
  batch.clear();
  batch.remove_deferred({.not_before = 500, .sequence = 0, .record = {}});
  write(batch);
  EXPECT_EQ(deferred(), (Sequences{2, 1}));
}

// Looking from where the first one was is not to miss what comes before it later.
TEST_F(StoreTest, DeferredUrlsThatComeBeforeTheFirstAreFound) {
  constexpr unsigned kSeed = 17;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  std::set<std::pair<std::int64_t, std::uint64_t>> model;
  for (std::uint64_t n = 0; n < 2000; ++n) {
    Store::Batch batch;
    if (random() % 2 == 0) {
      const std::int64_t time = static_cast<std::int64_t>(random() % 100) - 50;
      batch.add_deferred(time, n, 1, 0, "x");
      model.emplace(time, n);
    } else if (!model.empty()) {
      batch.remove_deferred(
          {.not_before = model.begin()->first, .sequence = model.begin()->second, .record = {}});
      model.erase(model.begin());
    }
    write(batch);
    const Sequences found = deferred(2);
    ASSERT_EQ(found.size(), std::min<std::size_t>(2, model.size()));
    for (auto it = model.begin(); const std::uint64_t sequence : found)
      ASSERT_EQ(sequence, it++->second);
  }
}

TEST_F(StoreTest, TheAdmissionLogIsReplayedFromAnySequenceAndTrimmed) {
  EXPECT_TRUE(replayed(0).empty());
  Store::Batch first, second;
  first.log_admissions(0, Fingerprints{{.low = 0}, {.low = 1}, {.low = 2}});
  second.log_admissions(3, Fingerprints{{.low = 3}, {.low = 4}});
  write(first);
  write(second);
  reopen();
  EXPECT_EQ(replayed(0).size(), 5u);
  EXPECT_EQ(replayed(2).front(), 0u) << "the batch that holds it is replayed whole";
  EXPECT_EQ(replayed(3).front(), 3u);
  EXPECT_TRUE(replayed(5).empty());
  ASSERT_TRUE(store_->trim_admissions(0));
  EXPECT_EQ(replayed(0).size(), 5u);
  ASSERT_TRUE(store_->trim_admissions(3));
  EXPECT_EQ(replayed(0).front(), 3u);
  reopen();
  EXPECT_EQ(replayed(0).front(), 3u);
  EXPECT_EQ(replayed(0).size(), 2u);
}

// So much that it lies in files of several levels.
TEST_F(StoreTest, ALongAdmissionLogIsTrimmedAndItsSpaceIsFreed) {
  constexpr std::uint64_t kBatch = 4096;
  constexpr std::uint64_t kBatches = 800;
  constexpr std::uint64_t kBytes = kBatch * kBatches * 16;
  const auto disk = [&] {
    std::uint64_t bytes = 0;
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(directory_.path() / "store")) {
      std::error_code gone;
      const auto size = file.file_size(gone);
      if (!gone && file.path().extension() == ".sst") bytes += size;
    }
    return bytes;
  };
  std::uint64_t most = 0;
  for (std::uint64_t n = 0; n < kBatches; ++n) {
    Fingerprints fingerprints;
    for (std::uint64_t i = 0; i < kBatch; ++i)
      fingerprints.push_back({.high = n * i, .low = n * kBatch + i});
    Store::Batch batch;
    batch.log_admissions(n * kBatch, fingerprints);
    write(batch);
    if (n % 100 == 99) {
      ASSERT_TRUE(store_->trim_admissions((n - 60) * kBatch));
      const Sequences rest = replayed(0);
      ASSERT_EQ(rest.front(), (n - 60) * kBatch);
      ASSERT_EQ(rest.size(), 61 * kBatch);
    }
    most = std::max(most, disk());
  }
  EXPECT_LT(most, kBytes * 3 / 4) << "what was trimmed is deleted, not only hidden";
}

TEST_F(StoreTest, HostRecordsAreKeptAndRemoved) {
  const HostRecord record = {.name = "a.test", .delay = std::chrono::milliseconds(2500)};
  const HostRecord other = {.name = "b.test", .failures = 3, .given_up = true};
  EXPECT_EQ(store_->host(1).value(), std::nullopt);
  Store::Batch batch;
  batch.set_host(1, other);
  batch.set_host(1, record);
  batch.set_host(kLastHost, other);
  write(batch);
  reopen();
  EXPECT_EQ(store_->host(1).value(), record) << "the last of a batch holds";
  std::map<HostId, HostRecord> hosts;
  const auto visit = [&](HostId host, HostRecord found) {
    hosts.emplace(host, std::move(found));
    return host != 1;
  };
  ASSERT_TRUE(store_->visit_hosts(2, visit));
  EXPECT_EQ(hosts, (std::map<HostId, HostRecord>{{kLastHost, other}}));
  hosts.clear();
  ASSERT_TRUE(store_->visit_hosts(0, visit));
  EXPECT_EQ(hosts, (std::map<HostId, HostRecord>{{1, record}})) << "until it says no";
  batch.clear();
  batch.remove_host(1);
  write(batch);
  EXPECT_EQ(store_->host(1).value(), std::nullopt);
  EXPECT_EQ(store_->host(kLastHost).value(), other);
  std::vector<HostRead> reads(200);
  for (HostRead& read : reads)
    read = {.host = 1, .record = record};
  reads[150].host = kLastHost;
  ASSERT_TRUE(store_->read_hosts(reads));
  for (std::size_t i = 0; i < reads.size(); ++i)
    EXPECT_EQ(reads[i].record, i == 150 ? std::optional(other) : std::nullopt);
}

TEST_F(StoreTest, TheLedgerKeepsTheLastRecordOfEachUrl) {
  constexpr std::uint64_t kUrls = 1000;
  Store::Batch batch;
  for (std::uint64_t n = 0; n < kUrls; n += 2)
    batch.set_ledger({.high = n, .low = ~n}, {});
  write(batch);
  batch.clear();
  const LedgerRecord fetched = {.fetches = 1, .status = 404, .fetched = 12345};
  batch.set_ledger({.high = 4, .low = ~std::uint64_t{4}}, fetched);
  write(batch);
  reopen();
  EXPECT_EQ(store_->ledger({.high = 4, .low = ~std::uint64_t{4}}).value(), fetched);
  EXPECT_EQ(store_->ledger({.high = 2, .low = ~std::uint64_t{2}}).value(), LedgerRecord{});
  EXPECT_EQ(store_->ledger({.high = 3, .low = ~std::uint64_t{3}}).value(), std::nullopt);

  Fingerprints asked;
  for (std::uint64_t n = 0; n < kUrls; ++n)
    asked.push_back({.high = n, .low = ~n});
  const auto found = std::make_unique<bool[]>(kUrls);
  ASSERT_TRUE(store_->find_in_ledger(asked, {found.get(), kUrls}));
  for (std::uint64_t n = 0; n < kUrls; ++n)
    EXPECT_EQ(found[n], n % 2 == 0) << n;

  std::uint64_t visited = 0;
  ASSERT_TRUE(store_->visit_ledger([&](Fingerprint fingerprint, const LedgerRecord& record) {
    EXPECT_EQ(fingerprint.high, 2 * visited++);
    EXPECT_EQ(record, fingerprint.high == 4 ? fetched : LedgerRecord{});
  }));
  EXPECT_EQ(visited, kUrls / 2);
}

TEST_F(StoreTest, OfDepthsTheSmallestIsKept) {
  const Fingerprint url = {.high = 1, .low = 2};
  const Fingerprint other = {.high = 1, .low = 3};
  EXPECT_EQ(store_->depth(url).value(), std::nullopt);
  for (const std::uint32_t depth : {7u, 300u, 5u, 6u}) {
    Store::Batch batch;
    batch.lower_depth(url, depth);
    batch.lower_depth(other, depth + 1);
    write(batch);
    if (depth == 300) reopen();
  }
  EXPECT_EQ(store_->depth(url).value(), 5u);
  reopen();
  EXPECT_EQ(store_->depth(url).value(), 5u);
  EXPECT_EQ(store_->depth(other).value(), 6u);
  Store::Batch batch;
  batch.forget_depth(url);
  write(batch);
  EXPECT_EQ(store_->depth(url).value(), std::nullopt);
  batch.clear();
  batch.lower_depth(url, 90);
  write(batch);
  reopen();
  EXPECT_EQ(store_->depth(url).value(), 90u) << "what was forgotten does not count";
  EXPECT_EQ(store_->depth(other).value(), 6u);
}

TEST_F(StoreTest, CountersAreKept) {
  EXPECT_EQ(store_->counters().value(), Counters{});
  const Counters counters = {{.admitted = 5, .completed = 4, .seen = 2}, 1u << 31};
  Store::Batch batch;
  batch.set_counters(counters);
  write(batch);
  reopen();
  EXPECT_EQ(store_->counters().value(), counters);
}

TEST_F(StoreTest, ABatchTellsItsChangesAndIsUsedAgain) {
  Store::Batch batch;
  batch.add_pending(1, at(2, 3), "record");
  batch.remove_pending(1, at(4));
  batch.remove_deferred({.not_before = 5, .sequence = 6, .record = {}});
  batch.lower_depth({.high = 7, .low = 8}, 9);
  ASSERT_EQ(batch.size(), 4u);
  EXPECT_EQ(batch.change(0).family, kPending);
  EXPECT_EQ(batch.change(0).kind, Store::Batch::Kind::kPut);
  EXPECT_EQ(batch.change(0).key, pending_key(1, at(2, 3)));
  EXPECT_EQ(batch.change(0).value, "record");
  EXPECT_EQ(batch.change(1).kind, Store::Batch::Kind::kSingleDelete);
  EXPECT_EQ(batch.change(1).value, "");
  EXPECT_EQ(batch.change(2).kind, Store::Batch::Kind::kDelete);
  EXPECT_EQ(batch.change(3).kind, Store::Batch::Kind::kMerge);
  EXPECT_EQ(batch.change(3).family, kDepths);
  EXPECT_EQ(batch.bytes(), 20u + 6 + 20 + 16 + 12 + 16 + 4);
  batch.clear();
  EXPECT_EQ(batch.size(), 0u);
  EXPECT_EQ(batch.bytes(), 0u);
  write(batch);
  batch.add_pending(1, at(5), "5");
  write(batch);
  EXPECT_EQ(queue(1), Sequences{5});
}

// What write() returned for is with the kernel: a copy of the files, taken without closing the
// store, holds all of it.
TEST_F(StoreTest, N1_WhatWasWrittenIsThereWithoutClosing) {
  for (std::uint64_t n = 0; n < 100; ++n) {
    Store::Batch batch;
    NumberedRun run(n);
    run.add(1);
    n % 2 == 0 ? run.add_to(batch) : batch.add_pending(1, at(n), fmt::format("{}", n));
    batch.set_counters({{.admitted = n + 1}});
    write(batch);
    if (n == 50) {
      ASSERT_TRUE(store_->sync());
    }
  }
  std::filesystem::copy(directory_.path() / "store", directory_.path() / "copy",
                        std::filesystem::copy_options::recursive);
  store_ = open(directory_.path() / "copy");
  EXPECT_EQ(store_->counters()->admitted, 100u);
  EXPECT_EQ(queue(1).size(), 100u);
}

// Random changes over all that a crawl does with a queue, with restarts, against a map.
TEST_F(StoreTest, RandomChangesEndAsInAModel) {
  constexpr unsigned kSeed = 2024;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  constexpr HostId kHosts[] = {0, 1, 0x0123456789abcdef, kLastHost - 1, kLastHost};
  std::map<HostId, std::map<QueueOrder, std::string>> model;
  std::uint64_t sequence = 0;
  for (int round = 0; round < 300; ++round) {
    Store::Batch batch;
    std::vector<std::pair<HostId, QueueOrder>> put;
    const bool in_run = random() % 2 == 0;
    NumberedRun run(sequence);
    for (std::size_t n = random() % 200; n > 0; --n) {
      const HostId host = kHosts[random() % std::size(kHosts)];
      auto& queue = model[host];
      if (random() % 3 != 0 || queue.empty()) {
        put.emplace_back(host, at(sequence++, static_cast<std::int32_t>(random() % 3)));
        const QueueOrder& order = put.back().second;
        in_run ? run.add(host, order.priority)
               : batch.add_pending(host, order, fmt::format("{}", order.sequence));
      } else {
        const auto gone = std::next(queue.begin(), static_cast<long>(random() % queue.size()));
        batch.remove_pending(host, gone->first);
        queue.erase(gone);
      }
    }
    run.add_to(batch);
    write(batch);
    for (const auto& [host, order] : put)
      model[host].emplace(order, fmt::format("{}", order.sequence));
    if (random() % 20 == 0) reopen();
    const HostId host = kHosts[random() % std::size(kHosts)];
    Sequences expected;
    for (const auto& [order, record] : model[host])
      expected.push_back(order.sequence);
    ASSERT_EQ(queue(host, std::nullopt, 100'000), expected);
  }
  std::vector<HostId> expected;
  for (const auto& [host, queue] : model) {
    if (!queue.empty()) expected.push_back(host);
  }
  EXPECT_EQ(queued_hosts(), expected);
}

// One thread writes, as the committer does; others read at the same time. Each batch is seen whole.
TEST_F(StoreTest, ReadersSeeWholeBatchesWhileOneWrites) {
  constexpr std::uint64_t kBatches = 300;
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const std::size_t urls = queue(1, std::nullopt, 100'000).size();
        EXPECT_EQ(urls % 10, 0u);
        EXPECT_EQ(deferred(100'000).size() % 2, 0u);
      }
    });
  }
  for (std::uint64_t n = 0; n < kBatches; ++n) {
    Store::Batch batch;
    NumberedRun run(n * 10);
    for (std::uint64_t i = 0; i < 10; ++i)
      n % 2 == 0 ? run.add(1) : batch.add_pending(1, at(n * 10 + i), fmt::format("{}", n * 10 + i));
    run.add_to(batch);
    const auto time = static_cast<std::int64_t>(n);
    batch.add_deferred(-time, n * 2, 1, 0, "x");
    batch.add_deferred(time, n * 2 + 1, 1, 0, "x");
    if (n >= 20) {
      batch.remove_deferred({.not_before = -(time - 20), .sequence = (n - 20) * 2, .record = {}});
      batch.remove_deferred({.not_before = time - 20, .sequence = (n - 20) * 2 + 1, .record = {}});
    }
    write(batch);
  }
  stop = true;
  for (std::thread& reader : readers)
    reader.join();
  EXPECT_EQ(queue(1, std::nullopt, 100'000).size(), kBatches * 10);
  EXPECT_EQ(deferred().size(), 40u);
}

// More than the memtables hold, so that tables are written from them, and what is left is read from
// the log.
TEST_F(StoreTest, N1_RunsAreInTheTablesAndInTheLog) {
  constexpr std::uint64_t kRuns = 400, kUrls = 256;
  store_.reset();
  store_ = open(directory_.path() / "small", MemoryPlan::kLeast);
  std::mt19937_64 random(3);
  std::map<HostId, Sequences> expected;
  for (std::uint64_t n = 0; n < kRuns; ++n) {
    NumberedRun run(n * kUrls);
    for (std::uint64_t i = 0; i < kUrls; ++i) {
      const HostId host = random() % 1000 << 50;
      run.add(host);
      expected[host].push_back(n * kUrls + i);
    }
    Store::Batch batch;
    run.add_to(batch);
    write(batch);
  }
  for (const bool reopened : {false, true}) {
    if (reopened) {
      store_.reset();
      store_ = open(directory_.path() / "small", MemoryPlan::kLeast);
    }
    for (const auto& [host, sequences] : expected)
      ASSERT_EQ(queue(host, std::nullopt, 100'000), sequences);
  }
}

TEST_F(StoreTest, M1_MemoryIsWhatThePlanSays) {
  const MemoryPlan plan = MemoryPlan::of(64u << 20);
  const std::string record(100, 'u');
  // What lies in the write buffers takes more than its bytes, but not twice as much.
  const std::uint64_t before = store_->memory();
  std::uint64_t written = 0;
  std::uint64_t most = 0;
  bool was_flushed = false;
  for (std::uint64_t n = 0; n < 150; ++n) {
    Store::Batch batch;
    for (std::uint64_t i = 0; i < 1000; ++i)
      batch.add_pending((n * 1000 + i) * 0x9e3779b97f4a7c15, at(n * 1000 + i), record);
    write(batch);
    const std::uint64_t memory = store_->memory();
    was_flushed = was_flushed || memory < most;  // sooner than by the plan, on a busy machine
    most = std::max(most, memory);
    written += batch.bytes();
    if (written < plan.write_buffers / 4 && !was_flushed) {
      EXPECT_GE(memory - before, written);
      EXPECT_LE(memory - before, 2 * written + (1u << 20));
    }
  }
  ASSERT_EQ(queued_hosts().size(), 150'000u);
  most = std::max(most, store_->memory());
  EXPECT_LT(most, (plan.write_buffers + plan.block_cache) * 11 / 10);
  EXPECT_GT(most, plan.write_buffers * 3 / 10) << "buffers are flushed when they are half full";
}

}  // namespace
}  // namespace trawl
