// [cluster]: where a frontier that many crawlers share is, and what is wrong with it.
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/config/cluster_config.h"
#include "crawler/config/config_warnings.h"
#include "crawler/config/shown_config.h"
#include "tests/crawler/config_fixture.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Tls = RedisPlace::Tls;

std::string cluster_with(std::string_view more) {
  return minimal_with("[cluster]\nredis = \"10.0.0.1:6379\"\nname = \"c1\"\n").append(more);
}

std::string refusal_of(std::string_view text) {
  const auto place = parse_redis_place(text);
  EXPECT_FALSE(place.has_value()) << text;
  return place ? "" : place.error().message;
}

TEST(RedisPlace, HasNodesATransportAndANameOfACrawl) {
  auto place = parse_redis_place("10.0.0.1:7000");
  ASSERT_TRUE(place.has_value());
  EXPECT_THAT(place->nodes, ElementsAre(RedisNode{"10.0.0.1", 7000}));
  EXPECT_EQ(place->tls, Tls::kOpen);
  EXPECT_EQ(place->crawl, "");
  place =
      parse_redis_place("REDIS://a.example,b_2.example:6380,[2001:db8::1]:1,a.example/crawl-1.x");
  ASSERT_TRUE(place.has_value()) << place.error().message;
  EXPECT_THAT(place->nodes,
              ElementsAre(RedisNode{"a.example", 6379}, RedisNode{"b_2.example", 6380},
                          RedisNode{"2001:db8::1", 1}));
  EXPECT_EQ(place->tls, Tls::kNo);
  EXPECT_EQ(place->crawl, "crawl-1.x");
  EXPECT_EQ(place->nodes[2].text(), "[2001:db8::1]:1");
  place = parse_redis_place("rediss://[::1]/");
  ASSERT_TRUE(place.has_value()) << place.error().message;
  EXPECT_THAT(place->nodes, ElementsAre(RedisNode{"::1", 6379}));
  EXPECT_EQ(place->tls, Tls::kYes);
  EXPECT_EQ(place->crawl, "");
}

TEST(RedisPlace, WhatIsWrongIsNamed) {
  EXPECT_THAT(refusal_of(""), HasSubstr("no host"));
  EXPECT_THAT(refusal_of("redis://"), HasSubstr("no host"));
  EXPECT_THAT(refusal_of("redis://a,,b"), HasSubstr("no host"));
  EXPECT_THAT(refusal_of("a:0"), HasSubstr("\"0\" is not a port"));
  EXPECT_THAT(refusal_of("a:"), HasSubstr("not a port"));
  EXPECT_THAT(refusal_of("a:65536"), HasSubstr("not a port"));
  EXPECT_THAT(refusal_of("a:63 79"), HasSubstr("not a port"));
  EXPECT_THAT(refusal_of("a b:1"), HasSubstr("\"a b\" is not a host name"));
  EXPECT_THAT(refusal_of("::1"), HasSubstr("an IPv6 address needs brackets"));
  EXPECT_THAT(refusal_of("[::1"), HasSubstr("bracket"));
  EXPECT_THAT(refusal_of("[::1]6379"), HasSubstr("text after the bracket"));
  EXPECT_THAT(refusal_of("[a]:1"), HasSubstr("not an IPv6 address"));
  EXPECT_THAT(refusal_of("http://a:1"), HasSubstr("neither redis:// nor rediss://"));
  EXPECT_THAT(refusal_of("redis://a:1/two words"), HasSubstr("not the name of a crawl"));
  EXPECT_THAT(refusal_of("redis://a:1/x/y"), HasSubstr("not the name of a crawl"));
  for (const auto* secret : {"redis://me:s3cret@a:1", "redis://me:s3/cret@a:1", "s3cret@a"}) {
    EXPECT_THAT(refusal_of(secret),
                AllOf(HasSubstr("password_file"), Not(HasSubstr("s3")), Not(HasSubstr("cret"))));
  }
}

TEST(RedisPlace, AUrlOfRedisIsNotTakenForAFile) {
  EXPECT_TRUE(is_redis_url("redis://a/b"));
  EXPECT_TRUE(is_redis_url("Rediss://"));
  EXPECT_FALSE(is_redis_url("redis"));
  EXPECT_FALSE(is_redis_url("./redis://x"));
  EXPECT_FALSE(is_redis_url("http://redis/"));
}

TEST(RedisPlace, TheNameOfACrawlIsPlain) {
  for (const auto* good : {"a", "crawl1", "2026-11.run_b"})
    EXPECT_TRUE(is_crawl_name(good)) << good;
  EXPECT_TRUE(is_crawl_name(std::string(kMaxCrawlName, 'x')));
  EXPECT_FALSE(is_crawl_name(std::string(kMaxCrawlName + 1, 'x')));
  for (const auto* bad : {"", "-a", ".", "_x", "a{b", "a}", "a:b", "a/b", "a b", "\xc3\xa9", "a\n"})
    EXPECT_FALSE(is_crawl_name(bad)) << bad;
}

TEST(ClusterConfig, IsAbsentByDefault) {
  EXPECT_FALSE(accepted(kMinimal).cluster.enabled());
  const ClusterConfig cluster = accepted(cluster_with("")).cluster;
  EXPECT_TRUE(cluster.enabled());
  EXPECT_EQ(cluster.buckets, 256u);
  EXPECT_EQ(cluster.takeover_after, std::chrono::seconds(10));
  EXPECT_EQ(cluster.durability, ClusterDurability::kReplicated);
}

TEST(ClusterConfig, NonsenseIsRefusedWithItsPlace) {
  EXPECT_THAT(only_error(cluster_with("buckets = 15\n")),
              AllOf(StartsWith("c.toml:7:11: cluster.buckets: "), HasSubstr("16 to 4096")));
  EXPECT_THAT(only_error(cluster_with("buckets = 4097\n")), HasSubstr("16 to 4096"));
  EXPECT_THAT(only_error(cluster_with("takeover_after = \"900ms\"\n")),
              AllOf(StartsWith("c.toml:7:18: cluster.takeover_after: "), HasSubstr("\"1s\"")));
  EXPECT_THAT(only_error(cluster_with("durability = \"replicate\"\n")),
              HasSubstr("did you mean \"replicated\"?"));
  EXPECT_THAT(only_error(cluster_with("member = \"a\\tb\"\n")), HasSubstr("control characters"));
  EXPECT_THAT(only_error(minimal_with("[cluster]\nredis = [\"a:1\", \"b:x\"]\nname = \"c\"\n")),
              AllOf(StartsWith("c.toml:5:17: cluster.redis: "), HasSubstr("\"x\" is not a port")));
  EXPECT_THAT(only_error(minimal_with("[cluster]\nredis = \"redis://a:1/c2\"\nname = \"c\"\n")),
              AllOf(HasSubstr("\"c2\""), HasSubstr("cluster.name")));
  EXPECT_THAT(only_error(minimal_with("[cluster]\nredis = \"a:1\"\nname = \"{c}\"\n")),
              AllOf(StartsWith("c.toml:6:8: cluster.name: "), HasSubstr("letters, digits")));
}

TEST(ClusterConfig, KeysThatContradictEachOtherAreRefused) {
  EXPECT_THAT(only_error(minimal_with("[cluster]\nredis = \"a:1\"\n")),
              HasSubstr("needs cluster.name"));
  EXPECT_THAT(only_error(minimal_with("[cluster]\nname = \"c1\"\n")),
              HasSubstr("no effect without cluster.redis"));
  EXPECT_THAT(only_error(cluster_with("username = \"me\"\n")), HasSubstr("cluster.password_file"));
  EXPECT_THAT(config_warnings(accepted(cluster_with("ca_file = \"/ca\"\n"))),
              ElementsAre(HasSubstr("cluster.tls = true")));
  EXPECT_THAT(config_warnings(accepted(cluster_with("ca_file = \"/ca\"\ntls = true\n"))),
              ElementsAre());
  EXPECT_THAT(only_error(minimal_with(
                  "[cluster]\nredis = [\"redis://a:1\", \"rediss://b:1\"]\nname = \"c\"\n")),
              HasSubstr("TLS is for all or for none"));
  EXPECT_THAT(
      only_error(minimal_with("[cluster]\nredis = \"redis://a:1\"\nname = \"c\"\ntls = true\n")),
      HasSubstr("contradicts redis://"));
}

TEST(ClusterConfig, NodesAreThoseOfAllAddresses) {
  const auto place =
      redis_place({.redis = {"rediss://a:1", "b", "a:1"}, .name = "c1", .tls = false});
  ASSERT_TRUE(place.has_value()) << place.error().message;
  EXPECT_THAT(place->nodes, ElementsAre(RedisNode{"a", 1}, RedisNode{"b", 6379}));
  EXPECT_EQ(place->tls, Tls::kYes);
  EXPECT_EQ(place->crawl, "c1");
  EXPECT_EQ(redis_place({.redis = {"b"}, .tls = true})->tls, Tls::kYes);
  EXPECT_EQ(redis_place({.redis = {"b"}})->tls, Tls::kNo);
}

TEST(ClusterConfig, AMemberIsAMachineAndADirectoryUnlessNamed) {
  EXPECT_EQ(cluster_member({.member = "m"}, "/state"), "m");
  const std::string member = cluster_member({}, "/a/../state");
  EXPECT_THAT(member, testing::EndsWith(":/state"));
  EXPECT_GT(member.size(), std::string(":/state").size());
  EXPECT_EQ(cluster_member({}, "/state"), member) << "the next run has the same";
  EXPECT_EQ(cluster_member({}, "/state/"), member) << "however it is written";
  EXPECT_NE(cluster_member({}, "/state2"), member);
}

TEST(ClusterConfig, APasswordIsTheOneLineOfItsFile) {
  const TemporaryDirectory directory;
  const auto file = std::filesystem::path(directory.path()) / "password";
  const auto with = [&](std::string_view text) {
    std::ofstream(file, std::ios::binary) << text;
    return read_redis_password(file);
  };
  EXPECT_EQ(read_redis_password({}), std::string());
  EXPECT_EQ(with("s3 cret\n"), std::string("s3 cret"));
  EXPECT_EQ(with("s3cret\r\n"), std::string("s3cret"));
  EXPECT_EQ(with("s3cret"), std::string("s3cret"));
  for (const auto* bad : {"", "\n", "s3cret\nother\n", "s3c\tret"}) {
    const auto password = with(bad);
    ASSERT_FALSE(password.has_value()) << bad;
    EXPECT_THAT(password.error().message, AllOf(HasSubstr(file.string()), Not(HasSubstr("s3c"))));
  }
  std::filesystem::remove(file);
  EXPECT_THAT(read_redis_password(file).error().message, HasSubstr("cannot be read"));
}

// Archives are passed on: the config in them does not say where Redis is.
TEST(ClusterConfig, IsNotShown) {
  for (const std::string& line : shown_config(accepted(cluster_with("member = \"m\"\n"))))
    EXPECT_THAT(line, Not(HasSubstr("cluster")));
}

TEST(ClusterConfig, WhatOnlyAFrontierInTheStateDirectoryHasIsRefused) {
  for (const auto& [table, key] :
       {std::pair("[filter]\nmode = \"exact\"\n", "filter.mode"),
        std::pair("[frontier]\nledger = true\n", "frontier.ledger"),
        std::pair("[frontier]\ndurability = \"sync\"\n", "frontier.durability")}) {
    const auto config = parse_config(cluster_with(table), "a.toml");
    ASSERT_FALSE(config.has_value()) << table;
    EXPECT_THAT(config.error().front().to_string(),
                AllOf(HasSubstr(key), HasSubstr("frontier in"), HasSubstr("remove it")))
        << table;
  }
}

TEST(ClusterConfig, CheckpointsHaveNoEffect) {
  const auto config = parse_config(cluster_with("[checkpoint]\nkeep = 3\n"), "a.toml");
  ASSERT_TRUE(config.has_value());
  EXPECT_THAT(config_warnings(*config), testing::Contains(HasSubstr("checkpoint.keep")));
}

}  // namespace
}  // namespace trawl::test
