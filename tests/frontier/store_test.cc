#include "frontier/store.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using Fingerprints = std::vector<Fingerprint>;

QueuedUrl queued(const std::string& host, std::uint64_t sequence) {
  return {.host = host,
          .order = {.priority = 0, .sequence = sequence},
          .url = "http://" + host + "/" + std::to_string(sequence),
          .parent = "",
          .depth = 0,
          .redirects = 0};
}

class StoreTest : public ::testing::Test {
 protected:
  void reopen() {
    store_.reset();
    auto store = Store::open(directory_.path() / "store", false);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
  }
  void SetUp() override { reopen(); }

  std::vector<std::uint64_t> replayed(std::uint64_t from) const {
    std::vector<std::uint64_t> lows;
    EXPECT_TRUE(store_->replay_admissions(from, [&](std::uint64_t, std::span<const Fingerprint> f) {
      for (const auto& fingerprint : f)
        lows.push_back(fingerprint.low);
    }));
    return lows;
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, QueuesAreReadInOrderInPartsAndWithoutTheUnwanted) {
  Store::Batch batch;
  for (const char* host : {"a", "a.b", "b"}) {
    for (std::uint64_t n = 0; n < 10; ++n)
      batch.add_pending(queued(host, n));
  }
  batch.remove_pending("a", queued("a", 3).order);
  ASSERT_TRUE(store_->write(batch));
  reopen();
  const auto wanted = [](const QueueOrder& order) { return order.sequence % 2 == 1; };
  auto urls = store_->read_queue("a", std::nullopt, 3, wanted).value();
  ASSERT_EQ(urls.size(), 3u);
  EXPECT_EQ(urls[0].order.sequence, 1u);
  EXPECT_EQ(urls[1].order.sequence, 5u);
  EXPECT_EQ(urls[2].order.sequence, 7u);
  urls = store_->read_queue("a", urls.back().order, 3, wanted).value();
  ASSERT_EQ(urls.size(), 1u) << "the queue of a ends before that of a.b";
  EXPECT_EQ(urls[0].order.sequence, 9u);

  std::vector<std::pair<std::string, std::size_t>> heads;
  ASSERT_TRUE(store_->visit_queues(
      4, [&](std::vector<QueuedUrl> head) { heads.emplace_back(head.front().host, head.size()); }));
  const std::vector<std::pair<std::string, std::size_t>> expected = {
      {"a", 4}, {"a.b", 4}, {"b", 4}};
  EXPECT_EQ(heads, expected);
  heads.clear();
  ASSERT_TRUE(store_->visit_queues(100, [&](std::vector<QueuedUrl> head) {
    heads.emplace_back(head.front().host, head.size());
  }));
  const std::vector<std::pair<std::string, std::size_t>> whole = {{"a", 9}, {"a.b", 10}, {"b", 10}};
  EXPECT_EQ(heads, whole);
}

TEST_F(StoreTest, TheAdmissionLogIsReplayedFromAnySequenceAndTrimmed) {
  Store::Batch first, second;
  first.log_admissions(0, Fingerprints{{.low = 0}, {.low = 1}, {.low = 2}});
  second.log_admissions(3, Fingerprints{{.low = 3}, {.low = 4}});
  ASSERT_TRUE(store_->write(first));
  ASSERT_TRUE(store_->write(second));
  reopen();
  EXPECT_EQ(replayed(0).size(), 5u);
  EXPECT_EQ(replayed(2).front(), 0u) << "the batch that holds it is replayed whole";
  EXPECT_EQ(replayed(3).front(), 3u);
  EXPECT_TRUE(replayed(5).empty());
  ASSERT_TRUE(store_->trim_admissions(3));
  EXPECT_EQ(replayed(0).front(), 3u);
}

TEST_F(StoreTest, CountersAndHostDelaysAreKept) {
  EXPECT_EQ(store_->counters()->admitted, 0u);
  Store::Batch batch;
  batch.set_counters({.admitted = 5, .completed = 4, .failed = 3, .seen = 2, .invalid = 1});
  batch.set_host_delay("a.test", std::chrono::milliseconds(2500));
  ASSERT_TRUE(store_->write(batch));
  reopen();
  const Counters counters = store_->counters().value();
  EXPECT_EQ(counters.admitted, 5u);
  EXPECT_EQ(counters.invalid, 1u);
  int delays = 0;
  ASSERT_TRUE(store_->visit_host_delays([&](std::string host, std::chrono::milliseconds delay) {
    EXPECT_EQ(host, "a.test");
    EXPECT_EQ(delay.count(), 2500);
    ++delays;
  }));
  EXPECT_EQ(delays, 1);
}

}  // namespace
}  // namespace trawl
