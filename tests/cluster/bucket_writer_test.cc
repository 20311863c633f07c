// The batches of a bucket's writer in a real redis-server, also after a failover took some back.
#include "frontier/shared/bucket_writer.h"

#include <map>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "frontier/shared/bucket_batch_maker.h"
#include "frontier/store/set_aside_record.h"
#include "frontier/store/store_records.h"
#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr BucketId kFirst = 7;
constexpr HostId kOneHost = 0x0700000000000001;

std::string url_record(std::uint64_t number) {
  return encode_record({.url = fmt::format("http://a.test/{}", number)});
}
std::string aside_record(std::uint64_t number) {
  return encode_set_aside({.reason = "why", .url_record = url_record(number)});
}
Fingerprint url_key(std::uint64_t number) {
  return {.high = kOneHost, .low = 1000 + number};
}

// All that Redis has of a bucket.
struct Contents {
  std::vector<std::uint64_t> seen;
  std::map<std::tuple<HostId, std::int32_t>, std::vector<std::uint64_t>> queues;
  std::map<HostId, std::string> hosts;
  std::map<std::uint64_t, std::string> deferred;
  std::map<std::uint64_t, std::string> aside;
  bool operator==(const Contents&) const = default;
};

class BucketWriterTest : public test::RedisFixture {
 protected:
  void SetUp() override {
    RedisFixture::SetUp();
    if (client_ == nullptr) return;
    store_ = std::make_unique<BucketStore>(*client_, BucketKeys("crawl"), true);
    store_->set_patience(milliseconds(300));
  }
  BucketWriter::Options options() {
    return {.gives_up = [this] { return gives_up_; },
            .clock = [this] { return now_; },
            .pause = milliseconds(1)};
  }
  BucketMeta claim(BucketId bucket, const std::string& token) {
    const auto owners = store_->owners(std::span(&bucket, 1));
    const BucketStore::Claim claim{.bucket = bucket, .seen = owners[0].value(), .token = token};
    const auto claimed = store_->claim(std::span(&claim, 1));
    EXPECT_EQ(claimed[0].result.code, BucketStore::Written::Code::kDone);
    return claimed[0].meta;
  }
  void own(BucketWriter& writer, BucketId bucket = kFirst, const std::string& token = "a") {
    writer.begin(bucket, token, claim(bucket, token), std::make_shared<BucketHosts>(),
                 std::make_shared<NotedDepths>());
  }
  static Result<void> write(BucketWriter& writer, const StoreBatch& batch,
                            BucketId bucket = kFirst) {
    BucketWriter::Part part{.bucket = bucket, .batch = &batch};
    const auto done = writer.write(std::span(&part, 1));
    EXPECT_TRUE(done || (!part.result && part.result.error().code == ErrorCode::kUnavailable));
    return part.result;
  }
  // Admits the URL `number`, and ends `number` - 2.
  static StoreBatch step(std::uint64_t number) {
    StoreBatch batch;
    batch.add_pending(kOneHost, {.priority = 0, .sequence = number}, url_record(number));
    batch.log_admissions(number, std::vector{url_key(number)});
    if (number > 2) batch.remove_pending(kOneHost, {.priority = 0, .sequence = number - 2});
    Counters counters;
    counters.admitted = number;
    counters.completed = number > 2 ? number - 2 : 0;
    counters.sequence = number + 1;
    batch.set_counters(counters);
    return batch;
  }

  Contents contents(BucketId bucket = kFirst) {
    Contents all;
    EXPECT_TRUE(store_->visit_fingerprints(bucket, 9, [&](std::span<const std::uint64_t> part) {
      all.seen.insert(all.seen.end(), part.begin(), part.end());
    }));
    EXPECT_TRUE(store_->visit_hosts(bucket, [&](HostId host, const BucketHost& value) {
      all.hosts[host] = encode_bucket_host(value);
      for (const std::int32_t priority : value.priorities) {
        const auto queue = store_->read_queue(bucket, host, priority, 0, 100).value();
        for (const QueuedUrl& url : queue)
          all.queues[{host, priority}].push_back(url.order.sequence);
      }
    }));
    EXPECT_TRUE(store_->visit_deferred(
        bucket, [&](const DeferredUrl& url) { all.deferred[url.sequence] = url.record; }));
    EXPECT_TRUE(store_->visit_set_aside(
        bucket, [&](std::uint64_t key, std::string_view value) { all.aside[key] = value; }));
    return all;
  }
  // As a failover does that takes back all since `before`.
  std::map<std::string, std::string> dumped() {
    std::map<std::string, std::string> keys;
    RedisCommand list("KEYS", "x");
    const RedisAnswer listed = client_->run_one(list.arg("*"), {});
    for (const RedisReply& key : listed.reply->elements) {
      RedisCommand dump("DUMP", key.text);
      keys[key.text] = client_->run_one(dump.arg(key.text), {}).reply->text;
    }
    return keys;
  }
  void take_back(const std::map<std::string, std::string>& before) {
    RedisCommand flush("FLUSHALL", "x");
    client_->run_one(flush, {});
    for (const auto& [key, value] : before) {
      RedisCommand restore("RESTORE", key);
      const auto done = client_->run_one(restore.arg(key).arg(0).arg(value), {});
      EXPECT_FALSE(done.reply->is_error()) << done.reply->text;
    }
  }

  std::unique_ptr<BucketStore> store_;
  SteadyTime now_{std::chrono::hours(1)};
  bool gives_up_ = false;
};

TEST_F(BucketWriterTest, RedisHasWhatTheWriterChanged) {
  BucketWriter writer(*store_, options());
  own(writer);
  StoreBatch batch;
  batch.add_pending(kOneHost, {.priority = 3, .sequence = 1}, url_record(1));
  batch.add_pending(kOneHost, {.priority = -3, .sequence = 2}, url_record(2));
  batch.add_pending(kOneHost, {.priority = 3, .sequence = 3}, url_record(3));
  batch.log_admissions(0, std::vector{url_key(1), url_key(2), url_key(3)});
  batch.add_deferred(7, 4, kOneHost, 1, url_record(4));
  batch.set_aside(url_key(5), aside_record(5));
  batch.set_host(kOneHost + 1, {.name = "b.test", .failures = 4});
  Counters counters;
  counters.admitted = 4;
  counters.sequence = 5;
  batch.set_counters(counters);
  ASSERT_TRUE(write(writer, batch));
  Contents all = contents();
  EXPECT_THAT(all.seen, ElementsAre(1001, 1002, 1003));
  EXPECT_THAT((all.queues[{kOneHost, 3}]), ElementsAre(1, 3));
  EXPECT_THAT((all.queues[{kOneHost, -3}]), ElementsAre(2));
  EXPECT_EQ(all.deferred, (std::map<std::uint64_t, std::string>{{4, url_record(4)}}));
  EXPECT_EQ(all.aside, (std::map<std::uint64_t, std::string>{{1005, aside_record(5)}}));
  EXPECT_EQ(all.hosts.size(), 2u);

  batch.clear();
  batch.remove_pending(kOneHost, {.priority = 3, .sequence = 1});
  batch.remove_pending(kOneHost, {.priority = -3, .sequence = 2});
  batch.remove_deferred(
      {.not_before = 7, .sequence = 4, .host = kOneHost, .priority = 1, .record = url_record(4)});
  batch.add_pending(kOneHost, {.priority = 1, .sequence = 5}, url_record(4));
  batch.remove_set_aside(url_key(5));
  batch.remove_host(kOneHost + 1);
  batch.set_counters(counters);
  ASSERT_TRUE(write(writer, batch));
  all = contents();
  EXPECT_THAT((all.queues[{kOneHost, 3}]), ElementsAre(3));
  EXPECT_THAT((all.queues[{kOneHost, 1}]), ElementsAre(5));
  EXPECT_FALSE(all.queues.contains({kOneHost, -3})) << "its host has no such queue any more";
  EXPECT_THAT(all.deferred, IsEmpty());
  EXPECT_THAT(all.aside, IsEmpty());
  EXPECT_EQ(all.hosts.size(), 1u) << "without URLs and settings a host is forgotten";

  const BucketMeta meta = claim(kFirst, "next owner");
  EXPECT_EQ(meta.version, 2u);
  EXPECT_EQ(meta.next_sequence, 5u);
  EXPECT_EQ(meta.open, counters.open());
  EXPECT_EQ(decode_counters(meta.counters), counters);
  EXPECT_EQ(writer.counts().missing, 0u);
}

TEST_F(BucketWriterTest, MessagesThatWereReadAreTaken) {
  BucketWriter writer(*store_, options());
  own(writer);
  BucketStore::Push push{.bucket = kFirst, .messages = {{.body = "x"}, {.body = "y"}}};
  push.messages[0].id.fill('0');
  push.messages[1].id.fill('1');
  store_->push(std::span(&push, 1));
  StoreBatch batch;
  batch.take_message(push.messages[0].id);
  ASSERT_TRUE(write(writer, batch));
  const auto left = store_->read_inboxes(std::vector{kFirst}, 10)[0].value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].body, "y");
}

TEST_F(BucketWriterTest, CommandsThatWereExecutedAreTaken) {
  BucketWriter writer(*store_, options());
  own(writer);
  std::vector<BucketStore::Command> commands(2, {.bucket = kFirst, .message = {}});
  commands[0].message.id.fill('0');
  commands[1].message.id.fill('1');
  store_->push_commands(commands);
  StoreBatch batch;
  batch.take_command(commands[1].message.id);
  ASSERT_TRUE(write(writer, batch));
  const auto left = store_->read_commands(std::vector{kFirst})[0].value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].id, commands[0].message.id);
}

// Whatever the failover takes back, and whether a batch or a renewal notices.
TEST_F(BucketWriterTest, WhatAFailoverTookBackIsThereAgain) {
  constexpr std::uint64_t kSteps = 8;
  BucketWriter other(*store_, options());
  own(other, kFirst + 1);
  for (std::uint64_t n = 1; n <= kSteps; ++n)
    ASSERT_TRUE(write(other, step(n), kFirst + 1));
  for (std::uint64_t kept = 0; kept < kSteps; ++kept) {
    for (const bool by_renewal : {false, true}) {
      SCOPED_TRACE(fmt::format("{} kept, renewal {}", kept, by_renewal));
      BucketWriter writer(*store_, options());
      const Contents expected = contents(kFirst + 1);
      const auto others = dumped();
      own(writer, kFirst, fmt::format("token {} {}", kept, by_renewal));
      std::map<std::string, std::string> before = dumped();
      const std::uint64_t last = by_renewal ? kSteps : kSteps - 1;
      for (std::uint64_t n = 1; n <= last; ++n) {
        ASSERT_TRUE(write(writer, step(n)));
        if (n == kept) before = dumped();
      }
      take_back(before);
      if (by_renewal) {
        ASSERT_TRUE(writer.check(kFirst, kept));
      } else {
        ASSERT_TRUE(write(writer, step(kSteps)));
      }
      EXPECT_EQ(contents(), expected);
      EXPECT_EQ(writer.counts().replayed, last - kept);
      take_back(others);
    }
  }
}

TEST_F(BucketWriterTest, WhatIsNotKeptAnyMoreIsLostWithTheBucket) {
  BucketWriter writer(*store_, options());
  own(writer, kFirst, "a");
  const auto before = dumped();
  ASSERT_TRUE(write(writer, step(1)));
  EXPECT_GT(writer.bytes(), 0u);
  now_ += milliseconds(10'001);
  ASSERT_TRUE(write(writer, step(2)));
  take_back(before);
  const auto written = write(writer, step(3));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(written.error().message, HasSubstr("took back more than is kept"));
  EXPECT_FALSE(write(writer, step(4))) << "it stays lost";
  writer.end(kFirst);
  EXPECT_EQ(writer.bytes(), 0u);
  take_back({});
}

TEST_F(BucketWriterTest, AnotherOwnerEndsIt) {
  BucketWriter writer(*store_, options());
  own(writer);
  own(writer, kFirst + 1);
  ASSERT_TRUE(write(writer, step(1)));
  claim(kFirst, "b");
  const StoreBatch second = step(2), first = step(1);
  std::vector<BucketWriter::Part> parts = {{.bucket = kFirst, .batch = &second},
                                           {.bucket = kFirst + 1, .batch = &first}};
  ASSERT_TRUE(writer.write(parts));
  EXPECT_EQ(parts[0].result.error().code, ErrorCode::kInUse);
  EXPECT_TRUE(parts[1].result) << "of the others each stays its own";
  EXPECT_THAT(contents().seen, ElementsAre(1001));
  EXPECT_THAT(contents(kFirst + 1).seen, ElementsAre(1001));
}

TEST_F(BucketWriterTest, ItWaitsForRedisUntilItGivesUp) {
  BucketWriter writer(*store_, options());
  own(writer);
  server_->cli({"config", "set", "maxmemory", "1"});
  std::thread frees([&] {
    std::this_thread::sleep_for(milliseconds(50));
    server_->cli({"config", "set", "maxmemory", "0"});
  });
  EXPECT_TRUE(write(writer, step(1))) << "there is memory again";
  frees.join();
  server_->stop();
  gives_up_ = true;
  const auto written = write(writer, step(2));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnavailable);
}

TEST_F(BucketWriterTest, FingerprintsAreInKeysOfAMegabyte) {
  BucketWriter writer(*store_, options());
  own(writer);
  std::vector<Fingerprint> many;
  for (std::uint64_t i = 0; i < 100'000; ++i)
    many.push_back(url_key(i));
  for (int i = 0; i < 3; ++i) {
    StoreBatch batch;
    batch.log_admissions(0, many);
    ASSERT_TRUE(write(writer, batch));
  }
  EXPECT_EQ(contents().seen.size(), 300'000u);
  EXPECT_EQ(claim(kFirst, "b").segment, 2u);
}

}  // namespace
}  // namespace trawl
