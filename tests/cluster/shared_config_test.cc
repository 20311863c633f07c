// What crawlers of a crawl have in common, in a real redis-server.
#include "frontier/shared/shared_config.h"

#include <thread>

#include <gmock/gmock.h>

#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

const SharedConfig kConfig{
    .buckets = 64, .profile = "lossless", .expected_urls = 1'000'000, .delay = milliseconds(1500)};

class SharedConfigTest : public test::RedisFixture {
 protected:
  Result<JoinedCrawl> join(const SharedConfig& config,
                           const std::optional<std::string>& known = std::nullopt) {
    return join_crawl(*client_, BucketKeys("c1"), config, known);
  }
  Error refusal(const SharedConfig& config,
                const std::optional<std::string>& known = std::nullopt) {
    auto joined = join(config, known);
    EXPECT_FALSE(joined.has_value());
    return joined ? Error{ErrorCode::kIo, ""} : joined.error();
  }
};

TEST_F(SharedConfigTest, TheFirstOneChoosesTheHashForAll) {
  auto first = join(kConfig), second = join(kConfig);
  ASSERT_TRUE(first.has_value()) << first.error().message;
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_TRUE(first->created);
  EXPECT_FALSE(second->created);
  EXPECT_EQ(first->hash, second->hash);
  EXPECT_EQ(first->id, second->id);
  const auto again = join(kConfig, first->id);
  EXPECT_TRUE(again.has_value());
  auto other = join_crawl(*client_, BucketKeys("c2"), kConfig);
  ASSERT_TRUE(other.has_value());
  EXPECT_NE(other->id, first->id);
  EXPECT_FALSE(other->hash == first->hash);
}

TEST_F(SharedConfigTest, ADifferenceIsNamedWithBothValuesAndWhatToDo) {
  ASSERT_TRUE(join(kConfig).has_value());
  SharedConfig config = kConfig;
  config.buckets = 256;
  EXPECT_THAT(refusal(config).message,
              AllOf(HasSubstr("{c1:cfg}"), HasSubstr("cluster.buckets"), HasSubstr("\"64\""),
                    HasSubstr("\"256\""), HasSubstr("another cluster.name")));
  config = kConfig;
  config.profile = "sort_query";
  EXPECT_EQ(refusal(config).code, ErrorCode::kProfileMismatch);
  EXPECT_THAT(refusal(config).message,
              AllOf(HasSubstr("\"lossless\""), HasSubstr("\"sort_query\"")));
  config = kConfig;
  config.delay = milliseconds(2000);
  EXPECT_THAT(refusal(config).message,
              AllOf(HasSubstr("\"1500\""), HasSubstr("HSET '{c1:cfg}' delay 2000")));
  EXPECT_EQ(server_->cli({"hset", "{c1:cfg}", "delay", "2000"}), "0");
  EXPECT_TRUE(join(config).has_value()) << "as the message says";
  server_->cli({"hset", "{c1:cfg}", "format", "7"});
  EXPECT_EQ(refusal(config).code, ErrorCode::kUnsupportedVersion);
  EXPECT_THAT(refusal(config).message, AllOf(HasSubstr("\"7\""), HasSubstr("{c1:cfg}")));
}

TEST_F(SharedConfigTest, ACrawlThatIsGoneOrReplacedIsNotBegunAgain) {
  auto first = join(kConfig);
  ASSERT_TRUE(first.has_value());
  server_->cli({"flushall"});
  EXPECT_EQ(refusal(kConfig, first->id).code, ErrorCode::kNotFound);
  EXPECT_EQ(server_->cli({"exists", "{c1:cfg}"}), "0");
  ASSERT_TRUE(join(kConfig).has_value());
  EXPECT_EQ(refusal(kConfig, first->id).code, ErrorCode::kAlreadyExists);
}

TEST_F(SharedConfigTest, ForeignAndDamagedValuesAreNamed) {
  server_->cli({"set", "{c1:cfg}", "mine"});
  EXPECT_THAT(refusal(kConfig).message, HasSubstr("{c1:cfg} in Redis is a string, not a hash"));
  server_->cli({"del", "{c1:cfg}"});
  ASSERT_TRUE(join(kConfig).has_value());
  for (const char* value : {"", "1:", "1:0123", "2:00000000000000000000000000000000",
                            "1:0000000000000000000000000000000g"}) {
    server_->cli({"hset", "{c1:cfg}", "hash", value});
    EXPECT_EQ(refusal(kConfig).code, ErrorCode::kCorrupt) << value;
    EXPECT_THAT(refusal(kConfig).message, HasSubstr("{c1:cfg}"));
  }
  server_->cli({"hdel", "{c1:cfg}", "delay"});
  EXPECT_THAT(refusal(kConfig).message, AllOf(HasSubstr("nothing"), HasSubstr("\"1500\"")));
}

// Otherwise a failover could take it back, and the next crawler would choose another hash.
TEST_F(SharedConfigTest, NothingCountsThatNoReplicaHas) {
  test::RedisServer replica({"--replicaof", "127.0.0.1 " + server_->port()});
  while (server_->cli({"info", "replication"}).find("state=online") == std::string::npos)
    std::this_thread::sleep_for(milliseconds(20));
  ASSERT_TRUE(client_->refresh().has_value());
  replica.freeze();
  for (int i = 0; i < 2; ++i) {  // created, and joined
    auto joined = join_crawl(*client_, BucketKeys("c1"), kConfig, std::nullopt, milliseconds(200));
    ASSERT_FALSE(joined.has_value());
    EXPECT_EQ(joined.error().code, ErrorCode::kUnavailable);
  }
  replica.thaw();
  EXPECT_TRUE(join(kConfig).has_value());
}

}  // namespace
}  // namespace trawl
