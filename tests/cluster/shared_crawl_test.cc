// What is read of a crawl in Redis by a program that takes no part in it, from a real redis-server.
#include "frontier/shared/shared_crawl.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/wall_time.h"
#include "frontier/shared/message_ids.h"
#include "frontier/shared/shared_dump.h"
#include "tests/cluster/crawl_in_redis.h"
#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const SetAsideRecord kMissing{
    .state = SetAsideState::kFailed, .reason = "status", .status = 404, .url_record = {}};
const SetAsideRecord kHeld{.state = SetAsideState::kHeld, .reason = "a rule", .url_record = {}};

class SharedCrawlTest : public test::RedisFixture {
 protected:
  Result<std::unique_ptr<SharedCrawl>> open(const std::string& name = "c1") {
    return SharedCrawl::open({.addresses = {server_->address()}}, name);
  }
  std::unique_ptr<SharedCrawl> opened() {
    auto crawl = open();
    if (crawl) return std::move(*crawl);
    ADD_FAILURE() << crawl.error().message;
    return nullptr;
  }
  Error refusal(const std::string& name = "c1") {
    const auto crawl = open(name);
    EXPECT_FALSE(crawl.has_value());
    return crawl ? Error{ErrorCode::kIo, ""} : crawl.error();
  }
  // "URL state priority", in the order of the visits.
  std::vector<std::string> dumped(SharedCrawl& crawl, const DumpOptions& options = {}) {
    std::vector<std::string> lines;
    const auto done = dump_shared_crawl(crawl, options, [&](const DumpedUrl& url) -> Result<void> {
      lines.push_back(fmt::format("{} {} {}", url.url, static_cast<int>(url.state), url.priority));
      return {};
    });
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return lines;
  }
};

TEST_F(SharedCrawlTest, WhatIsNotACrawlIsNamed) {
  EXPECT_EQ(refusal().code, ErrorCode::kNotFound);
  EXPECT_THAT(refusal().message, AllOf(HasSubstr("no crawl c1"), HasSubstr("{c1:cfg}")));
  server_->cli({"set", "{c1:cfg}", "x"});
  EXPECT_THAT(refusal().message, AllOf(HasSubstr("{c1:cfg}"), HasSubstr("string, not a hash")));
  server_->cli({"del", "{c1:cfg}"});
  server_->cli({"hset", "{c1:cfg}", "a", "b"});
  EXPECT_THAT(refusal().message, AllOf(HasSubstr("{c1:cfg}"), HasSubstr("no field format")));
  server_->cli({"hset", "{c1:cfg}", "format", "9"});
  EXPECT_EQ(refusal().code, ErrorCode::kUnsupportedVersion);
  server_->cli({"del", "{c1:cfg}"});
  test::CrawlInRedis crawl(*client_, "c1");
  server_->cli({"hset", "{c1:cfg}", "buckets", "many"});
  EXPECT_THAT(refusal().message, HasSubstr("field buckets is not a number"));
  server_->cli({"hset", "{c1:cfg}", "buckets", "64", "profile", "of-the-future"});
  EXPECT_EQ(refusal().code, ErrorCode::kUnsupportedVersion);
}

TEST_F(SharedCrawlTest, WhatABucketHoldsIsCounted) {
  test::CrawlInRedis written(*client_, "c1");
  for (int i = 0; i < 100; ++i) {
    const std::string url = fmt::format("http://host{}.example/{}", i % 10, i);
    written.queue({.url = url});
  }
  written.defer({.url = "http://host1.example/later"}, 4'000'000'000'000);
  written.set_aside({.url = "http://host1.example/404"}, kMissing);
  written.write();
  MessageIds ids;
  std::vector<BucketStore::Push> pushes(1);
  pushes[0].bucket = 63;
  pushes[0].messages = {{.id = ids.next(), .body = "a"}, {.id = ids.next(), .body = "b"}};
  ASSERT_EQ(written.bucket_store().push(pushes)[0].code, BucketStore::Written::Code::kDone);
  const auto crawl = opened();
  ASSERT_NE(crawl, nullptr);
  EXPECT_EQ(crawl->begun().config.buckets, 64u);
  EXPECT_EQ(crawl->begun().config.delay, std::chrono::milliseconds(1500));
  EXPECT_EQ(crawl->identity().hash(), written.identity().hash());
  const auto buckets = crawl->survey();
  ASSERT_TRUE(buckets.has_value()) << buckets.error().message;
  ASSERT_EQ(buckets->size(), 64u);
  std::uint64_t open = 0, admitted = 0, hosts = 0, deferred = 0, aside = 0;
  for (const auto& bucket : *buckets) {
    open += bucket.open;
    admitted += bucket.counters.admitted;
    hosts += bucket.hosts;
    deferred += bucket.deferred;
    aside += bucket.set_aside;
    EXPECT_EQ(bucket.node, server_->address().text());
    EXPECT_EQ(bucket.inbox, bucket.id == 63 ? 2u : 0u);
  }
  EXPECT_EQ(open, 101u);
  EXPECT_EQ(admitted, 102u);
  EXPECT_EQ(hosts, 10u);
  EXPECT_EQ(deferred, 1u);
  EXPECT_EQ(aside, 1u);
  EXPECT_EQ(buckets->at(63).first_message, pushes[0].messages[0].id);
  const auto& owned = *std::ranges::find_if(*buckets, [](const auto& b) { return b.open > 0; });
  EXPECT_EQ(owned.owner.version, 1u);
  const std::vector<MemberTable::Seen> members = {{"other", {.session = "5e55"}},
                                                  {"me", {.session = written.kSession}}};
  EXPECT_EQ(SharedCrawl::owner_of(owned.owner.token, members), "me");
  EXPECT_EQ(SharedCrawl::owner_of("", members), std::nullopt);
  const auto nodes = crawl->nodes();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_GT(nodes[0].memory, 100'000u);
  EXPECT_EQ(nodes[0].trouble, "");
}

TEST_F(SharedCrawlTest, AllUrlsAreDumpedInTheOrderOfTheirQueues) {
  test::CrawlInRedis written(*client_, "c1");
  std::vector<std::string> one;
  // Several parts of a queue.
  for (int i = 0; i < 2500; ++i) {
    const std::string url = fmt::format("http://one.example/{}", i);
    written.queue({.url = url}, i % 2);
    one.push_back(fmt::format("{} 0 {}", url, i % 2));
  }
  std::ranges::stable_sort(one, std::ranges::greater(),
                           [](const auto& line) { return line.back(); });
  written.queue({.url = "http://two.example/"}, -5);
  written.defer({.url = "http://one.example/later", .attempts = 2}, 4'000'000'000'123, 7);
  written.set_aside({.url = "http://two.example/404"}, kMissing);
  written.set_aside({.url = "http://one.example/held"}, kHeld);
  written.write();
  const auto crawl = opened();
  ASSERT_NE(crawl, nullptr);
  auto of_one = one;
  of_one.push_back("http://one.example/later 1 7");
  of_one.push_back("http://one.example/held 2 0");
  EXPECT_EQ(dumped(*crawl, {.host = "one.example"}), of_one);
  EXPECT_THAT(dumped(*crawl, {.host = "two.example"}),
              ElementsAre("http://two.example/ 0 -5", "http://two.example/404 3 0"));
  EXPECT_THAT(dumped(*crawl, {.host = "three.example"}), IsEmpty());
  EXPECT_EQ(dumped(*crawl).size(), one.size() + 4);
  EXPECT_EQ(dumped(*crawl, {.host = "one.example", .state = WaitingState::kQueued}), one);
  EXPECT_THAT(dumped(*crawl, {.host = {}, .state = WaitingState::kFailed}),
              ElementsAre("http://two.example/404 3 0"));
  EXPECT_THAT(dumped(*crawl, {.host = {}, .state = WaitingState::kHeld}),
              ElementsAre("http://one.example/held 2 0"));
  // The first error ends it.
  int visits = 0;
  const auto stopped = dump_shared_crawl(*crawl, {}, [&](const DumpedUrl&) -> Result<void> {
    return ++visits < 5 ? Result<void>() : error(ErrorCode::kIo, "enough");
  });
  EXPECT_EQ(stopped.error().message, "enough");
  EXPECT_EQ(visits, 5);
}

TEST_F(SharedCrawlTest, DamageIsNamedByItsKey) {
  test::CrawlInRedis written(*client_, "c1");
  written.queue({.url = "http://one.example/"});
  written.write();
  const HostId host = written.identity().host("one.example");
  const BucketId bucket = written.identity().bucket_of(host);
  const std::string queue = written.keys().queue(bucket, host, 0);
  server_->cli({"rpush", queue, "x"});
  const auto crawl = opened();
  ASSERT_NE(crawl, nullptr);
  const auto nothing = [](const DumpedUrl&) -> Result<void> { return {}; };
  auto dump = dump_shared_crawl(*crawl, {}, nothing);
  ASSERT_FALSE(dump.has_value());
  EXPECT_EQ(dump.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(dump.error().message, AllOf(HasSubstr(queue), HasSubstr("element 1")));
  server_->cli({"del", queue});
  server_->cli({"set", queue, "of another program"});
  dump = dump_shared_crawl(*crawl, {}, nothing);
  ASSERT_FALSE(dump.has_value());
  EXPECT_THAT(dump.error().message, AllOf(HasSubstr(queue), HasSubstr("string, not a list")));
  server_->cli({"hset", written.keys().meta(bucket), "c", "x"});
  const BucketId other = bucket == 7 ? 8 : 7;
  server_->cli({"set", written.keys().inbox(other), "of another program"});
  const auto buckets = crawl->survey();
  ASSERT_TRUE(buckets.has_value()) << buckets.error().message;
  for (const auto& one : *buckets)
    EXPECT_EQ(one.is_damaged, one.id == bucket || one.id == other) << one.id << one.trouble;
  EXPECT_THAT(buckets->at(bucket).trouble, HasSubstr(written.keys().meta(bucket)));
  EXPECT_EQ(buckets->at(bucket).open, 0u) << "nothing is known";
  EXPECT_THAT(buckets->at(other).trouble, HasSubstr(written.keys().inbox(other)));
}

TEST_F(SharedCrawlTest, ACrawlOfWhichNothingIsKnownIsAnError) {
  const test::CrawlInRedis written(*client_, "c1");
  const auto crawl = opened();
  ASSERT_NE(crawl, nullptr);
  for (const BucketId bucket : crawl->buckets())
    server_->cli({"set", written.keys().meta(bucket), "of another program"});
  const auto buckets = crawl->survey();
  ASSERT_FALSE(buckets.has_value());
  EXPECT_EQ(buckets.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(buckets.error().message, HasSubstr(written.keys().meta(0)));
}

// The buckets of a cluster are on all its masters.
TEST(SharedCrawlOnACluster, IsReadFromAllNodes) {
  SKIP_WITHOUT_REDIS();
  const test::RedisClusterServers servers;
  auto client = RedisClient::connect({.addresses = servers.addresses()});
  ASSERT_TRUE(client.has_value()) << client.error().message;
  test::CrawlInRedis written(**client, "c1");
  for (int i = 0; i < 500; ++i) {
    const std::string url = fmt::format("http://host{}.example/{}", i % 100, i);
    written.queue({.url = url});
  }
  written.write();
  // Any node knows the others.
  auto crawl = SharedCrawl::open({.addresses = {servers.addresses().front()}}, "c1");
  ASSERT_TRUE(crawl.has_value()) << crawl.error().message;
  const auto buckets = (*crawl)->survey();
  ASSERT_TRUE(buckets.has_value()) << buckets.error().message;
  std::uint64_t open = 0;
  std::set<std::string> nodes;
  for (const auto& bucket : *buckets) {
    open += bucket.open;
    nodes.insert(bucket.node);
  }
  EXPECT_EQ(open, 500u);
  EXPECT_EQ(nodes.size(), 3u);
  EXPECT_EQ((*crawl)->nodes().size(), 3u);
  std::set<std::string> urls;
  const auto dumped = dump_shared_crawl(**crawl, {}, [&](const DumpedUrl& url) -> Result<void> {
    EXPECT_TRUE(urls.emplace(url.url).second) << url.url;
    return {};
  });
  EXPECT_TRUE(dumped.has_value()) << dumped.error().message;
  EXPECT_EQ(urls.size(), 500u);
}

TEST(SharedCrawlOnACluster, BucketsOfANodeThatIsAwayAreInTrouble) {
  SKIP_WITHOUT_REDIS();
  test::RedisClusterServers servers;
  auto client = RedisClient::connect({.addresses = servers.addresses()});
  ASSERT_TRUE(client.has_value()) << client.error().message;
  const test::CrawlInRedis written(**client, "c1");
  auto crawl = SharedCrawl::open({.addresses = servers.addresses()}, "c1");
  ASSERT_TRUE(crawl.has_value()) << crawl.error().message;
  test::RedisServer& gone = servers.master_of(written.keys().meta(0));
  const std::string node = gone.address().text();
  gone.stop();
  // Shorter than a failover.
  const auto buckets = (*crawl)->survey(std::chrono::milliseconds(200));
  ASSERT_TRUE(buckets.has_value()) << buckets.error().message;
  for (const auto& bucket : *buckets)
    EXPECT_EQ(bucket.trouble.empty(), bucket.node != node) << bucket.id << ": " << bucket.trouble;
  EXPECT_THAT(buckets->front().trouble, HasSubstr(node));
  // And longer than one.
  const auto later = (*crawl)->survey();
  ASSERT_TRUE(later.has_value()) << later.error().message;
  for (const auto& bucket : *later)
    EXPECT_EQ(bucket.trouble, "") << bucket.id;
}

}  // namespace
}  // namespace trawl
