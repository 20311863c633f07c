// Politeness of single hosts: limits by host, and delays and numbers of requests in the frontier.
#include "crawler/decide/host_pace.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/memory_frontier.h"

#include "crawler/decide/limit_by_host.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

CrawlConfig config_with(std::vector<HostPolitenessText> hosts) {
  CrawlConfig config;
  config.politeness.hosts = std::move(hosts);
  return config;
}

TEST(LimitByHost, TheMostSpecificEntryHolds) {
  CrawlConfig config = config_with({{.host = ".example.com", .max_pages = 5},
                                    {.host = "a.example.com"},
                                    {.host = "b.example.com", .max_pages = 7}});
  config.scope.max_pages_per_host = 100;
  const LimitByHost limits = LimitByHost::pages(config);
  EXPECT_EQ(limits.of("example.com"), 5u);
  EXPECT_EQ(limits.of("x.y.example.com:8080"), 5u);
  EXPECT_EQ(limits.of("a.example.com"), 100u) << "the entry has none of its own";
  EXPECT_EQ(limits.of("b.example.com"), 7u);
  EXPECT_EQ(limits.of("notexample.com"), 100u);
  EXPECT_EQ(LimitByHost::urls(config), LimitByHost(std::nullopt));
}

TEST(LimitByHost, IsReadBackAsWritten) {
  CrawlConfig config = config_with(
      {{.host = ".example.com", .max_urls = 5}, {.host = "[::1]"}, {.host = "b.example"}});
  const LimitByHost limits = LimitByHost::urls(config);
  EXPECT_TRUE(limits.any());
  EXPECT_EQ(LimitByHost::parse(limits.to_text()), limits);
  EXPECT_EQ(LimitByHost(20).to_text(), "20");
  EXPECT_EQ(LimitByHost::parse("none"), LimitByHost(std::nullopt));
  for (const char* const bad : {"", "x", "20 a.example", "20 a.example=", "20 =5", "20 a=1 a=2"})
    EXPECT_FALSE(LimitByHost::parse(bad)) << bad;
  EXPECT_NE(limits.number(), LimitByHost(std::nullopt).number());
  EXPECT_EQ(LimitByHost(20).number(), 20u);
}

class HostPaceTest : public testing::Test {
 protected:
  HostPaceTest() {
    const std::vector<UrlRequest> urls = {
        {.url = "http://a.example/"}, {.url = "http://b.example:8080/"}, {.url = "http://c.test/"}};
    EXPECT_TRUE(frontier_->offer(urls));
  }
  void begin(bool resumed, std::vector<HostPolitenessText> hosts) {
    const HostPoliteness entries(config_with(std::move(hosts)).politeness);
    ASSERT_TRUE(HostPace::begin(*frontier_, resumed, directory_.path(), entries));
  }
  HostSettings settings(const std::string& host) const {
    const auto info = frontier_->host(host);
    return info ? info->settings : HostSettings{};
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<Frontier> frontier_ = std::move(*MemoryFrontier::create({}));
};

TEST_F(HostPaceTest, AHostGetsItsSettingsWithItsFirstLease) {
  const std::vector<HostPolitenessText> hosts = {
      {.host = "a.example", .delay = 5s},
      {.host = "b.example", .delay = 10ms, .connections = 4, .own = true}};
  const HostPoliteness entries(config_with(hosts).politeness);
  HostPace pace(*frontier_, entries);
  pace.begin_batch();
  EXPECT_FALSE(*pace.on_lease("c.test"));
  EXPECT_TRUE(*pace.on_lease("a.example"));
  EXPECT_TRUE(*pace.on_lease("a.example")) << "another lease of the batch";
  EXPECT_TRUE(*pace.on_lease("b.example:8080"));
  pace.begin_batch();
  EXPECT_FALSE(*pace.on_lease("a.example"));
  EXPECT_EQ(settings("a.example").delay, 5s);
  EXPECT_EQ(settings("a.example").exact_delay, std::nullopt);
  EXPECT_EQ(settings("b.example:8080").delay, 10ms);
  EXPECT_EQ(settings("b.example:8080").exact_delay, true);
  EXPECT_EQ(settings("b.example:8080").leases, 4u);

  ASSERT_TRUE(pace.set_crawl_delay("a.example", 7s, 0s));
  EXPECT_EQ(settings("a.example").delay, 7s) << "the longer one";
  ASSERT_TRUE(pace.set_crawl_delay("a.example", 1s, 0s));
  EXPECT_EQ(settings("a.example").delay, 5s);
  ASSERT_TRUE(pace.set_crawl_delay("b.example:8080", 7s, 0s));
  EXPECT_EQ(settings("b.example:8080").delay, 10ms) << "an own host";
  ASSERT_TRUE(pace.set_crawl_delay("c.test", 3s, 4s));
  EXPECT_EQ(settings("c.test").delay, 4s);
}

TEST_F(HostPaceTest, WhatAnEntrySetGoesWithIt) {
  const std::vector<HostPolitenessText> hosts = {{.host = "a.example", .delay = 5s},
                                                 {.host = "b.example", .connections = 2}};
  begin(false, hosts);
  {
    const HostPoliteness entries(config_with(hosts).politeness);
    HostPace pace(*frontier_, entries);
    ASSERT_TRUE(pace.on_lease("a.example"));
    ASSERT_TRUE(pace.on_lease("b.example:8080"));
    ASSERT_TRUE(pace.set_crawl_delay("c.test", 3s, 0s));
  }
  begin(true, hosts);
  EXPECT_EQ(settings("a.example").delay, 5s);
  begin(true, {});
  EXPECT_EQ(settings("a.example").delay, std::nullopt);
  EXPECT_EQ(settings("b.example:8080").leases, std::nullopt);
  EXPECT_EQ(settings("c.test").delay, 3s) << "it never had an entry";
}

TEST_F(HostPaceTest, EntriesMayChangeWhileItRuns) {
  HostPoliteness entries(
      config_with({{.host = "a.example", .delay = 5s}, {.host = "b.example", .delay = 5s}})
          .politeness);
  HostPace pace(*frontier_, entries);
  ASSERT_TRUE(pace.on_lease("a.example"));
  ASSERT_TRUE(pace.on_lease("b.example:8080"));
  entries = HostPoliteness(config_with({{.host = "a.example", .delay = 2s}}).politeness);
  ASSERT_TRUE(HostPace::note_entries(directory_.path(), entries));
  pace.reloaded();
  pace.begin_batch();
  EXPECT_TRUE(*pace.on_lease("a.example"));
  EXPECT_TRUE(*pace.on_lease("b.example:8080"));
  EXPECT_FALSE(*pace.on_lease("c.test"));
  EXPECT_EQ(settings("a.example").delay, 2s);
  EXPECT_EQ(settings("b.example:8080").delay, std::nullopt);
  begin(true, {});
  EXPECT_EQ(settings("a.example").delay, std::nullopt) << "the next run knows of the new entry";
}

}  // namespace
}  // namespace trawl
