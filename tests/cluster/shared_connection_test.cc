// How a crawler joins a crawl, in a real redis-server; its options and what it keeps.
#include "frontier/shared/shared_connection.h"

#include <atomic>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/file_io.h"
#include "frontier/shared/ownership_thread.h"
#include "frontier/shared/shared_options_checks.h"
#include "frontier/shared/shared_session.h"
#include "tests/cluster/redis_fixture.h"
#include "tests/cluster/wait_until.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::wait_until;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

SharedOptions valid_options() {
  SharedOptions options;
  options.cluster.redis = {"127.0.0.1:7000"};
  options.cluster.name = "crawl-1";
  options.cluster.member = "m";
  return options;
}

TEST(RedisAddresses, AreParsedAndRefusedWithAReason) {
  const auto parsed = [](std::string_view text) {
    const auto address = parse_redis_address(text);
    return address ? address->text() : address.error().message;
  };
  EXPECT_EQ(parsed("10.0.0.1"), "10.0.0.1:6379");
  EXPECT_EQ(parsed("redis.example:7001"), "redis.example:7001");
  EXPECT_EQ(parsed("[::1]"), "[::1]:6379");
  EXPECT_EQ(parsed("[2001:db8::1]:65535"), "[2001:db8::1]:65535");
  for (const std::string_view wrong :
       {"", ":6379", "::1", "[::1", "[::1]6379", "[]:1", "h:", "h:0", "h:65536", "h:1x", "h:+1",
        "redis://h:1", "h/1", "u@h:1", "h 1"}) {
    const auto address = parse_redis_address(wrong);
    ASSERT_FALSE(address.has_value()) << wrong;
    EXPECT_EQ(address.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(address.error().message,
                AllOf(HasSubstr(fmt::format("\"{}\"", wrong)), HasSubstr("10.0.0.1:6379")));
  }
}

TEST(SharedOptionsChecks, EachWrongOptionIsNamed) {
  EXPECT_TRUE(check_options(valid_options()).has_value());
  struct Case {
    const char* message;
    void (*change)(SharedOptions&);
  };
  const Case cases[] = {
      {"cluster.redis must have from 1", [](SharedOptions& o) { o.cluster.redis.clear(); }},
      {"cluster.redis: \"h:x\"", [](SharedOptions& o) { o.cluster.redis.push_back("h:x"); }},
      {"cluster.username", [](SharedOptions& o) { o.cluster.username = "u"; }},
      {"cluster.ca_file", [](SharedOptions& o) { o.cluster.ca_file = "ca.pem"; }},
      {"cluster.name", [](SharedOptions& o) { o.cluster.name.clear(); }},
      {"cluster.name", [](SharedOptions& o) { o.cluster.name = "a{b}"; }},
      {"cluster.name", [](SharedOptions& o) { o.cluster.name = std::string(65, 'x'); }},
      {"cluster.buckets", [](SharedOptions& o) { o.cluster.buckets = 0; }},
      {"cluster.buckets", [](SharedOptions& o) { o.cluster.buckets = 4097; }},
      {"cluster.member", [](SharedOptions& o) { o.cluster.member = "a\nb"; }},
      {"cluster.member", [](SharedOptions& o) { o.cluster.member.clear(); }},
      {"cluster.takeover_after",
       [](SharedOptions& o) { o.cluster.takeover_after = milliseconds(499); }},
      {"cluster.takeover_after",
       [](SharedOptions& o) { o.cluster.takeover_after = milliseconds(600'001); }},
      {"cluster.shared_ip_delay", [](SharedOptions& o) { o.cluster.shared_ip_delay = true; }},
      {"seen.mode", [](SharedOptions& o) { o.seen.mode = FilterMode::kExact; }},
      {"seen.ledger", [](SharedOptions& o) { o.seen.ledger = true; }},
      {"seen.replace_profile", [](SharedOptions& o) { o.seen.replace_profile = true; }},
      {"store.durability", [](SharedOptions& o) { o.store.durability = Durability::kSync; }},
      {"store.shards", [](SharedOptions& o) { o.store.shards = 0; }},
      {"store.max_memory", [](SharedOptions& o) { o.store.max_memory = 1; }},
      {"limits.max_open_leases", [](SharedOptions& o) { o.limits.max_open_leases = 0; }},
      {"politeness.delay", [](SharedOptions& o) { o.politeness.delay = milliseconds(-1); }},
  };
  for (const Case& one : cases) {
    SharedOptions options = valid_options();
    one.change(options);
    const auto checked = check_options(options);
    ASSERT_FALSE(checked.has_value()) << one.message;
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(checked.error().message, HasSubstr(one.message));
  }
}

TEST(SharedOptionsChecks, WithoutANameAMemberIsNamedAfterItsMachineAndDirectory) {
  SharedOptions options = valid_options();
  EXPECT_EQ(member_name(options), "m");
  options.cluster.member.clear();
  options.directory = "/x/../y";
  EXPECT_THAT(member_name(options), testing::EndsWith(":/y"));
  EXPECT_TRUE(check_options(options).has_value());
}

class SharedSessionTest : public ::testing::Test {
 protected:
  std::string file() const { return (directory_.path() / "shared-frontier").string(); }
  ErrorCode refusal(const std::string& contents) const {
    EXPECT_TRUE(replace_file(file(), contents).has_value());
    const auto read = SharedSession::read(directory_.path());
    EXPECT_FALSE(read.has_value());
    if (read) return ErrorCode::kIo;
    EXPECT_THAT(read.error().message, HasSubstr(file()));
    return read.error().code;
  }
  test::TemporaryDirectory directory_;
};

TEST_F(SharedSessionTest, WhatWasWrittenIsRead) {
  const SharedSession session{
      .crawl = "c", .member = "m", .id = new_session(), .session = new_session()};
  EXPECT_NE(session.id, session.session);
  EXPECT_EQ(SharedSession::read(directory_.path()).value(), std::nullopt);
  ASSERT_TRUE(session.write(directory_.path()).has_value());
  EXPECT_EQ(SharedSession::read(directory_.path()).value(), session);
  const SharedSession next{.crawl = "c", .member = "m", .id = session.id, .session = new_session()};
  ASSERT_TRUE(next.write(directory_.path()).has_value());
  EXPECT_EQ(SharedSession::read(directory_.path()).value(), next);
  ASSERT_TRUE(SharedSession::remove(directory_.path()).has_value());
  EXPECT_TRUE(SharedSession::remove(directory_.path()).has_value());
  EXPECT_TRUE(SharedSession::remove(directory_.path() / "absent").has_value());
  EXPECT_EQ(SharedSession::read(directory_.path()).value(), std::nullopt);
}

TEST_F(SharedSessionTest, DamageAndOtherVersionsAreRefused) {
  const SharedSession session{
      .crawl = "c", .member = "m", .id = new_session(), .session = new_session()};
  ASSERT_TRUE(session.write(directory_.path()).has_value());
  const std::string intact = read_file(file(), 4096).value();
  for (std::size_t size = 0; size < intact.size(); ++size)
    EXPECT_EQ(refusal(intact.substr(0, size)), ErrorCode::kCorrupt) << size;
  EXPECT_EQ(refusal(intact + "\n"), ErrorCode::kCorrupt);
  EXPECT_EQ(refusal("x" + intact), ErrorCode::kCorrupt);
  std::string newer = intact;
  newer.replace(newer.find('1'), 1, "2");
  EXPECT_EQ(refusal(newer), ErrorCode::kUnsupportedVersion);
}

class SharedConnectionTest : public test::RedisFixture {
 protected:
  SharedOptions options(const std::string& directory = "a") {
    SharedOptions options;
    options.directory = directory_.path() / directory;
    std::filesystem::create_directories(options.directory);
    options.cluster.redis = {server_->address().text()};
    options.cluster.name = "c1";
    options.cluster.buckets = 16;
    options.cluster.durability = SharedDurability::kAsync;
    return options;
  }
  Error refusal(const SharedOptions& options) {
    auto connected = connect_shared(options);
    EXPECT_FALSE(connected.has_value());
    return connected ? Error{ErrorCode::kIo, ""} : connected.error();
  }
  test::TemporaryDirectory directory_;
};

TEST_F(SharedConnectionTest, CrawlersOfOneCrawlJoinAndHaveSessionsOfTheirOwn) {
  auto a = connect_shared(options("a")), b = connect_shared(options("b"));
  ASSERT_TRUE(a.has_value()) << a.error().message;
  ASSERT_TRUE(b.has_value()) << b.error().message;
  EXPECT_TRUE(a->crawl.created);
  EXPECT_FALSE(b->crawl.created);
  EXPECT_EQ(a->crawl.hash, b->crawl.hash);
  EXPECT_NE(a->ownership.session, b->ownership.session);
  EXPECT_NE(a->ownership.member, b->ownership.member);
  EXPECT_THAT(a->ownership.previous_session, IsEmpty());
  EXPECT_FALSE(a->replicated);
  EXPECT_THAT(a->checks.warnings, Not(IsEmpty())) << "it has no append-only file";
  auto again = connect_shared(options("a"));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->ownership.previous_session, a->ownership.session);
  EXPECT_EQ(again->ownership.member, a->ownership.member);
  EXPECT_NE(again->ownership.session, a->ownership.session);
  EXPECT_TRUE(again->client().has_value());
}

TEST_F(SharedConnectionTest, TheHashOfATestIsThatOfTheCrawlItBegins) {
  SharedOptions seeded = options("a");
  seeded.testing.hash = KeyedHash::from_seed(7);
  auto a = connect_shared(seeded), b = connect_shared(options("b"));
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_EQ(a->crawl.hash, KeyedHash::from_seed(7));
  EXPECT_EQ(b->crawl.hash, KeyedHash::from_seed(7));
}

TEST_F(SharedConnectionTest, ADirectoryBelongsToOneCrawlThatIsStillThere) {
  ASSERT_TRUE(connect_shared(options()).has_value());
  SharedOptions other = options();
  other.cluster.name = "c2";
  EXPECT_EQ(refusal(other).code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(refusal(other).message, AllOf(HasSubstr("c1"), HasSubstr("c2")));
  EXPECT_EQ(server_->cli({"keys", "*c2*"}), "") << "nothing was begun";
  server_->cli({"flushall"});
  EXPECT_EQ(refusal(options()).code, ErrorCode::kNotFound);
  const auto kept = SharedSession::read(options().directory).value();
  ASSERT_TRUE(kept.has_value()) << "the next start must notice, too";
  ASSERT_TRUE(connect_shared(options("b")).has_value()) << "another crawl of this name";
  EXPECT_EQ(refusal(options()).code, ErrorCode::kAlreadyExists);
  ASSERT_TRUE(SharedSession::remove(options().directory).has_value());
  EXPECT_TRUE(connect_shared(options()).has_value());
}

TEST_F(SharedConnectionTest, WhatMustBeTheSameForAllIsCompared) {
  ASSERT_TRUE(connect_shared(options("a")).has_value());
  SharedOptions other = options("b");
  other.cluster.takeover_after = milliseconds(2000);
  EXPECT_THAT(refusal(other).message, HasSubstr("cluster.takeover_after"));
  other = options("b");
  other.cluster.shared_ip_delay = true;
  other.politeness.ip_delay = milliseconds(100);
  EXPECT_THAT(refusal(other).message, HasSubstr("politeness.ip_delay"));
  other.cluster.shared_ip_delay = false;
  EXPECT_TRUE(connect_shared(other).has_value()) << "each keeps it for itself";
}

TEST_F(SharedConnectionTest, ARedisThatWouldLoseTheCrawlOrIsAbsentIsRefused) {
  SharedOptions durable = options();
  durable.cluster.durability = SharedDurability::kReplicated;
  EXPECT_EQ(refusal(durable).code, ErrorCode::kInvalidArgument) << "no append-only file";
  EXPECT_EQ(SharedSession::read(durable.directory).value(), std::nullopt);
  server_->cli({"config", "set", "appendonly", "yes"});
  auto connected = connect_shared(durable);
  ASSERT_TRUE(connected.has_value()) << connected.error().message;
  EXPECT_TRUE(connected->replicated);
  durable.cluster.durability = SharedDurability::kSynced;
  EXPECT_EQ(refusal(durable).code, ErrorCode::kInvalidArgument) << "it syncs each second";
  server_->cli({"config", "set", "appendfsync", "always"});
  connected = connect_shared(durable);
  ASSERT_TRUE(connected.has_value()) << connected.error().message;
  server_->stop();
  EXPECT_EQ(refusal(options()).code, ErrorCode::kUnavailable);
}

// What the directory is for: the crawler of before is known to have ended.
TEST_F(SharedConnectionTest, ACrawlerThatWasKilledHasItsBucketsBackAtOnce) {
  SharedOptions options = this->options();
  options.cluster.takeover_after = milliseconds(600'000);
  std::atomic<std::size_t> gained{0};
  const auto run = [&] {
    gained = 0;
    auto connection = connect_shared(options);
    ASSERT_TRUE(connection.has_value()) << connection.error().message;
    OwnershipThread::Events events;
    events.gained = [&](BucketId, const std::string&, const BucketMeta&) { ++gained; };
    events.lost = events.to_release = events.emptied = [](BucketId) {};
    events.renewed = [](std::span<const BucketOwnership::Events::Renewed>) {};
    events.trouble = events.failed = [](const Error& error) { ADD_FAILURE() << error.message; };
    events.recovered = [] {};
    OwnershipThread thread(connection->ownership_client().value(), connection->keys,
                           connection->ownership, events);
    thread.start();
    EXPECT_TRUE(wait_until([&] { return gained == 16; }));
    thread.stop();  // without a word
  };
  run();
  run();
}

}  // namespace
}  // namespace trawl
