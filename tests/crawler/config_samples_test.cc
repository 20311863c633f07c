// The configs to start from are accepted as they stand, and say what they are for.
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/config/config_keys.h"
#include "crawler/config/user_agent.h"
#include "tests/crawler/config_fixture.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

CrawlConfig sample(const std::string& name) {
  const auto config = load_config(source_dir() / "config" / name);
  EXPECT_TRUE(config.has_value()) << testing::PrintToString(texts(config));
  return config.value_or(CrawlConfig());
}

// The file with its commented-out keys put in, except those whose file need not exist.
std::string with_commented_keys(const std::string& file) {
  std::stringstream lines(contents(source_dir() / "config" / file));
  std::string table;
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) table = line.substr(1, line.find(']') - 1);
    const std::string bare = line.starts_with("# ") ? line.substr(2) : line;
    const std::string name = table + '.' + bare.substr(0, bare.find(" = "));
    const bool is_key = find_config_key(name) != nullptr && name != "crawl.seed_file" &&
                        name != "fetch.cookies_file";  // their files need not exist
    out += (is_key ? bare : line) + '\n';
  }
  return out;
}

TEST(SampleConfigs, AreAllAcceptedAsTheyStandAndWithEveryKeyPutIn) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "config")) {
    if (entry.path().extension() != ".toml") continue;
    SCOPED_TRACE(entry.path());
    ++files;
    EXPECT_THAT(texts(load_config(entry.path())), ElementsAre());
    EXPECT_THAT(errors(with_commented_keys(entry.path().filename().string())), ElementsAre());
    // None fetches from the network that it runs in, or hides who crawls.
    const auto config = load_config(entry.path());
    ASSERT_TRUE(config.has_value());
    EXPECT_FALSE(config->fetch.allow_private_addresses);
    EXPECT_TRUE(config->fetch.verify_tls);
    EXPECT_TRUE(config->politeness.respect_robots);
    EXPECT_GE(config->politeness.delay, 1s);
    EXPECT_EQ(accepted(to_toml(*config)).scope, config->scope);
    EXPECT_NE(user_agent_warning(config->crawl.user_agent), "") << "left as in the example";
  }
  EXPECT_EQ(files, 4u);
}

TEST(SampleConfigs, ArchiveKeepsWarcFilesWithAnIndexAndAllThatPagesAreMadeOf) {
  const CrawlConfig config = sample("archive.toml");
  EXPECT_TRUE(config.output.warc);
  EXPECT_TRUE(config.output.cdxj);
  EXPECT_NE(config.output.warc_operator, "");
  EXPECT_TRUE(config.links.requisites);
  EXPECT_TRUE(config.recrawl.enabled());
  EXPECT_GT(config.politeness.retries, CrawlConfig().politeness.retries);
  EXPECT_THAT(config.crawl.user_agent, HasSubstr("+https://"));
}

TEST(SampleConfigs, BroadHasBudgetsAndDelaysForHostsDomainsAndAddresses) {
  const CrawlConfig config = sample("broad.toml");
  EXPECT_EQ(config.scope.type, ScopeType::kAny);
  EXPECT_TRUE(config.scope.max_pages_per_host.has_value());
  EXPECT_TRUE(config.scope.max_urls_per_host.has_value());
  EXPECT_GT(config.politeness.domain_delay, 0s);
  EXPECT_GT(config.politeness.ip_delay, 0s);
  EXPECT_LT(config.scope.park_pattern_after, CrawlConfig().scope.park_pattern_after);
  EXPECT_THAT(config.crawl.user_agent, HasSubstr("+https://"));
}

TEST(SampleConfigs, OneSiteStaysOnIt) {
  const CrawlConfig config = sample("one-site.toml");
  EXPECT_EQ(config.scope.type, ScopeType::kHost);
  EXPECT_FALSE(config.output.warc);
  EXPECT_EQ(config.crawl.seeds.size(), 1u);
}

}  // namespace
}  // namespace trawl::test
