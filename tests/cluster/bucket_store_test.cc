// Buckets in a real redis-server.
#include "frontier/shared/bucket_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "frontier/store/set_aside_record.h"
#include "frontier/store/store_records.h"
#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Code = BucketStore::Written::Code;

constexpr BucketId kBucket = 0x1f;
constexpr HostId kHost = 0x1f00000000000abc;

std::string record(const std::string& url) {
  return encode_record({.url = url});
}
std::string set_aside(const std::string& reason) {
  return encode_set_aside({.reason = reason, .url_record = record("http://a.test/aside")});
}
std::string totals(std::uint64_t admitted) {
  Counters counters;
  counters.admitted = admitted;
  return encode_counters(counters);
}

MessageId message_id(char letter) {
  MessageId id;
  id.fill(letter);
  return id;
}

class BucketStoreTest : public test::RedisFixture {
 protected:
  void SetUp() override {
    RedisFixture::SetUp();
    if (client_ == nullptr) return;
    store_ = std::make_unique<BucketStore>(*client_, BucketKeys("crawl"), true);
  }

  BucketStore::Owner owner() {
    auto owners = store_->owners(std::span(&kBucket, 1));
    EXPECT_TRUE(owners[0].has_value()) << owners[0].error().message;
    return owners[0].value_or(BucketStore::Owner{});
  }
  BucketStore::Claimed claim(const std::string& token) {
    const BucketStore::Claim claim{.bucket = kBucket, .seen = owner(), .token = token};
    return store_->claim(std::span(&claim, 1))[0];
  }
  BucketStore::Written renew(const std::string& token, const std::string& name) {
    const BucketStore::Renewal renewal{.bucket = kBucket, .token = token, .name = name};
    return store_->renew(std::span(&renewal, 1))[0];
  }
  BucketStore::Written release(const std::string& token) {
    const BucketStore::Release release{.bucket = kBucket, .token = token};
    return store_->release(std::span(&release, 1))[0];
  }
  BucketStore::Written apply(const std::string& token, std::uint64_t number,
                             const BucketBatch& batch) {
    const RedisCommand command = store_->encode(kBucket, token, number, batch);
    return store_->apply(std::span(&command, 1))[0];
  }
  BucketStore::Written push(std::vector<InboxMessage> messages) {
    const BucketStore::Push push{.bucket = kBucket, .messages = std::move(messages)};
    return store_->push(std::span(&push, 1))[0];
  }
  std::vector<InboxMessage> inbox() {
    auto read = store_->read_inboxes(std::span(&kBucket, 1), 100);
    EXPECT_TRUE(read[0].has_value()) << read[0].error().message;
    return read[0].value_or(std::vector<InboxMessage>());
  }
  std::vector<std::uint64_t> queue(std::int32_t priority = 0) {
    auto urls = store_->read_queue(kBucket, kHost, priority, 0, 1000);
    EXPECT_TRUE(urls.has_value()) << urls.error().message;
    std::vector<std::uint64_t> sequences;
    for (const QueuedUrl& url : *urls)
      sequences.push_back(url.order.sequence);
    return sequences;
  }
  // Queues `count` URLs from the sequence `first` on.
  static BucketBatch admission(std::uint64_t first, std::size_t count) {
    BucketBatch batch;
    auto& queue = batch.queues.emplace_back(BucketBatch::Queue{.host = kHost});
    for (std::uint64_t s = first; s < first + count; ++s) {
      batch.admitted.push_back(0x1f00000000000000 + s);
      queue.added.push_back(encode_queued(s, record(fmt::format("http://a.test/{}", s))));
    }
    batch.meta = {.counters = totals(count), .next_sequence = first + count, .open = count};
    return batch;
  }
  static BucketBatch end_of(std::vector<std::uint64_t> sequences) {
    BucketBatch batch;
    batch.queues.push_back({.host = kHost, .ended = std::move(sequences)});
    return batch;
  }

  std::unique_ptr<BucketStore> store_;
};

TEST_F(BucketStoreTest, OneClaimOfSeveralSucceeds) {
  EXPECT_FALSE(owner().exists);
  const std::vector<BucketStore::Claim> claims = {{.bucket = kBucket, .token = "a"},
                                                  {.bucket = kBucket, .token = "b"}};
  const auto claimed = store_->claim(claims);
  EXPECT_EQ(claimed[0].result.code, Code::kDone);
  EXPECT_EQ(claimed[0].meta.version, 0u);
  EXPECT_EQ(claimed[1].result.code, Code::kFenced);
  EXPECT_EQ(owner().token, "a");
  // Sent again, because its answer was lost: still its own. The name of the last renewal stays.
  EXPECT_EQ(renew("a", "a1").code, Code::kDone);
  EXPECT_EQ(store_->claim(claims)[0].result.code, Code::kDone);
  EXPECT_EQ(owner().renewal, "a1");
}

TEST_F(BucketStoreTest, AClaimIsRefusedIfTheOwnerRenewed) {
  EXPECT_EQ(claim("a").result.code, Code::kDone);
  const BucketStore::Claim late{.bucket = kBucket, .seen = owner(), .token = "b"};
  EXPECT_EQ(renew("a", "a1").code, Code::kDone);
  EXPECT_EQ(store_->claim(std::span(&late, 1))[0].result.code, Code::kFenced);
  EXPECT_EQ(claim("b").result.code, Code::kDone) << "it saw the renewal";
  EXPECT_EQ(renew("a", "a2").code, Code::kFenced);
  EXPECT_EQ(release("a").code, Code::kFenced);
  EXPECT_EQ(release("b").code, Code::kDone);
  EXPECT_EQ(owner().token, "");
  EXPECT_TRUE(owner().exists);
}

TEST_F(BucketStoreTest, BatchesAreFencedAndAppliedOnceAndInOrder) {
  EXPECT_EQ(claim("a").result.code, Code::kDone);
  EXPECT_EQ(apply("a", 1, admission(1, 3)).code, Code::kDone);
  const BucketStore::Written again = apply("a", 1, admission(1, 3));
  EXPECT_EQ(again.code, Code::kDone);
  EXPECT_EQ(again.version, 1u);
  EXPECT_THAT(queue(), ElementsAre(1, 2, 3));
  const BucketStore::Written gap = apply("a", 4, admission(10, 1));
  EXPECT_EQ(gap.code, Code::kBehind);
  EXPECT_EQ(gap.version, 1u);
  // Three batches in one pipeline.
  const std::vector<RedisCommand> batches = {store_->encode(kBucket, "a", 2, admission(4, 1)),
                                             store_->encode(kBucket, "a", 3, end_of({2})),
                                             store_->encode(kBucket, "a", 4, end_of({1}))};
  for (const auto& written : store_->apply(batches)) {
    EXPECT_EQ(written.code, Code::kDone);
    EXPECT_EQ(written.missing, 0u);
  }
  EXPECT_THAT(queue(), ElementsAre(3, 4));
  EXPECT_EQ(claim("b").result.code, Code::kDone);
  EXPECT_EQ(apply("a", 5, admission(5, 1)).code, Code::kFenced);
  EXPECT_EQ(apply("b", 5, admission(5, 1)).code, Code::kDone);
  EXPECT_THAT(queue(), ElementsAre(3, 4, 5));
}

TEST_F(BucketStoreTest, AnEndIsFoundAnywhereInTheQueue) {
  claim("a");
  EXPECT_EQ(apply("a", 1, admission(1, 3000)).code, Code::kDone);
  const BucketStore::Written ended = apply("a", 2, end_of({2500, 1, 64, 65, 66, 3000, 7777}));
  EXPECT_EQ(ended.code, Code::kDone);
  EXPECT_EQ(ended.missing, 1u);
  const BucketStore::QueueName name{.host = kHost};
  EXPECT_EQ(store_->queue_sizes(kBucket, std::span(&name, 1))[0].value(), 2994u);
  EXPECT_EQ(queue().front(), 2u);
}

TEST_F(BucketStoreTest, MessagesAreTakenOnlyByTheirIds) {
  claim("a");
  EXPECT_EQ(push({{message_id('x'), "one"}, {message_id('y'), "two"}}).code, Code::kDone);
  const auto read = inbox();
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].body, "two");
  BucketBatch batch;
  batch.taken = {message_id('y')};  // not at the head
  EXPECT_EQ(apply("a", 1, batch).code, Code::kDone);
  EXPECT_EQ(inbox().size(), 2u);
  batch.taken = {message_id('x'), message_id('z')};
  EXPECT_EQ(apply("a", 2, batch).code, Code::kDone);
  ASSERT_EQ(inbox().size(), 1u);
  EXPECT_EQ(inbox()[0].id, message_id('y'));
  EXPECT_EQ(store_->inbox_sizes(std::span(&kBucket, 1))[0].value(), 1u);
}

TEST_F(BucketStoreTest, ANewOwnerLoadsWhatTheOldOneWrote) {
  claim("a");
  BucketBatch batch = admission(1, 2);
  const DeferredUrl later{.not_before = 1'700'000'000'123,
                          .sequence = 9,
                          .host = kHost,
                          .priority = -5,
                          .record = record("http://a.test/later")};
  BucketHost host{.record = {.name = "a.test", .delay = milliseconds(250), .failures = 2},
                  .priorities = {0, -5}};
  batch.hosts = {{kHost, host}};
  // A time before 1970 has a negative score.
  DeferredUrl long_ago = later;
  long_ago.not_before = -7;
  long_ago.sequence = 8;
  batch.deferred = {later, long_ago};
  batch.set_aside = {{77, set_aside("held")}, {78, set_aside("failed")}};
  batch.depths = {{{.high = 1, .low = 77}, 4}, {{.high = 2, .low = 78}, 0xFFFF'FFFF}};
  batch.queues.push_back(
      {.host = kHost, .priority = 7, .added = {encode_queued(3, record("http://a.test/first"))}});
  batch.meta = {.counters = totals(7), .next_sequence = 10, .open = 4, .segment = 0};
  EXPECT_EQ(apply("a", 1, batch).code, Code::kDone);
  BucketBatch next = admission(10, 1);
  next.meta.segment = 1;
  next.set_aside = {{77, std::nullopt}};
  next.depths = {{{.high = 1, .low = 77}, 0}, {{.high = 2, .low = 78}, std::nullopt}};
  EXPECT_EQ(apply("a", 2, next).code, Code::kDone);

  const BucketStore::Claimed claimed = claim("b");
  ASSERT_EQ(claimed.result.code, Code::kDone);
  EXPECT_EQ(claimed.meta.version, 2u);
  EXPECT_EQ(claimed.meta.counters, totals(1));
  EXPECT_EQ(claimed.meta.next_sequence, 11u);
  EXPECT_EQ(claimed.meta.segment, 1u);
  std::vector<std::uint64_t> fingerprints;
  EXPECT_TRUE(store_->visit_fingerprints(kBucket, 1, [&](auto part) {
    fingerprints.insert(fingerprints.end(), part.begin(), part.end());
  }));
  EXPECT_THAT(fingerprints,
              ElementsAre(0x1f00000000000001, 0x1f00000000000002, 0x1f0000000000000a));
  std::vector<BucketHost> hosts;
  EXPECT_TRUE(store_->visit_hosts(kBucket, [&](HostId id, BucketHost one) {
    EXPECT_EQ(id, kHost);
    hosts.push_back(std::move(one));
  }));
  EXPECT_THAT(hosts, ElementsAre(host));
  std::vector<std::int64_t> times;
  EXPECT_TRUE(store_->visit_deferred(kBucket, [&](DeferredUrl url) {
    times.push_back(url.not_before);
    EXPECT_EQ(url.sequence, url.not_before < 0 ? 8u : 9u);
    EXPECT_EQ(url.host, kHost);
    EXPECT_EQ(url.priority, -5);
    EXPECT_EQ(url.record, later.record);
  }));
  EXPECT_THAT(times, ElementsAre(-7, later.not_before));
  std::vector<std::string> aside;
  std::vector<std::pair<Fingerprint, std::uint32_t>> depths;
  EXPECT_TRUE(store_->visit_set_aside(
      kBucket, [&](std::uint64_t, std::string_view value) { aside.emplace_back(value); },
      [&](Fingerprint fingerprint, std::uint32_t depth) {
        depths.emplace_back(fingerprint, depth);
      }));
  EXPECT_THAT(depths, ElementsAre(std::pair(Fingerprint{.high = 1, .low = 77}, 0u)));
  EXPECT_THAT(aside, ElementsAre(set_aside("failed")));
  EXPECT_THAT(queue(7), ElementsAre(3));

  BucketBatch removal;
  removal.no_longer_deferred = {later, long_ago};
  removal.hosts = {{kHost, std::nullopt}};
  EXPECT_EQ(apply("b", 3, removal).code, Code::kDone);
  EXPECT_EQ(server_->cli({"exists", "{crawl:1f}d", "{crawl:1f}h"}), "0");
}

TEST_F(BucketStoreTest, AFullRedisRefusesAdmissionsWholeAndLetsPagesEnd) {
  claim("a");
  EXPECT_EQ(apply("a", 1, admission(1, 5)).code, Code::kDone);
  EXPECT_EQ(push({{message_id('x'), "one"}}).code, Code::kDone);
  server_->cli({"config", "set", "maxmemory-policy", "noeviction"});
  server_->cli({"config", "set", "maxmemory", "1"});
  const BucketStore::Written refused = apply("a", 2, admission(6, 5));
  EXPECT_EQ(refused.code, Code::kFull);
  EXPECT_THAT(refused.error->message, HasSubstr("maxmemory"));
  EXPECT_EQ(push({{message_id('y'), "two"}}).code, Code::kFull);
  EXPECT_THAT(queue(), ElementsAre(1, 2, 3, 4, 5));
  BucketBatch grows = admission(6, 2);
  grows.queues[0].ended = {1};
  EXPECT_EQ(apply("a", 2, grows).code, Code::kFull);
  EXPECT_THAT(queue(), ElementsAre(1, 2, 3, 4, 5));
  // Ends, messages that brought nothing new, and ownership go on; so do admissions with more ends.
  EXPECT_EQ(apply("a", 2, end_of({1, 3})).code, Code::kDone);
  BucketBatch taken;
  taken.taken = {message_id('x')};
  EXPECT_EQ(apply("a", 3, taken).code, Code::kDone);
  EXPECT_THAT(inbox(), IsEmpty());
  EXPECT_EQ(renew("a", "a1").code, Code::kDone);
  BucketBatch shrinks = admission(6, 1);
  shrinks.queues[0].ended = {2, 4};
  EXPECT_EQ(apply("a", 4, shrinks).code, Code::kDone);
  EXPECT_EQ(release("a").code, Code::kDone);
  EXPECT_EQ(claim("b").result.code, Code::kDone);
  server_->cli({"config", "set", "maxmemory", "0"});
  EXPECT_EQ(apply("b", 5, admission(7, 1)).code, Code::kDone);
  EXPECT_THAT(queue(), ElementsAre(5, 6, 7));
}

TEST_F(BucketStoreTest, ForeignAndDamagedKeysAreNamed) {
  server_->cli({"set", "{crawl:1f}m", "mine"});
  auto owners = store_->owners(std::span(&kBucket, 1));
  ASSERT_FALSE(owners[0].has_value());
  EXPECT_EQ(owners[0].error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(owners[0].error().message, HasSubstr("{crawl:1f}m in Redis is a string, not a hash"));
  server_->cli({"del", "{crawl:1f}m"});
  claim("a");
  server_->cli({"set", "{crawl:1f}f0", "mine"});
  const BucketStore::Written refused = apply("a", 1, admission(1, 1));
  EXPECT_EQ(refused.code, Code::kFailed);
  EXPECT_THAT(refused.error->message, HasSubstr("{crawl:1f}f0 in Redis is a string, not a list"));
  EXPECT_THAT(queue(), IsEmpty());
  server_->cli({"del", "{crawl:1f}f0"});

  server_->cli({"rpush", "{crawl:1f}f0", "12345678", "123"});
  const auto fingerprints = store_->visit_fingerprints(kBucket, 0, [](auto) {});
  ASSERT_FALSE(fingerprints.has_value());
  EXPECT_THAT(fingerprints.error().message, HasSubstr("{crawl:1f}f0"));
  server_->cli({"rpush", "{crawl:1f}i", "short"});
  auto read = store_->read_inboxes(std::span(&kBucket, 1), 10);
  ASSERT_FALSE(read[0].has_value());
  EXPECT_THAT(read[0].error().message, HasSubstr("{crawl:1f}i"));
  server_->cli({"hset", "{crawl:1f}h", "x", "y"});
  const auto hosts = store_->visit_hosts(kBucket, [](HostId, const BucketHost&) {});
  ASSERT_FALSE(hosts.has_value());
  EXPECT_THAT(hosts.error().message, HasSubstr("{crawl:1f}h"));
  server_->cli({"zadd", "{crawl:1f}d", "1.5", "x"});
  EXPECT_FALSE(store_->visit_deferred(kBucket, [](const DeferredUrl&) {}).has_value());
  server_->cli({"rpush", BucketKeys("crawl").queue(kBucket, kHost, 0), "12345678\xff\xff"});
  const auto urls = store_->read_queue(kBucket, kHost, 0, 0, 10);
  ASSERT_FALSE(urls.has_value());
  EXPECT_EQ(urls.error().code, ErrorCode::kCorrupt);
  server_->cli({"hset", "{crawl:1f}e", "12345678", "x"});
  const auto aside = store_->visit_set_aside(kBucket, [](std::uint64_t, std::string_view) {});
  ASSERT_FALSE(aside.has_value());
  EXPECT_THAT(aside.error().message, HasSubstr("{crawl:1f}e"));
  for (const char* depth : {"-1", "4294967296", "x"}) {
    server_->cli({"del", "{crawl:1f}e"});
    server_->cli({"hset", "{crawl:1f}e", "0123456789abcdef", depth});
    const auto noted = store_->visit_set_aside(kBucket, [](std::uint64_t, std::string_view) {});
    ASSERT_FALSE(noted.has_value()) << depth;
    EXPECT_EQ(noted.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(noted.error().message, HasSubstr("{crawl:1f}e"));
  }
  server_->cli({"hset", "{crawl:1f}m", "v", "many"});
  owners = store_->owners(std::span(&kBucket, 1));
  ASSERT_FALSE(owners[0].has_value());
  EXPECT_THAT(owners[0].error().message, HasSubstr("{crawl:1f}m"));
}

// Whatever key is another program's: it is named, and none of the others has changed.
TEST_F(BucketStoreTest, ABatchIsAppliedWholeOrNotAtAll) {
  claim("a");
  EXPECT_EQ(apply("a", 1, admission(1, 3)).code, Code::kDone);
  BucketBatch batch = admission(4, 2);
  batch.queues[0].ended = {1, 2};
  batch.queues.push_back(
      {.host = kHost, .priority = 7, .added = {encode_queued(6, record("http://a.test/6"))}});
  batch.taken = batch.commands_taken = {message_id('x')};
  batch.hosts = {{kHost, BucketHost{.record = {.name = "a.test"}, .priorities = {0}}}};
  batch.deferred = {{.not_before = 5, .sequence = 9, .host = kHost, .record = record("http://b/")}};
  batch.no_longer_deferred = batch.deferred;
  batch.set_aside = {{77, set_aside("held")}};
  const BucketKeys keys("crawl");
  const auto contents = [&] {
    return server_->cli({"eval",
                         "local out = {} for _, k in ipairs(redis.call('keys', '*')) do out[#out + "
                         "1] = k .. redis.sha1hex(redis.call('dump', k)) end table.sort(out) "
                         "return out",
                         "0"});
  };
  for (const std::string& key :
       {keys.fingerprints(kBucket, 0), keys.inbox(kBucket), keys.hosts(kBucket),
        keys.deferred(kBucket), keys.set_aside(kBucket), keys.commands(kBucket),
        keys.queue(kBucket, kHost, 0), keys.queue(kBucket, kHost, 7)}) {
    server_->cli({"rename", key, "{crawl:1f}saved"});
    server_->cli({"set", key, "mine"});
    const std::string before = contents();
    const BucketStore::Written refused = apply("a", 2, batch);
    EXPECT_EQ(refused.code, Code::kFailed) << key;
    EXPECT_THAT(refused.error->message, HasSubstr(key));
    EXPECT_EQ(contents(), before) << key;
    server_->cli({"del", key});
    server_->cli({"rename", "{crawl:1f}saved", key});
  }
  EXPECT_EQ(apply("a", 2, batch).code, Code::kDone);
  EXPECT_THAT(queue(), ElementsAre(3, 4, 5));
}

TEST_F(BucketStoreTest, ABucketWithForeignOrDamagedKeysIsNotClaimed) {
  for (const char* name : {"m", "i", "h", "d", "e", "x"}) {
    const std::string key = fmt::format("{{crawl:1f}}{}", name);
    server_->cli({"set", key, "mine"});
    const BucketStore::Claim claim{.bucket = kBucket, .token = "a"};
    const BucketStore::Written refused = store_->claim(std::span(&claim, 1))[0].result;
    EXPECT_EQ(refused.code, Code::kFailed);
    EXPECT_EQ(refused.error->code, ErrorCode::kCorrupt);
    EXPECT_THAT(refused.error->message, HasSubstr(key + " in Redis is a string"));
    EXPECT_EQ(server_->cli({"keys", "*"}), key);
    server_->cli({"del", key});
  }
  for (const char* field : {"v", "q", "open", "s", "c"}) {
    server_->cli({"hset", "{crawl:1f}m", field, "many"});
    const BucketStore::Claim claim{.bucket = kBucket, .token = "a"};
    const BucketStore::Written refused = store_->claim(std::span(&claim, 1))[0].result;
    EXPECT_EQ(refused.code, Code::kFailed) << field;
    EXPECT_THAT(refused.error->message, HasSubstr("{crawl:1f}m"));
    server_->cli({"del", "{crawl:1f}m"});
  }
  EXPECT_EQ(claim("a").result.code, Code::kDone);
  server_->cli({"hset", "{crawl:1f}m", "v", "many"});
  EXPECT_EQ(apply("a", 1, admission(1, 1)).code, Code::kFailed);
  EXPECT_EQ(server_->cli({"exists", "{crawl:1f}f0"}), "0");
}

// A script that may not use one of its commands would end in the middle.
TEST_F(BucketStoreTest, AUserWithoutOneCommandOwnsNothing) {
  server_->cli({"acl", "setuser", "crawler", "on", ">word", "~*", "+@all", "-zrem"});
  auto client = RedisClient::connect(
      {.addresses = {server_->address()}, .username = "crawler", .password = "word"});
  ASSERT_TRUE(client.has_value()) << client.error().message;
  BucketStore store(**client, BucketKeys("crawl"), true);
  const BucketStore::Claim claim{.bucket = kBucket, .token = "a"};
  for (int i = 0; i < 2; ++i) {
    const BucketStore::Written refused = store.claim(std::span(&claim, 1))[0].result;
    EXPECT_EQ(refused.code, Code::kFailed);
    EXPECT_EQ(refused.error->code, ErrorCode::kPermission) << refused.error->message;
  }
  EXPECT_FALSE(owner().exists);
}

TEST_F(BucketStoreTest, AUserWithoutRightsIsToldWhichKey) {
  server_->cli({"acl", "setuser", "crawler", "on", ">word", "~{other:*", "+@all"});
  auto client = RedisClient::connect(
      {.addresses = {server_->address()}, .username = "crawler", .password = "word"});
  ASSERT_TRUE(client.has_value()) << client.error().message;
  BucketStore store(**client, BucketKeys("crawl"), true);
  const BucketStore::Claim claim{.bucket = kBucket, .token = "a"};
  const auto claimed = store.claim(std::span(&claim, 1));
  EXPECT_EQ(claimed[0].result.code, Code::kFailed);
  EXPECT_EQ(claimed[0].result.error->code, ErrorCode::kPermission);
  EXPECT_THAT(claimed[0].result.error->message, HasSubstr("{crawl:1f}m"));
}

TEST_F(BucketStoreTest, RedisAwayIsUnknownAndLosesNothing) {
  claim("a");
  store_->set_patience(milliseconds(300));
  server_->freeze();
  const auto began = std::chrono::steady_clock::now();
  const BucketStore::Written unknown = apply("a", 1, admission(1, 1));
  EXPECT_EQ(unknown.code, Code::kUnknown);
  EXPECT_EQ(unknown.error->code, ErrorCode::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  server_->thaw();
  store_->set_patience(milliseconds(20000));
  EXPECT_EQ(apply("a", 1, admission(1, 1)).code, Code::kDone);
  EXPECT_THAT(queue(), ElementsAre(1)) << "applied once, though it was sent twice";
}

}  // namespace
}  // namespace trawl
