// State directories of crawlers whose crawl has its frontier in Redis, and those of others.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "crawler/config/crawl_config.h"
#include "crawler/config/crawl_paths.h"
#include "crawler/run/crawl.h"
#include "crawler/state/fresh_start.h"
#include "crawler/state/resumed_config.h"
#include "crawler/state/state_contents.h"
#include "crawler/warc/warc_names.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CrawlConfig own_config(const TemporaryDirectory& directory) {
  CrawlConfig config;
  config.crawl.seeds = {"http://a.example/"};
  config.crawl.state_dir = directory.path() / "state";
  return config;
}

CrawlConfig member_of(const TemporaryDirectory& directory, const std::string& crawl) {
  CrawlConfig config = own_config(directory);
  config.cluster.redis = {"127.0.0.1:6379"};
  config.cluster.name = crawl;
  return config;
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

std::string refusal(const Result<void>& result) {
  return result ? "" : result.error().message;
}

TEST(MemberDirectory, IsKnownByItsConfigAndByTheFileOfTheFrontier) {
  const TemporaryDirectory directory;
  const CrawlConfig config = member_of(directory, "c1");
  EXPECT_EQ(inspect_state(config), StateContents::kNothing);
  EXPECT_EQ(holds_crawl(config.crawl.state_dir), false);

  // Killed before it wrote its config.
  write(config.crawl.state_dir / "LOCK", "");
  write(config.crawl.state_dir / "shared-frontier", "trawl-shared-frontier 1\ncrawl c1\n");
  EXPECT_EQ(inspect_state(config), StateContents::kMember);
  EXPECT_EQ(holds_crawl(config.crawl.state_dir), true);
  EXPECT_FALSE(member_config(config.crawl.state_dir));

  std::filesystem::remove(config.crawl.state_dir / "shared-frontier");
  ASSERT_TRUE(save_configs(config, config).has_value());
  EXPECT_EQ(inspect_state(config), StateContents::kMember);
  EXPECT_EQ(holds_crawl(config.crawl.state_dir), true);
  ASSERT_TRUE(member_config(config.crawl.state_dir));
  EXPECT_EQ(member_config(config.crawl.state_dir)->cluster.name, "c1");
  EXPECT_EQ(refusal(check_frontier_place(config)), "");
}

TEST(MemberDirectory, AFileOfTheSameNameIsNotEnough) {
  const TemporaryDirectory directory;
  const CrawlConfig config = member_of(directory, "c1");
  write(config.crawl.state_dir / "shared-frontier", "my notes\n");
  EXPECT_FALSE(inspect_state(config).has_value());
  EXPECT_EQ(holds_crawl(config.crawl.state_dir), false);
}

TEST(MemberDirectory, IsRefusedForAFrontierElsewhere) {
  const TemporaryDirectory directory;
  const CrawlConfig member = member_of(directory, "c1");
  std::filesystem::create_directories(member.crawl.state_dir);
  ASSERT_TRUE(save_configs(member, member).has_value());
  EXPECT_THAT(refusal(check_frontier_place(own_config(directory))),
              AllOf(HasSubstr("Redis"), HasSubstr("[cluster]"), HasSubstr("crawl.state_dir")));
  EXPECT_THAT(refusal(check_frontier_place(member_of(directory, "c2"))),
              AllOf(HasSubstr("c1"), HasSubstr("c2"), HasSubstr("crawl.state_dir")));
}

TEST(MemberDirectory, ACrawlWithAFrontierOfItsOwnStaysSo) {
  const TemporaryDirectory directory;
  const CrawlConfig own = own_config(directory);
  {
    auto options = frontier_options_of(own);
    ASSERT_TRUE(options.has_value());
    options->seen.expected_urls = 1000;
    auto frontier = EmbeddedFrontier::open(*options);
    ASSERT_TRUE(frontier.has_value()) << frontier.error().message;
    EXPECT_TRUE((*frontier)->close().has_value());
  }
  EXPECT_EQ(refusal(check_frontier_place(own)), "");
  const CrawlConfig member = member_of(directory, "c1");
  EXPECT_THAT(refusal(check_frontier_place(member)),
              AllOf(HasSubstr("c1"), HasSubstr("remove [cluster]"), HasSubstr("crawl.state_dir")));
  // And the crawl with it, before it touches anything.
  const auto crawl = Crawl::open(member, {});
  ASSERT_FALSE(crawl.has_value());
  EXPECT_EQ(crawl.error().message, refusal(check_frontier_place(member)));
  EXPECT_FALSE(std::filesystem::exists(saved_config_path(own.crawl.state_dir)));
}

TEST(MemberDirectory, FreshDeletesNothing) {
  const TemporaryDirectory directory;
  const CrawlConfig member = member_of(directory, "c1");
  std::filesystem::create_directories(member.crawl.state_dir);
  ASSERT_TRUE(save_configs(member, member).has_value());
  const auto shared = FreshStart::prepare(member);
  ASSERT_FALSE(shared.has_value());
  EXPECT_THAT(shared.error().message, AllOf(HasSubstr("c1"), HasSubstr("cluster.name")));
  EXPECT_FALSE(FreshStart::prepare(own_config(directory)).has_value());
  EXPECT_TRUE(std::filesystem::exists(saved_config_path(member.crawl.state_dir)));
}

TEST(MemberDirectory, WarcFilesHaveTheNameOfTheCrawler) {
  const TemporaryDirectory directory;
  CrawlConfig config = own_config(directory);
  EXPECT_EQ(warc_prefix(config), "trawl");
  config = member_of(directory, "c1");
  config.cluster.member = "host-1.a";
  EXPECT_EQ(warc_prefix(config), "trawl-host-1.a");
  // Other characters are replaced; names that are then equal stay apart.
  config.cluster.member = "a b";
  const std::string one = warc_prefix(config);
  config.cluster.member = "a/b";
  const std::string other = warc_prefix(config);
  EXPECT_THAT(one, testing::StartsWith("trawl-a-b-"));
  EXPECT_THAT(other, testing::StartsWith("trawl-a-b-"));
  EXPECT_NE(one, other);
  for (const std::string& member :
       {std::string(), std::string(255, 'x'), std::string("\xc3\xbc")}) {
    config.cluster.member = member;
    for (const std::size_t length : {1u, 50u, 100u}) {
      config.output.warc_prefix = std::string(length, 'p');
      EXPECT_TRUE(check_warc_prefix(warc_prefix(config)).has_value()) << warc_prefix(config);
    }
  }
}

TEST(MemberDirectory, TheOptionsOfTheFrontierAreThoseOfTheConfig) {
  const TemporaryDirectory directory;
  CrawlConfig config = member_of(directory, "c1");
  config.cluster.redis = {"10.0.0.1", "rediss://10.0.0.2:7000"};
  config.cluster.durability = ClusterDurability::kSynced;
  config.cluster.takeover_after = std::chrono::seconds(7);
  config.politeness.delay = std::chrono::milliseconds(123);
  write(directory.path() / "password", "secret\n");
  config.cluster.password_file = directory.path() / "password";
  auto options = shared_options_of(config);
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->directory, config.crawl.state_dir);
  EXPECT_THAT(options->cluster.redis, testing::ElementsAre("10.0.0.1:6379", "10.0.0.2:7000"));
  EXPECT_TRUE(options->cluster.tls);
  EXPECT_EQ(options->cluster.password, "secret");
  EXPECT_EQ(options->cluster.durability, SharedDurability::kSynced);
  EXPECT_EQ(options->cluster.takeover_after, std::chrono::seconds(7));
  EXPECT_EQ(options->cluster.member, cluster_member(config.cluster, config.crawl.state_dir));
  EXPECT_EQ(options->politeness.delay, std::chrono::milliseconds(123));
  config.cluster.password_file = directory.path() / "nowhere";
  options = shared_options_of(config);
  ASSERT_FALSE(options.has_value());
  EXPECT_THAT(options.error().message, HasSubstr("nowhere"));
}

}  // namespace
}  // namespace trawl::test
