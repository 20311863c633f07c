// The end of a crawl whose buckets are in a real redis-server.
#include "frontier/shared/crawl_end.h"

#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "frontier/shared/idle_mark.h"
#include "frontier/store/store_records.h"
#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using testing::HasSubstr;
using Code = BucketStore::Written::Code;

constexpr BucketId kFewBuckets = 8;

class CrawlEndTest : public test::RedisFixture {
 protected:
  void SetUp() override {
    RedisFixture::SetUp();
    if (client_ == nullptr) return;
    store_ = std::make_unique<BucketStore>(*client_, BucketKeys("crawl"), true);
    end_ = std::make_unique<CrawlEnd>(*store_, kFewBuckets);
  }

  void claim(BucketId bucket, const std::string& session) {
    const BucketStore::Claim claim{.bucket = bucket, .seen = {}, .token = session + ".1"};
    ASSERT_EQ(store_->claim(std::span(&claim, 1))[0].result.code, Code::kDone);
  }
  void claim_all() {
    for (BucketId bucket = 0; bucket < kFewBuckets; ++bucket)
      claim(bucket, bucket % 2 == 0 ? "a" : "b");
  }
  // A batch after which the bucket has these totals.
  void write(BucketId bucket, const Counters& counters, const std::vector<MessageId>& taken = {}) {
    const std::string token = bucket % 2 == 0 ? "a.1" : "b.1";
    BucketBatch batch;
    batch.taken = taken;
    batch.meta.counters = encode_counters(counters);
    batch.meta.open = counters.open();
    const auto command = store_->encode(bucket, token, ++versions_[bucket], batch);
    ASSERT_EQ(store_->apply(std::span(&command, 1))[0].code, Code::kDone);
  }
  static Counters counters(std::uint64_t admitted, std::uint64_t completed,
                           std::uint64_t retries_wait = 0, std::uint64_t recrawls_wait = 0) {
    Counters counters;
    counters.admitted = admitted;
    counters.completed = completed;
    counters.recrawls = recrawls_wait;
    counters.deferred = retries_wait + recrawls_wait;
    counters.recrawls_deferred = recrawls_wait;
    return counters;
  }
  void say_idle(const std::string& session, bool is_idle = true) {
    IdleMark mark;
    for (BucketId bucket = session == "a" ? 0 : 1; bucket < kFewBuckets; bucket += 2)
      mark.add(bucket, versions_[bucket]);
    const MemberTable::Beat beat{.record = {.session = session,
                                            .beat = ++beats_,
                                            .buckets = kFewBuckets / 2,
                                            .idle = is_idle ? mark.value() : 0},
                                 .replaces = {}};
    ASSERT_EQ(store_->set_member("member " + session, beat).code, Code::kDone);
  }
  void push(BucketId bucket) {
    const BucketStore::Push push{.bucket = bucket, .messages = {{.id = {}, .body = "x"}}};
    ASSERT_EQ(store_->push(std::span(&push, 1))[0].code, Code::kDone);
  }
  std::string progress() {
    const auto progress = end_->progress();
    if (!progress) return progress.error().message;
    std::string text;
    if (progress->finished) text += "finished ";
    if (progress->exhausted) text += "exhausted ";
    if (progress->only_recrawls_wait) text += "recrawls ";
    return text;
  }

  std::unique_ptr<BucketStore> store_;
  std::unique_ptr<CrawlEnd> end_;
  std::array<std::uint64_t, kFewBuckets> versions_{};
  std::uint64_t beats_ = 0;
};

TEST_F(CrawlEndTest, FinishedIsWhenAllBucketsAreEmptyAndNothingIsOnItsWay) {
  EXPECT_EQ(progress(), "") << "nothing has begun";
  claim_all();
  EXPECT_EQ(progress(), "finished ");
  write(3, counters(2, 1));
  EXPECT_EQ(progress(), "");
  write(3, counters(2, 2));
  EXPECT_EQ(progress(), "finished ");
  push(4);
  EXPECT_EQ(progress(), "");
  write(4, counters(0, 0), {MessageId{}});
  EXPECT_EQ(progress(), "finished ");
  server_->cli({"rpush", "{crawl:7}x", "a command"});
  EXPECT_EQ(progress(), "");
  server_->cli({"del", "{crawl:7}x"});
  server_->cli({"del", "{crawl:5}m"});
  EXPECT_EQ(progress(), "") << "its node lost its data";
}

TEST_F(CrawlEndTest, ExhaustedNeedsTheWordOfEachOwnerAtItsPresentBatches) {
  claim_all();
  write(2, counters(5, 1));
  say_idle("a");
  EXPECT_EQ(progress(), "") << "b has not said so";
  say_idle("b");
  EXPECT_EQ(progress(), "exhausted ");
  say_idle("b", false);
  EXPECT_EQ(progress(), "");
  say_idle("b");
  push(3);
  EXPECT_EQ(progress(), "");
  write(3, counters(1, 0), {MessageId{}});
  EXPECT_EQ(progress(), "") << "b said so before it took the message";
  say_idle("b");
  EXPECT_EQ(progress(), "exhausted ");
  const BucketStore::Release release{.bucket = 3, .token = "b.1"};
  ASSERT_EQ(store_->release(std::span(&release, 1))[0].code, Code::kDone);
  EXPECT_EQ(progress(), "") << "its next owner may lease its URL";
}

TEST_F(CrawlEndTest, DeferredUrlsAreTheEndOnlyIfAllAreRecrawls) {
  claim_all();
  write(1, counters(5, 3, 0, 2));
  write(6, counters(5, 5, 0, 0));
  EXPECT_EQ(progress(), "") << "an owner may lease";
  say_idle("a");
  say_idle("b");
  EXPECT_EQ(progress(), "recrawls ");
  write(6, counters(6, 5, 1, 0));
  say_idle("a");
  EXPECT_EQ(progress(), "") << "a retry will be due";
}

// A link that travels from a bucket that is read late to one that was read early leaves both empty
// in every scan.
TEST_F(CrawlEndTest, ABatchBetweenTheScansIsNoticed) {
  claim_all();
  const auto first = end_->scan(), same = end_->scan();
  ASSERT_TRUE(first.has_value() && same.has_value());
  EXPECT_TRUE(CrawlEnd::conclude(*first, *same).finished);
  write(3, counters(1, 1));
  const auto second = end_->scan();
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(second->progress.finished);
  EXPECT_FALSE(CrawlEnd::conclude(*first, *second).at_end());
}

TEST_F(CrawlEndTest, TotalsAreSums) {
  claim_all();
  Counters one = counters(10, 4, 1, 2), other = counters(20, 5);
  one.deepest = 3;
  other.deepest = 2;
  one.seen_only = other.seen_only = 1;
  write(0, one);
  write(0, one);
  write(1, other);
  push(5);
  push(5);
  server_->cli({"rpush", "{crawl:7}x", "a command"});
  const BucketStore::Release release{.bucket = 3, .token = "b.1"};
  ASSERT_EQ(store_->release(std::span(&release, 1))[0].code, Code::kDone);
  const auto totals = end_->totals();
  ASSERT_TRUE(totals.has_value()) << totals.error().message;
  EXPECT_EQ(totals->counters.admitted, 30u);
  EXPECT_EQ(totals->counters.completed, 9u);
  EXPECT_EQ(totals->counters.seen_only, 2u);
  EXPECT_EQ(totals->counters.deepest, 3u);
  EXPECT_EQ(totals->counters.open(), one.open() + other.open());
  EXPECT_EQ(totals->open, one.open() + other.open());
  EXPECT_EQ(totals->messages, 2u);
  EXPECT_EQ(totals->commands, 1u);
  EXPECT_EQ(totals->buckets, kFewBuckets);
  EXPECT_EQ(totals->claimed, kFewBuckets);
  EXPECT_EQ(totals->owned, kFewBuckets - 1);
  EXPECT_EQ(totals->batches, 3u);
}

TEST_F(CrawlEndTest, DamageIsAnErrorWithItsKey) {
  claim_all();
  server_->cli({"hset", "{crawl:2}m", "open", "many"});
  EXPECT_THAT(progress(), HasSubstr("{crawl:2}m"));
  server_->cli({"hset", "{crawl:2}m", "open", "0", "c", "x"});
  EXPECT_THAT(progress(), HasSubstr("{crawl:2}m"));
  write(3, counters(5, 4));
  server_->cli({"set", "{crawl:4}i", "of another program"});
  const auto totals = end_->totals();
  ASSERT_TRUE(totals.has_value()) << totals.error().message;
  EXPECT_EQ(totals->counters.admitted, 5u) << "of the other buckets";
  EXPECT_EQ(totals->claimed, kFewBuckets - 2);
  server_->stop();
  EXPECT_NE(progress(), "");
}

}  // namespace
}  // namespace trawl
