// What a group of operations becomes in a real store: deferred URLs, drops, ledger, depths.
#include "frontier/commit/group_writer.h"

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/wall_time.h"
#include "frontier/store/queue_run.h"
#include "frontier/store/rocks_store.h"
#include "frontier/store/set_aside_record.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

constexpr Fingerprint kKey{.high = 7, .low = 8};

constexpr std::uint64_t kMostSetAside = 4;

class GroupWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = RocksStore::open(directory_.path() / "store",
                                  {.sync = false, .memory = MemoryPlan::of(MemoryPlan::kLeast)});
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    open({});
  }

  // What a frontier with these totals has.
  void open(const Counters& counters) {
    GroupWriterOptions options;
    options.ledger = true;
    options.max_set_aside = kMostSetAside;
    options.wall_clock = [this] { return from_milliseconds(now_); };
    options.now = [this] { return now_; };
    options.record_of = [](HostId, std::uint64_t) { return HostRecord{}; };
    options.is_leased = [this](HostId, std::uint64_t sequence) {
      return leased_.contains(sequence);
    };
    options.after_commit = [this](OperationGroup&, std::vector<QueuedUrl>& promoted) {
      for (const QueuedUrl& url : promoted)
        promoted_.push_back(url.order);
    };
    writer_.reset();
    partitions_.emplace(std::make_unique<Partition>(
        GrowingBloomFilter::create({.capacity = 1000}).value(), counters));
    partition_ = &partitions_->only();
    writer_.emplace(*store_, *partitions_, std::move(options));
  }

  Operation& next() { return *group_.emplace_back(std::make_unique<Operation>()); }
  void write() {
    ASSERT_TRUE(writer_->write(group_));
    group_.clear();
  }
  static Operation::Admitted url_of(HostId host, std::int64_t not_before = 0) {
    return {.fingerprint = {.high = host, .low = 1},
            .host = host,
            .not_before = not_before,
            .record = encode_record({.url = "http://host.test/"})};
  }
  std::size_t pending() const {
    std::size_t n = 0;
    EXPECT_TRUE(
        store_->visit_pending(std::nullopt, [&](HostId, const QueueOrder&, std::string_view) {
          ++n;
          return true;
        }));
    return n;
  }
  std::multiset<std::int64_t> deferred() const {
    std::multiset<std::int64_t> times;
    EXPECT_TRUE(store_->visit_deferred([&](const DeferredUrl& url) {
      times.insert(url.not_before);
      return true;
    }));
    return times;
  }

  test::TemporaryDirectory directory_;
  std::int64_t now_ = 1000;
  std::set<std::uint64_t> leased_;
  std::vector<QueueOrder> promoted_;
  OperationGroup group_;
  std::unique_ptr<Store> store_;
  std::optional<Partitions> partitions_;
  Partition* partition_ = nullptr;
  std::optional<GroupWriter> writer_;
};

TEST_F(GroupWriterTest, AHeldLinkIsForgottenWhenItIsAdmittedWheneverItWasHeld) {
  const auto hold = [this](HostId host) {
    const std::string record = url_of(host).record;
    next().hold({.fingerprint = url_of(host).fingerprint,
                 .was_queued = false,
                 .value = encode_set_aside({.state = SetAsideState::kHeld,
                                            .was_queued = false,
                                            .reason = "out of scope",
                                            .url_record = record})});
    write();
  };
  hold(1);
  open(partition_->counters());
  hold(2);
  hold(3);
  EXPECT_EQ(partition_->counters().held, 2u) << "links may take half of the room";
  hold(2);
  EXPECT_EQ(partition_->counters().held, 2u) << "it is held already";
  for (const HostId host : {2, 1, 3}) {
    next().add(url_of(host));
    write();
    EXPECT_EQ(store_->set_aside_state(url_of(host).fingerprint).value(), std::nullopt);
  }
  EXPECT_EQ(partition_->counters().held, 0u);
  hold(4);
  EXPECT_EQ(store_->set_aside_state(url_of(4).fingerprint).value(), SetAsideState::kHeld);
}

TEST_F(GroupWriterTest, DeferredUrlsAreQueuedWhenTheyAreDue) {
  for (const std::int64_t time : {3000, 2000, 9000})
    next().add(url_of(1, time));
  write();
  EXPECT_EQ(pending(), 0u);
  EXPECT_EQ(partition_->next_deferred(), 2000);
  EXPECT_EQ(partition_->counters().deferred, 3u);

  next().promote = true;
  write();
  EXPECT_TRUE(promoted_.empty()) << "none is due";

  now_ = 3000;
  next().promote = true;
  write();
  EXPECT_EQ(promoted_.size(), 2u);
  EXPECT_EQ(pending(), 2u);
  EXPECT_EQ(deferred(), (std::multiset<std::int64_t>{9000}));
  EXPECT_EQ(partition_->next_deferred(), 9000);
  EXPECT_EQ(partition_->counters().deferred, 1u);
  EXPECT_EQ(partition_->counters().open(), 3u);
}

TEST_F(GroupWriterTest, ARetryKeepsTheUrlOpenAndARecrawlOpensItAgain) {
  using Kind = Operation::Ended::Kind;
  next().add(url_of(1));
  next().add(url_of(2));
  write();
  for (const auto& [host, kind] : {std::pair(1u, Kind::kRetry), std::pair(2u, Kind::kRecrawl)}) {
    auto& ended = next().ended.emplace();
    ended.kind = kind;
    ended.host = host;
    ended.order = {.priority = 0, .sequence = host - 1};
    ended.not_before = 5000;
    ended.record = encode_record({.url = "http://host.test/", .attempts = 1});
  }
  write();
  const Counters counters = partition_->counters();
  EXPECT_EQ(pending(), 0u);
  EXPECT_EQ(deferred().count(5000), 2u);
  EXPECT_EQ(counters.retried, 1u);
  EXPECT_EQ(counters.completed, 1u);
  EXPECT_EQ(counters.recrawls, 1u);
  EXPECT_EQ(counters.open(), 2u);
  EXPECT_EQ(store_->counters().value(), counters);
}

TEST_F(GroupWriterTest, DroppingAHostLeavesLeasedUrlsAndOtherHosts) {
  constexpr std::uint64_t kUrls = 10'000;  // several batches
  Operation& many = next();
  for (std::uint64_t i = 0; i < kUrls; ++i)
    many.add(url_of(5));
  next().add(url_of(5, 7000));
  next().add(url_of(6, 7000));
  next().add(url_of(6));
  write();
  leased_ = {3, 9'000};
  auto drop = std::make_shared<Operation::Drop>();
  drop->host = 5;
  int parts = 0;
  for (; !drop->done; ++parts) {
    next().drop = drop;
    write();
  }
  EXPECT_GT(parts, 2) << "others have their turn in between";
  EXPECT_EQ(drop->dropped, kUrls - 2 + 1);
  EXPECT_EQ(pending(), 2u + 1u);
  EXPECT_EQ(deferred().size(), 1u);
  EXPECT_EQ(partition_->counters().dropped, kUrls - 1);
  EXPECT_EQ(partition_->counters().deferred, 1u);
  EXPECT_EQ(partition_->counters().open(), 4u);
  EXPECT_EQ(partition_->next_deferred(), 7000);
}

// Whatever place in the queue a URL would take that falls due between any two parts.
TEST_F(GroupWriterTest, DroppingAHostDropsWhatFallsDueMeanwhile) {
  for (const std::uint64_t urls : {10, 10'000}) {
    for (int promoted_before = 0; promoted_before < 4; ++promoted_before) {
      SCOPED_TRACE(testing::Message() << urls << " URLs, part " << promoted_before);
      now_ = 1000;
      Operation& many = next();
      for (std::uint64_t i = 0; i < urls; ++i)
        many.add(url_of(5));
      for (const std::int32_t priority : {-1, 0, 1}) {
        many.add(url_of(5, 3000));
        many.admitted.back().priority = priority;
      }
      write();
      auto drop = std::make_shared<Operation::Drop>();
      drop->host = 5;
      for (int part = 0; !drop->done; ++part) {
        if (part == promoted_before) now_ = 3000;
        next().promote = true;
        next().drop = drop;
        write();
      }
      EXPECT_EQ(drop->dropped, urls + 3);
      EXPECT_EQ(pending(), 0u);
      EXPECT_TRUE(deferred().empty());
      EXPECT_EQ(partition_->counters().deferred, 0u);
      EXPECT_EQ(partition_->counters().open(), 0u);
    }
  }
}

TEST_F(GroupWriterTest, TheLedgerHasWhatWasAdmittedAndHowItEnded) {
  Operation& first = next();
  first.add(url_of(1));
  first.admitted.back().fingerprint = kKey;
  write();
  EXPECT_EQ(store_->ledger(kKey).value(), LedgerRecord{});
  auto& ended = next().ended.emplace();
  ended.host = 1;
  ended.outcome.status = 404;
  ended.fingerprint = kKey;
  ended.keeps_by_fingerprint = true;
  ended.fetches = 3;
  write();
  EXPECT_EQ(store_->ledger(kKey).value(),
            (LedgerRecord{.fetches = 3, .status = 404, .fetched = now_}));
}

// As URLs that are added one by one are: in their queues, logged, in the ledger, and not set aside.
TEST_F(GroupWriterTest, RunsAreAdmittedInTheOrderOfTheOperations) {
  const auto run_of = [](std::uint64_t first, std::uint64_t urls) {
    auto run = std::make_shared<QueueRun>();
    for (std::uint64_t n = first; n < first + urls; ++n)
      run->add(0, static_cast<std::uint32_t>(n % 2), {.high = n, .low = 1}, n, 0,
               static_cast<std::uint32_t>(n), encode_record({.url = "http://host.test/"}));
    return run;
  };
  next().queue(run_of(10, 3));
  next().add(url_of(13));
  next().hold({.fingerprint = {.high = 15, .low = 1},
               .was_queued = false,
               .value = encode_set_aside({.was_queued = false, .reason = "", .url_record = ""})});
  next().queue(run_of(14, 2));
  const std::shared_ptr<const QueueRun> last = group_.back()->queued;
  const auto parts = last->parts();
  write();
  EXPECT_EQ(parts[0].sequence, 4u);
  EXPECT_EQ(parts[1].sequence, 5u);
  std::vector<std::uint64_t> admitted;
  ASSERT_TRUE(store_->replay_admissions(0, [&](std::uint64_t first, auto fingerprints) {
    EXPECT_EQ(first, admitted.size());
    for (const Fingerprint& fingerprint : fingerprints)
      admitted.push_back(fingerprint.high);
  }));
  EXPECT_EQ(admitted, (std::vector<std::uint64_t>{10, 11, 12, 13, 14, 15}));
  std::vector<std::uint64_t> sequences;
  ASSERT_TRUE(store_->visit_pending(std::nullopt,
                                    [&](HostId host, const QueueOrder& order, std::string_view) {
                                      EXPECT_EQ(host, 10 + order.sequence);
                                      EXPECT_TRUE(store_->ledger({.high = host, .low = 1}).value());
                                      sequences.push_back(order.sequence);
                                      return true;
                                    }));
  EXPECT_EQ(sequences, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  const Counters counters = partition_->counters();
  EXPECT_EQ(counters.admitted, 6u);
  EXPECT_EQ(counters.sequence, 6u);
  EXPECT_EQ(counters.deepest, 15u);
  EXPECT_EQ(counters.held, 0u);
  EXPECT_EQ(store_->counters().value(), counters);
}

// In whatever order they are committed, and though the filter was wrong.
TEST_F(GroupWriterTest, AUrlOfferedAgainIsInTheLedgerAndCountedOnce) {
  const auto add = [&](std::uint64_t key, bool again) {
    Operation& operation = next();
    operation.add(url_of(1));
    operation.admitted.back().fingerprint.high = key;
    operation.admitted.back().record =
        encode_record({.url = "http://host.test/", .recrawl = again});
  };
  add(1, true);
  add(1, false);
  add(2, true);
  add(2, true);
  write();
  EXPECT_EQ(partition_->counters().admitted, 4u);
  EXPECT_EQ(partition_->counters().urls(), 2u);
  add(1, true);
  add(2, true);
  add(3, true);
  write();
  EXPECT_EQ(partition_->counters().urls(), 3u);
  std::uint64_t records = 0;
  ASSERT_TRUE(store_->visit_ledger([&](Fingerprint, const LedgerRecord&) { ++records; }));
  EXPECT_EQ(records, 3u);
  EXPECT_EQ(store_->counters().value(), partition_->counters());
}

TEST_F(GroupWriterTest, SeenAnswersAreCheckedAgainstTheLedgerOncePerUrl) {
  next().add(url_of(1));
  write();
  for (int i = 0; i < 3; ++i)
    next().seen_to_check = {{.high = 1, .low = 1}, {.high = 99, .low = 1}};
  write();
  EXPECT_EQ(writer_->seen_checks().checked, 6u);
  EXPECT_EQ(writer_->seen_checks().wrong, 1u);
}

TEST_F(GroupWriterTest, DepthsAreLoweredAndForgotten) {
  next().lowered_depths = {{kKey, 5}};
  next().lowered_depths = {{kKey, 3}};
  next().lowered_depths = {{kKey, 4}};
  write();
  EXPECT_EQ(store_->depth(kKey).value(), 3u);
  EXPECT_EQ(partition_->counters().lowered, 3u);
  auto& ended = next().ended.emplace();
  ended.fingerprint = kKey;
  ended.keeps_by_fingerprint = true;
  ended.depth_noted = true;
  ended.depth_lowered = true;
  write();
  EXPECT_EQ(store_->depth(kKey).value(), std::nullopt);
  EXPECT_EQ(partition_->counters().depth_repairs, 1u);
}

}  // namespace
}  // namespace trawl
