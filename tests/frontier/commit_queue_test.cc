// What becomes durable together, and what becomes of operations when it cannot or may not.
#include "frontier/commit/commit_queue.h"

#include <array>
#include <cstring>
#include <latch>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/frontier/fake_store.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kThreads = 4;
constexpr std::uint64_t kMaxBytes = 1 << 20;

// Names of up to eight characters stand for hosts.
HostId host_named(const std::string& name) {
  EXPECT_LE(name.size(), sizeof(HostId));
  HostId host = 0;
  std::memcpy(&host, name.data(), name.size());
  return host;
}
std::string name_of(HostId host) {
  std::string name(sizeof host, '\0');
  std::memcpy(name.data(), &host, sizeof host);
  return name.substr(0, name.find('\0'));
}

void admit(Operation& operation, const std::string& name) {
  operation.add({.fingerprint = {.high = 1, .low = 2},
                 .host = host_named(name),
                 .record = encode_record({.url = "http://host.test/"})});
}

// Of a URL whose place in the queue has the number `sequence`.
void end(Operation& operation, const std::string& name, std::uint64_t sequence = 0) {
  operation.ended.emplace();
  operation.ended->host = host_named(name);
  operation.ended->order = {.priority = 0, .sequence = sequence};
  operation.ended->outcome.status = 200;
}

// The hosts that a batch adds pending URLs of, or, with `ended`, removes them of.
std::multiset<std::string> hosts_in(const Store::Batch& batch, bool ended = false) {
  std::multiset<std::string> hosts;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto change = batch.change(i);
    const bool removes = change.kind != Store::Batch::Kind::kPut;
    if (change.family == kPending && removes == ended)
      hosts.insert(name_of(decode_pending_key(change.key)->first));
  }
  return hosts;
}

class CommitQueueTest : public ::testing::Test {
 protected:
  CommitQueue& start(std::function<Result<void>()> before_commit = {}) {
    queue_.reset();
    GroupWriterOptions options;
    options.before_commit = std::move(before_commit);
    options.wall_clock = [] { return SystemTime(); };
    options.now = [] { return 0; };
    options.record_of = [](HostId, std::uint64_t) {
      return HostRecord{.name = "slow", .delay = milliseconds(7)};
    };
    options.after_commit = [this](const OperationGroup& group, auto&) {
      for (const auto& operation : group)
        committed_ += operation->admitted.size();
    };
    writer_.reset();
    partitions_.emplace(std::make_unique<Partition>(
        GrowingBloomFilter::create({.capacity = 1000}).value(), Counters{}));
    partition_ = &partitions_->only();
    writer_.emplace(store_, *partitions_, std::move(options));
    return queue_.emplace(*writer_, kMaxBytes);
  }
  std::multiset<std::string> durable() const {
    std::multiset<std::string> all;
    for (const auto& batch : store_.batches())
      all.merge(hosts_in(batch));
    return all;
  }

  test::FakeStore store_;
  std::size_t committed_ = 0;  // URLs passed to after_commit
  std::optional<Partitions> partitions_;
  Partition* partition_ = nullptr;
  std::optional<GroupWriter> writer_;
  std::optional<CommitQueue> queue_;
};

TEST_F(CommitQueueTest, N4_NothingIsWrittenWhileAnOperationIsInsideTheGate) {
  CommitQueue& queue = start();
  std::latch a_inside(1), b_inside(1), a_may_leave(1);
  std::thread a([&] {
    const auto submitted = queue.submit([&](Operation& operation) {
      a_inside.count_down();
      a_may_leave.wait();
      admit(operation, "a");
    });
    EXPECT_TRUE(submitted);
  });
  a_inside.wait();
  std::thread b([&] {
    const auto durable = queue.submit_and_wait([&](Operation& operation) {
      admit(operation, "b");
      b_inside.count_down();
    });
    EXPECT_TRUE(durable);
  });
  b_inside.wait();
  // Time for a committer that does not wait for A to show itself.
  EXPECT_FALSE(store_.wait_for_write(milliseconds(100)));
  a_may_leave.count_down();
  b.join();
  const auto batches = store_.batches();
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(hosts_in(batches[0]), (std::multiset<std::string>{"a", "b"}));
  a.join();
}

// Of all batches, in order: a for each host that URLs are added of, -a for each that they end of.
std::vector<std::string> steps_of(const std::vector<Store::Batch>& batches) {
  std::vector<std::string> steps;
  for (const auto& batch : batches) {
    std::string step;
    for (const auto& host : hosts_in(batch))
      step += host;
    for (const auto& host : hosts_in(batch, true))
      step += "-" + host;
    if (!step.empty()) steps.push_back(step);
  }
  return steps;
}

void admit_then_end(Operation& operation, const std::string& link, const std::string& page) {
  admit(operation, link);
  operation.then = std::make_unique<Operation>();
  end(*operation.then, page);
}

TEST_F(CommitQueueTest, N3_WhatFollowsAnOperationIsInALaterBatchThatACallerWaitsForToo) {
  CommitQueue& queue = start();
  ASSERT_TRUE(
      queue.submit_and_wait([](Operation& operation) { admit_then_end(operation, "a", "p"); }));
  EXPECT_EQ(steps_of(store_.batches()), (std::vector<std::string>{"a", "-p"}));
  ASSERT_TRUE(queue.submit([](Operation& operation) { admit_then_end(operation, "b", "q"); }));
  ASSERT_TRUE(queue.flush());
  ASSERT_TRUE(queue.flush()) << "the first had it queued";
  EXPECT_EQ(steps_of(store_.batches()), (std::vector<std::string>{"a", "-p", "b", "-q"}));
}

// It relied on what others did, and so does what follows.
TEST_F(CommitQueueTest, N4_WhatFollowsAnOperationThatChangesNothingWaitsForWhatThatReliedOn) {
  CommitQueue& queue = start();
  ASSERT_TRUE(queue.submit([](Operation& operation) { admit(operation, "a"); }));
  ASSERT_TRUE(queue.submit_and_wait([](Operation& operation) {
    operation.then = std::make_unique<Operation>();
    end(*operation.then, "p");
  }));
  EXPECT_EQ(steps_of(store_.batches()), (std::vector<std::string>{"a", "-p"}));
}

TEST_F(CommitQueueTest, ACommitThatMovesNothingIsNotCounted) {
  CommitQueue& queue = start();
  const std::uint64_t before = queue.commit_number();
  ASSERT_TRUE(queue.flush());
  EXPECT_EQ(queue.commit_number(), before);
  ASSERT_TRUE(queue.submit_and_wait([](Operation& operation) { admit(operation, "a"); }));
  EXPECT_EQ(queue.commit_number(), before + 2);
}

TEST_F(CommitQueueTest, N3_NothingFollowsAnOperationThatFailed) {
  CommitQueue& queue = start();
  for (const std::string refused : {"a", "-p"}) {
    SCOPED_TRACE(refused);
    store_.on_write = [&](const Store::Batch& batch) -> Result<void> {
      if (steps_of({batch}) != std::vector{refused}) return {};
      return error(ErrorCode::kIo, "refused");
    };
    CommitQueue& fresh = refused == "a" ? queue : start();
    const std::size_t before = store_.batches().size();
    const auto done =
        fresh.submit_and_wait([](Operation& operation) { admit_then_end(operation, "a", "p"); });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "refused");
    EXPECT_FALSE(fresh.close());
    EXPECT_EQ(store_.batches().size() - before, refused == "a" ? 0u : 1u);
  }
}

TEST_F(CommitQueueTest, ClosingCommitsWhatFollows) {
  for (int i = 0; i < 50; ++i) {
    CommitQueue& queue = start();
    ASSERT_TRUE(queue.submit([](Operation& operation) {
      admit_then_end(operation, "a", "p");
      operation.then->then = std::make_unique<Operation>();
      end(*operation.then->then, "q");
    }));
    ASSERT_TRUE(queue.close());
    auto steps = steps_of(store_.batches());
    steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(3 * i));
    EXPECT_EQ(steps, (std::vector<std::string>{"a", "-p", "-q"}));
  }
}

// Everything waits for the committer, and a store may be on another machine.
TEST_F(CommitQueueTest, TheCommitterReadsNeitherQueuesNorHosts) {
  store_.on_read = [](std::size_t) -> Result<void> {
    ADD_FAILURE() << "a queue is read";
    return {};
  };
  store_.on_host = [](HostId) -> Result<void> {
    ADD_FAILURE() << "a host is read";
    return {};
  };
  store_.deferred = {{.not_before = -1, .host = 3, .record = encode_record({.url = "http://d/"})}};
  CommitQueue& queue = start();
  ASSERT_TRUE(queue.submit_and_wait([](Operation& operation) {
    admit_then_end(operation, "a", "p");
    operation.promote = true;
    operation.changed_hosts.emplace_back(HostId{5});
    operation.restored.push_back({.fingerprint = {.high = 9, .low = 9}, .host = 1, .record = {}});
    operation.lowered_depths.emplace_back(Fingerprint{}, 3);
    operation.hold({.fingerprint = {.high = 8, .low = 8}, .was_queued = false, .value = {}});
  }));
  EXPECT_GE(store_.batches().size(), 2u);
}

TEST_F(CommitQueueTest, WhatNobodyWaitsForIsCommittedAllTheSame) {
  CommitQueue& queue = start();
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(queue.submit([&](Operation& operation) { admit(operation, name); }));
    EXPECT_TRUE(store_.wait_for_write(milliseconds(10'000))) << name;
    // Long enough for the committer to go to sleep.
    std::this_thread::sleep_for(20 * CommitQueue::kMaxDelay);
  }
  EXPECT_EQ(durable(), (std::multiset<std::string>{"a", "b"}));
}

// A switch between threads costs more than a small group.
TEST_F(CommitQueueTest, ACallerThatWaitsCommitsItselfUnlessAnotherThreadDoes) {
  CommitQueue& queue = start();
  ASSERT_TRUE(queue.submit_and_wait([&](Operation& operation) { admit(operation, "first"); }));
  std::atomic<bool> in_caller{false};
  const auto caller = std::this_thread::get_id();
  store_.on_write = [&](const Store::Batch&) -> Result<void> {
    if (std::this_thread::get_id() == caller) in_caller = true;
    return {};
  };
  // The committer may wake from a doze just then.
  while (!in_caller)
    ASSERT_TRUE(queue.submit_and_wait([&](Operation& operation) { admit(operation, "own"); }));
  // While one thread writes, what others wait for is left to the committer.
  std::latch writing(1), may_end(1);
  std::atomic<int> writers{0}, most{0};
  store_.on_write = [&, first = true](const Store::Batch&) mutable -> Result<void> {
    most = std::max(most.load(), ++writers);
    if (std::exchange(first, false)) {
      writing.count_down();
      may_end.wait();
    }
    --writers;
    return {};
  };
  std::thread slow([&] {
    EXPECT_TRUE(queue.submit_and_wait([&](Operation& operation) { admit(operation, "slow"); }));
  });
  writing.wait();
  std::thread other([&] {
    EXPECT_TRUE(queue.submit_and_wait([&](Operation& operation) { admit(operation, "other"); }));
  });
  while (queue.queued() == 0)
    std::this_thread::yield();
  may_end.count_down();
  slow.join();
  other.join();
  EXPECT_EQ(most, 1);
  store_.on_write = nullptr;  // closing writes, too
}

// Without it what comes one after the other is committed in groups.
TEST_F(CommitQueueTest, AHurryIsAnsweredAtOnce) {
  constexpr int kOperations = 2000;
  CommitQueue& queue = start();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kOperations; ++i)
    ASSERT_TRUE(queue.submit([&](Operation& operation) { admit(operation, "a"); }));
  ASSERT_TRUE(queue.flush());
  // At most one each time its patience ends.
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_LE(store_.batches().size(),
            static_cast<std::size_t>(took / CommitQueue::kMaxDelay) + 2 + kOperations / 256);
  const std::size_t before = store_.batches().size();
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(queue.submit([&](Operation& operation) { admit(operation, "b"); }));
    queue.hurry();
    while (queue.queued() > 0)
      std::this_thread::yield();
  }
  ASSERT_TRUE(queue.flush());
  EXPECT_GE(store_.batches().size(), before + 50);
}

// Threads race for keys, as for bits of the filter: a thread that loses one relies on the winner.
TEST_F(CommitQueueTest, N3_N4_WhatAnOperationReliedOnIsDurableWithItOrBefore) {
  constexpr std::size_t kOperations = 400;
  constexpr std::size_t kKeys = 600;
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  CommitQueue& queue = start();
  std::array<std::atomic<bool>, kKeys> taken{};
  // By the number of the operation: the keys it found taken, and those it won.
  std::map<std::string, std::vector<std::string>> relied_on, won;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(seed + t);
      for (std::size_t n = 0; n < kOperations; ++n) {
        const std::string name = "op" + std::to_string(t * kOperations + n);
        std::vector<std::string> lost, mine;
        const auto fill = [&](Operation& operation) {
          end(operation, name, t * kOperations + n);
          for (int i = 0; i < 3; ++i) {
            const std::size_t key = (n + random() % 40) % kKeys;
            const std::string host = "key" + std::to_string(key);
            if (taken[key].exchange(true)) {
              lost.push_back(host);
            } else {
              admit(operation, host);
              mine.push_back(host);
            }
            std::this_thread::yield();  // between winning a key and queueing it
          }
        };
        // Those that wait commit in the committer's place.
        const auto submitted = n % 3 == 0 ? queue.submit_and_wait(fill) : queue.submit(fill);
        EXPECT_TRUE(submitted);
        const std::lock_guard lock(mutex);
        relied_on[name] = std::move(lost);
        won[name] = std::move(mine);
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  ASSERT_TRUE(queue.flush());
  std::multiset<std::string> durable;
  std::size_t ended = 0;
  for (const auto& batch : store_.batches()) {
    const auto admitted = hosts_in(batch);
    durable.insert(admitted.begin(), admitted.end());
    for (const auto& name : hosts_in(batch, true)) {
      ++ended;
      for (const auto& key : won.at(name))
        EXPECT_EQ(admitted.count(key), 1u) << key << " without " << name << ", which won it";
      for (const auto& key : relied_on.at(name))
        EXPECT_EQ(durable.count(key), 1u) << name << " before " << key << ", which it relied on";
    }
  }
  EXPECT_EQ(ended, kThreads * kOperations);
}

TEST_F(CommitQueueTest, N3_ACompletionItsLinksAndTheCountersAreOneWrite) {
  CommitQueue& queue = start();
  const auto done = queue.submit_and_wait([](Operation& operation) {
    end(operation, "page");
    admit(operation, "link1");
    admit(operation, "link2");
    operation.changed_hosts.push_back(host_named("slow"));
    operation.seen = 3;
  });
  ASSERT_TRUE(done);
  const auto batches = store_.batches();
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(hosts_in(batches[0]), (std::multiset<std::string>{"link1", "link2"}));
  EXPECT_EQ(hosts_in(batches[0], true), (std::multiset<std::string>{"page"}));
  std::multiset<StoreFamily> families;
  for (std::size_t i = 0; i < batches[0].size(); ++i)
    families.insert(batches[0].change(i).family);
  EXPECT_EQ(families,
            (std::multiset<StoreFamily>{kMeta, kPending, kPending, kPending, kHosts, kAdmissions}));
  EXPECT_EQ(queue.counters().admitted, 2u);
  EXPECT_EQ(queue.counters().completed, 1u);
  EXPECT_EQ(queue.counters().seen, 3u);
}

TEST_F(CommitQueueTest, E1_NothingIsWrittenAfterAFailedWrite) {
  std::atomic<int> attempts{0};
  std::latch writing(1), behind_queued(1);
  store_.on_write = [&](const Store::Batch&) -> Result<void> {
    if (++attempts == 1) return {};
    writing.count_down();
    behind_queued.wait();
    return error(ErrorCode::kNoSpace, "the disk is full");
  };
  CommitQueue& queue = start();
  ASSERT_TRUE(queue.submit_and_wait([](Operation& operation) { admit(operation, "written"); }));
  ASSERT_TRUE(queue.submit([](Operation& operation) { admit(operation, "failed"); }));
  writing.wait();
  // Accepted before the failure, and failed by it.
  std::future<Result<void>> behind;
  ASSERT_TRUE(queue.submit([&](Operation& operation) {
    behind = operation.durable.emplace().get_future();
    admit(operation, "behind");
  }));
  behind_queued.count_down();
  const auto expect_failure = [](const Result<void>& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kNoSpace);
    EXPECT_EQ(result.error().message, "the disk is full");
  };
  expect_failure(behind.get());
  expect_failure(queue.submit([](Operation& operation) { admit(operation, "later"); }));
  expect_failure(queue.submit_and_wait([](Operation& operation) { admit(operation, "later"); }));
  expect_failure(queue.flush());
  expect_failure(queue.check());
  expect_failure(queue.close());
  expect_failure(queue.check());
  EXPECT_EQ(attempts.load(), 2);
  EXPECT_EQ(durable(), (std::multiset<std::string>{"written"}));
  EXPECT_EQ(committed_, 1u);
  EXPECT_EQ(queue.counters().admitted, 1u);
}

TEST_F(CommitQueueTest, E1_NothingIsWrittenAfterBeforeCommitFailed) {
  int asked = 0;
  CommitQueue& queue = start([&]() -> Result<void> {
    if (++asked == 1) return {};
    return error(ErrorCode::kIo, "pages.jsonl");
  });
  ASSERT_TRUE(queue.submit_and_wait([](Operation& operation) { admit(operation, "url"); }));
  for (int i = 0; i < 2; ++i) {
    const auto done = queue.submit_and_wait([](Operation& operation) {
      end(operation, "page");
      admit(operation, "link");
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "pages.jsonl");
  }
  EXPECT_EQ(queue.submit([](Operation&) {}).error().code, ErrorCode::kIo);
  EXPECT_EQ(queue.close().error().code, ErrorCode::kIo);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(durable(), (std::multiset<std::string>{"url"}));
  EXPECT_EQ(committed_, 1u);
}

TEST_F(CommitQueueTest, CloseCommitsAllThatWasAnsweredWithSuccess) {
  for (int round = 0; round < 20; ++round) {
    CommitQueue& queue = start();
    std::atomic<std::size_t> answered{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (;;) {
          const auto fill = [](Operation& operation) { admit(operation, "url"); };
          const auto done = t == 0 ? queue.submit_and_wait(fill) : queue.submit(fill);
          if (!done) {
            EXPECT_EQ(done.error().code, ErrorCode::kClosed);
            return;
          }
          answered.fetch_add(1);
        }
      });
    }
    while (answered.load() < 100)
      std::this_thread::yield();
    EXPECT_TRUE(queue.close());
    const std::uint64_t at_close = queue.counters().admitted;
    for (auto& thread : threads)
      thread.join();
    EXPECT_EQ(at_close, answered.load());
    EXPECT_EQ(queue.counters().admitted, answered.load()) << "nothing came after close()";
  }
  EXPECT_EQ(durable().size(), committed_);
}

// It passed the check for closed while the last group was being written.
TEST_F(CommitQueueTest, AnOperationAcceptedDuringTheLastWriteIsCommittedToo) {
  CommitQueue& queue = start();
  bool is_last_group = true;
  store_.on_write = [&](const Store::Batch&) -> Result<void> {
    if (std::exchange(is_last_group, false)) {
      std::thread([&] {
        EXPECT_TRUE(queue.submit([](Operation& operation) { admit(operation, "late"); }));
      }).join();
    }
    return {};
  };
  EXPECT_TRUE(queue.close());
  EXPECT_EQ(durable(), (std::multiset<std::string>{"late"}));
  EXPECT_EQ(committed_, 1u);
}

TEST_F(CommitQueueTest, AClosedQueueRefuses) {
  CommitQueue& queue = start();
  EXPECT_TRUE(queue.close());
  EXPECT_TRUE(queue.close());
  bool filled = false;
  const auto fill = [&](Operation&) { filled = true; };
  EXPECT_EQ(queue.submit(fill).error().code, ErrorCode::kClosed);
  EXPECT_EQ(queue.submit_and_wait(fill).error().code, ErrorCode::kClosed);
  EXPECT_EQ(queue.flush().error().code, ErrorCode::kClosed);
  EXPECT_FALSE(filled) << "its bits would be in the filter, its URL nowhere";
}

}  // namespace
}  // namespace trawl
