// Calls for a host while its bucket goes to another owner.
#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frontier/frontier_impl.h"
#include "tests/frontier/fake_store.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;

class FrontierBuckets : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kBuckets = 4;

  FrontierBuckets() {
    auto store = std::make_unique<test::FakeStore>();
    store_ = store.get();
    EmbeddedOptions options;
    options.seen.expected_urls = 1000;
    options.politeness.delay = 0ms;
    options.testing.clock = [] { return std::chrono::steady_clock::now(); };
    options.testing.wall_clock = [] { return std::chrono::system_clock::now(); };
    frontier_ = std::make_unique<FrontierImpl>(
        options, FrontierParts{.recovery = nullptr,
                               .store = std::move(store),
                               .partitions = std::make_unique<Partitions>(kBuckets),
                               .clock = 0,
                               .hash = KeyedHash::from_seed(1),
                               .ledger = false,
                               .set_aside_keys_changed = false,
                               .resumed = false,
                               .real_clock = true,
                               .ends_follow_links = true,
                               .buckets = kBuckets,
                               .retired = [](std::uint32_t) {},
                               .write_parts =
                                   [this](auto parts, auto links) {
                                     return store_->write_parts(parts, links);
                                   }});
    EXPECT_TRUE(frontier_->restore());
    for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket)
      take(bucket);
  }
  void take(std::uint32_t bucket) {
    auto filter = GrowingBloomFilter::create(
        {.capacity = 1024, .false_positive_rate = 1e-6, .hash = frontier_->hash()});
    frontier_->begin_bucket(bucket, SteadyTime());
    frontier_->open_bucket(bucket, std::make_unique<Partition>(std::move(*filter), Counters{},
                                                               Partition::Keys::kLower));
  }
  std::uint32_t bucket_of(std::string_view host) const { return frontier_->bucket_of(host); }
  // The bucket of the host is lost while the next batch is written.
  void lose_with_next_write(const std::string& host) {
    store_->on_write = [this, host](const StoreBatch&) -> Result<void> {
      frontier_->lose_bucket(bucket_of(host));
      return {};
    };
  }
  // It is handed over meanwhile: what is being written is the last of it.
  void hand_over_with_next_write(const std::string& host) {
    store_->on_write = [this, host, over = false](const StoreBatch&) mutable -> Result<void> {
      if (!std::exchange(over, true)) {
        std::thread other([&] { EXPECT_TRUE(frontier_->retire_bucket(bucket_of(host))); });
        other.join();
      }
      return {};
    };
  }
  void queue_one(const std::string& host) {
    const std::string url = "http://" + host + "/1";
    const UrlRequest request{.url = url};
    ASSERT_TRUE(static_cast<Frontier&>(*frontier_).offer(std::span(&request, 1)));
    ASSERT_TRUE(frontier_->flush());
    store_->put({.host = UrlIdentity(KeyedHash::from_seed(1), Profile{}, kBuckets).host(host),
                 .order = {.priority = 0, .sequence = 0},
                 .record = encode_record({.url = url})});
  }

  test::FakeStore* store_ = nullptr;
  std::unique_ptr<FrontierImpl> frontier_;
};

TEST_F(FrontierBuckets, AMessageThatComesTwiceQueuesWhatIsOfferedAgainOnce) {
  const UrlRequest request{.url = "http://a.test/", .again = true};
  std::size_t taken = 0;
  const auto take_message = [&](char number) {
    const auto answers =
        frontier_->take_message(bucket_of("a.test"), MessageId{number}, std::span(&request, 1), {},
                                [&](const auto& done) { taken += done ? 1 : 0; });
    EXPECT_EQ(answers.size(), 1u);
  };
  for (const char number : {1, 1, 2, 1, 2})
    take_message(number);
  ASSERT_TRUE(frontier_->flush());
  EXPECT_EQ(taken, 5u) << "each leaves the inbox";
  EXPECT_EQ(frontier_->stats()->open(), 2u);
  // Another owner may come in between, and not know of it.
  ASSERT_TRUE(frontier_->retire_bucket(bucket_of("a.test")));
  ASSERT_TRUE(frontier_->flush());
  take(bucket_of("a.test"));
  take_message(1);
  ASSERT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->stats()->open(), 1u) << "of the new owner";
}

// The caller passes it on to the next owner.
TEST_F(FrontierBuckets, AChangeOfAHostIsRefusedIfItsBucketIsLostMeanwhile) {
  EXPECT_TRUE(frontier_->set_host("a.test", {.delay = 5s}));
  lose_with_next_write("a.test");
  EXPECT_EQ(frontier_->set_host("a.test", {.delay = 6s}).error().code, ErrorCode::kUnavailable);
  store_->on_write = nullptr;
  EXPECT_EQ(frontier_->set_host("a.test", {.delay = 7s}).error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(frontier_->retire_bucket(bucket_of("a.test")));
  EXPECT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->set_host("a.test", {.delay = 7s}).error().code, ErrorCode::kUnavailable);
  take(bucket_of("a.test"));
  EXPECT_TRUE(frontier_->set_host("a.test", {.delay = 7s}));
}

TEST_F(FrontierBuckets, ADropIsRefusedIfTheBucketIsLostMeanwhile) {
  const std::string url = "http://a.test/1";
  const UrlRequest request{.url = url};
  ASSERT_TRUE(static_cast<Frontier&>(*frontier_).offer(std::span(&request, 1)));
  ASSERT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->drop_host("b.test"), 0u);
  const auto leases = frontier_->lease({.max = 1}).value();
  ASSERT_EQ(leases.size(), 1u);
  ASSERT_TRUE(static_cast<Frontier&>(*frontier_).release(leases[0].id));
  store_->put({.host = UrlIdentity(KeyedHash::from_seed(1), Profile{}, kBuckets).host("a.test"),
               .order = {.priority = 0, .sequence = 0},
               .record = encode_record({.url = url})});
  lose_with_next_write("a.test");
  EXPECT_EQ(frontier_->drop_host("a.test").error().code, ErrorCode::kUnavailable);
  store_->on_write = nullptr;
  ASSERT_TRUE(frontier_->retire_bucket(bucket_of("a.test")));
  EXPECT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->drop_host("a.test").error().code, ErrorCode::kUnavailable);
}

// It must not reach the next owner a second time.
TEST_F(FrontierBuckets, AChangeThatIsWrittenWhileItsBucketIsHandedOverIsMadeOnce) {
  hand_over_with_next_write("a.test");
  EXPECT_TRUE(frontier_->set_host("a.test", {.delay = 6s}));
  EXPECT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->set_host("a.test", {.delay = 7s}).error().code, ErrorCode::kUnavailable);
}

TEST_F(FrontierBuckets, ADropThatIsWrittenWhileItsBucketIsHandedOverIsMadeOnce) {
  queue_one("a.test");
  hand_over_with_next_write("a.test");
  EXPECT_EQ(frontier_->drop_host("a.test"), 1u);
  EXPECT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->drop_host("a.test").error().code, ErrorCode::kUnavailable);
}

TEST_F(FrontierBuckets, TheUrlsSetAsideOfOneBucketAreRetried) {
  std::map<std::uint32_t, std::uint64_t> held;  // by bucket
  for (int i = 0; i < 40; ++i) {
    const std::string host = fmt::format("h{}.test", i);
    const std::string url = "http://" + host + "/";
    const UrlIdentity identity(KeyedHash::from_seed(1), Profile{}, kBuckets);
    const Fingerprint key = identity.of_href(url).value();
    store_->set_aside_urls[{key.high, key.low}] = encode_set_aside(
        {.was_queued = true, .reason = "why", .url_record = encode_record({.url = url})});
    ++held[bucket_of(host)];
  }
  ASSERT_EQ(held.size(), kBuckets);
  std::uint64_t all = 0;
  for (const auto& [bucket, urls] : held) {
    EXPECT_EQ(frontier_->retry_in(bucket, {.reason = "another"}), 0u);
    EXPECT_EQ(frontier_->retry_in(bucket, {.reason = "why"}), urls);
    EXPECT_EQ(frontier_->retry_in(bucket, {.key = "http://h7.test/"}),
              bucket == bucket_of("h7.test") ? 1u : 0u);
    all += urls;
  }
  EXPECT_EQ(frontier_->retry({.reason = "why"}), all);
}

}  // namespace
}  // namespace trawl
