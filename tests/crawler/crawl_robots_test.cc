// How a crawl fetches robots.txt, and what it does without one.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawl_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::fast_config;
using test::finish;
using test::html;
using test::Json;
using test::opened;
using test::OwnSite;
using test::page_of;
using test::pages_of;
using test::run;
using test::TemporaryDirectory;
using test::text;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(Crawl, N1_AHostWhoseRobotsTxtCannotBeHadIsParkedUntilTheNextRun) {
  std::atomic<bool> busy{true};
  const OwnSite site([&](const std::string& target) {
    if (target == "/robots.txt" && busy) return text("later", 503);
    return html("<a href=/x>x</a>");
  });
  const TemporaryDirectory directory;
  std::vector<std::string> seeds;
  for (int i = 0; i < 30; ++i)
    seeds.push_back(site.url(fmt::format("/{}", i)));
  CrawlConfig config = fast_config(directory, seeds);
  config.politeness.robots_retries = 2;
  {
    const auto crawl = opened(config, OpenMode::kCreate);
    crawl->start();
    finish(*crawl);
    EXPECT_THAT(site.asked(), ElementsAre(site.url("/robots.txt"), site.url("/robots.txt"),
                                          site.url("/robots.txt")));
    EXPECT_TRUE(pages_of(config).empty()) << "nothing ends that was not requested";
    const CrawlProgress progress = crawl->progress();
    EXPECT_EQ(progress.frontier.completed, 0u);
    EXPECT_EQ(progress.frontier.queued, seeds.size());
    EXPECT_TRUE(crawl->has_parked_hosts());
    EXPECT_TRUE(crawl->incomplete());
  }
  busy = false;
  const auto crawl = opened(config, OpenMode::kResume);
  crawl->start();
  finish(*crawl);
  EXPECT_EQ(pages_of(config).size(), seeds.size() + 1);
  EXPECT_FALSE(crawl->has_parked_hosts());
  EXPECT_FALSE(crawl->incomplete());
}

TEST(Crawl, N1_RobotsTxtIsAskedForAgainAndNoUrlIsLostMeanwhile) {
  std::atomic<int> asked{0};
  const OwnSite site([&](const std::string& target) {
    if (target == "/robots.txt") {
      return asked.fetch_add(1) < 2 ? text("later", 503) : text("User-agent: *\nDisallow: /no\n");
    }
    return html("<a href=/a>a</a> <a href=/no>n</a> <a href=/b>b</a>");
  });
  const TemporaryDirectory directory;
  const CrawlConfig config =
      fast_config(directory, {site.url("/"), site.url("/c"), site.url("/d"), site.url("/no/e")});
  EXPECT_TRUE(run(config));
  const auto requests = site.asked();
  ASSERT_GE(requests.size(), 3u);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(requests[i], site.url("/robots.txt")) << "nothing before the rules are known";
  EXPECT_THAT(std::vector(requests.begin() + 3, requests.end()),
              UnorderedElementsAre(site.url("/"), site.url("/a"), site.url("/b"), site.url("/c"),
                                   site.url("/d")));
  for (const Json& page : pages_of(config)) {
    EXPECT_EQ(page["status"], 200) << page;
    EXPECT_TRUE(page["error"].is_null()) << page;
  }
}

// Pages that each link to the next, so that they are fetched one by one; `robots` answers for the
// n-th request for robots.txt, from 0.
std::function<HttpReply(const std::string&)> chain(int pages,
                                                   std::function<HttpReply(int)> robots) {
  auto asked = std::make_shared<std::atomic<int>>(0);
  return [=](const std::string& target) {
    if (target == "/robots.txt") return robots(asked->fetch_add(1));
    const int page = std::stoi(target.substr(1));
    std::string next;
    if (page + 1 < pages)
      next = fmt::format("<a href=/{}>x</a> <a href=/no/{}>x</a>", page + 1, page);
    return html(next);
  };
}

std::size_t robots_requests(const OwnSite& site) {
  return static_cast<std::size_t>(std::ranges::count(site.asked(), site.url("/robots.txt")));
}

TEST(Crawl, OldRulesHoldWhereTheyCannotBeFetchedAnew) {
  constexpr int kPages = 20;
  const OwnSite site(chain(kPages, [](int n) {
    return n == 0 ? text("User-agent: *\nDisallow: /no\n") : text("later", 503);
  }));
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {site.url("/0")});
  config.politeness.robots_max_age = milliseconds(1);
  config.politeness.delay = milliseconds(5);
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), static_cast<std::size_t>(kPages));
  for (const Json& page : pages_of(config))
    EXPECT_TRUE(page["error"].is_null()) << page;
  EXPECT_GE(robots_requests(site), 2u);
  EXPECT_EQ(site.asked().size(), kPages + robots_requests(site)) << "nothing below /no";
}

TEST(Crawl, RulesThatExpireBeforeTheNextTurnAreFetchedAnewAndUsed) {
  constexpr int kPages = 10;
  const OwnSite site(chain(kPages, [](int n) {
    // Those of the second time forbid what is left.
    return text(n < 5 ? "User-agent: *\nDisallow: /no\n" : "User-agent: *\nDisallow: /\n");
  }));
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {site.url("/0")});
  config.politeness.robots_max_age = milliseconds(1);
  config.politeness.delay = milliseconds(5);
  EXPECT_TRUE(run(config));
  EXPECT_GE(robots_requests(site), 6u);
  EXPECT_LT(pages_of(config).size(), static_cast<std::size_t>(kPages));
  EXPECT_GE(pages_of(config).size(), 1u);
}

TEST(Crawl, RedirectsOfRobotsTxtThatCannotBeFollowedMeanNoRules) {
  for (const char* location : {"", "ftp://127.0.0.1/robots.txt", "http://[oh"}) {
    SCOPED_TRACE(location);
    const OwnSite site([&](const std::string& target) {
      if (target != "/robots.txt") return html("");
      return HttpReply{.status = 302, .location = location};
    });
    const TemporaryDirectory directory;
    const CrawlConfig config = fast_config(directory, {site.url("/")});
    EXPECT_TRUE(run(config));
    EXPECT_THAT(site.asked(), ElementsAre(site.url("/robots.txt"), site.url("/")));
    EXPECT_EQ(page_of(pages_of(config), site.url("/"))["status"], 200);
  }
}

// A robots.txt behind so many redirects, each to another origin.
std::vector<std::unique_ptr<OwnSite>> robots_behind(int redirects) {
  std::vector<std::unique_ptr<OwnSite>> sites;
  std::string next;
  for (int i = 0; i <= redirects; ++i) {
    sites.insert(sites.begin(), std::make_unique<OwnSite>([next](const std::string& target) {
                   if (target != "/robots.txt") return html("<a href=/no>n</a>");
                   if (next.empty()) return text("User-agent: *\nDisallow: /no\n");
                   return HttpReply{.status = 302, .location = next};
                 }));
    next = sites.front()->url("/robots.txt");
  }
  return sites;
}

TEST(Crawl, RobotsTxtIsFollowedToOtherHostsUpToFiveTimes) {
  for (const int redirects : {5, 6}) {
    SCOPED_TRACE(redirects);
    const auto sites = robots_behind(redirects);
    const OwnSite& first = *sites.front();
    const TemporaryDirectory directory;
    EXPECT_TRUE(run(fast_config(directory, {first.url("/")})));
    std::vector<std::string> expected = {first.url("/robots.txt"), first.url("/")};
    if (redirects > 5) expected.push_back(first.url("/no"));  // as if there were none
    EXPECT_THAT(first.asked(), ElementsAreArray(expected));
    for (std::size_t i = 1; i < sites.size(); ++i) {
      const std::size_t times = i <= 5 ? 1 : 0;
      EXPECT_EQ(sites[i]->asked().size(), times) << i;
      EXPECT_EQ(robots_requests(*sites[i]), times) << i;
    }
  }
}

// They end before anything is asked of them: their host does not exist.
TEST(Crawl, UrlsOfNoHostAreFetchedAgainIfThoseThatFailAre) {
  const TemporaryDirectory directory;
  const std::string seed = "http://" + std::string(64, 'a') + ".test/";
  CrawlConfig config = fast_config(directory, {seed});
  config.recrawl.failed = std::chrono::hours(1);
  const auto crawl = opened(config, OpenMode::kCreate);
  crawl->start();
  finish(*crawl);
  const FrontierStats stats = crawl->progress().frontier;
  EXPECT_EQ(stats.recrawls_deferred, 1u);
  EXPECT_EQ(stats.set_aside_failed, 0u);
}

// A host with two origins, of which one's robots.txt cannot be had: the port answers http alone.
std::string with_tls(std::string url) {
  return url.replace(0, 4, "https");
}

TEST(Crawl, N1_AnOriginWithoutRobotsTxtDoesNotParkTheOthersOfItsHost) {
  for (const bool broken_first : {true, false}) {
    SCOPED_TRACE(broken_first);
    const OwnSite site([](const std::string& target) {
      if (target == "/robots.txt") return text("", 404);
      return html(target == "/0" ? "<a href=/late>l</a>" : "");
    });
    std::vector<std::string> good;
    std::vector<std::string> broken;
    for (int i = 0; i < 20; ++i) {
      good.push_back(site.url(fmt::format("/{}", i)));
      broken.push_back(with_tls(site.url(fmt::format("/{}", i))));
    }
    std::vector<std::string> seeds = broken_first ? broken : good;
    const auto& rest = broken_first ? good : broken;
    seeds.insert(seeds.end(), rest.begin(), rest.end());
    const TemporaryDirectory directory;
    CrawlConfig config = fast_config(directory, seeds);
    config.politeness.robots_retries = 1;
    config.politeness.per_host_connections = 1;
    for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kResume}) {
      const auto crawl = opened(config, mode);
      crawl->start();
      finish(*crawl);
      EXPECT_EQ(pages_of(config).size(), good.size() + 1) << "with /late, and nothing else";
      const FrontierStats stats = crawl->progress().frontier;
      EXPECT_EQ(stats.held + stats.queued, broken.size());
      EXPECT_EQ(stats.set_aside_failed, 0u);
      ASSERT_TRUE(crawl->incomplete());
      EXPECT_TRUE(crawl->has_parked_hosts());
      if (mode == OpenMode::kResume) continue;  // nothing else of the host waits then
      EXPECT_EQ(stats.queued, 0u);
      EXPECT_EQ(stats.hosts_parked, 0u);
      EXPECT_THAT(*crawl->incomplete(),
                  HasSubstr("the URLs of " + with_tls(site.url("")) + " are held"));
    }
  }
}

TEST(Crawl, HeldUrlsAreOfferedAgainWhileTheCrawlGoesOn) {
  std::atomic<bool> again{false};
  const OwnSite site([&](const std::string& target) {
    if (target == "/robots.txt") return text("", 404);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (target == "/last" && !again && std::chrono::steady_clock::now() < give_up)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return html("");
  });
  const std::string plain = with_tls(site.url("/1"));
  std::string named = with_tls(site.url("/2"));
  named.insert(named.find("127"), "user:secret@");
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {site.url("/0"), plain, named, site.url("/last")});
  config.politeness.robots_retries = 0;
  config.politeness.park_time = std::chrono::milliseconds(300);
  const auto crawl = opened(config, OpenMode::kCreate);
  crawl->start();
  wait_until([&] {
    if (crawl->progress().frontier.requeued >= 2) again = true;
    return crawl->ended();
  });
  EXPECT_TRUE(again);
  ASSERT_TRUE(crawl->close());
  EXPECT_EQ(pages_of(config).size(), 2u);
  EXPECT_EQ(crawl->progress().frontier.held + crawl->progress().frontier.queued, 2u);
}

TEST(Crawl, N1_AnOriginThatCannotBeHeldParksItsHostWhenThereIsNoRoom) {
  const OwnSite site(
      [](const std::string& target) { return target == "/robots.txt" ? text("", 404) : html(""); });
  const TemporaryDirectory directory;
  CrawlConfig config =
      fast_config(directory, {site.url("/"), with_tls(site.url("/1")), with_tls(site.url("/2"))});
  config.politeness.robots_retries = 0;
  config.frontier.max_set_aside = 0;
  const auto crawl = opened(config, OpenMode::kCreate);
  crawl->start();
  finish(*crawl);
  const FrontierStats stats = crawl->progress().frontier;
  EXPECT_EQ(stats.not_set_aside, 0u);
  EXPECT_EQ(stats.queued + pages_of(config).size(), 3u);
  EXPECT_GE(stats.queued, 2u);
  EXPECT_EQ(stats.hosts_parked, 1u);
  EXPECT_TRUE(crawl->incomplete());
}

TEST(Crawl, AHostWithTwoOriginsWithoutRobotsTxtIsParkedWithBoth) {
  const OwnSite site([](const std::string&) { return text("later", 503); });
  const TemporaryDirectory directory;
  CrawlConfig config =
      fast_config(directory, {with_tls(site.url("/1")), with_tls(site.url("/2")), site.url("/")});
  config.politeness.robots_retries = 0;
  config.politeness.per_host_connections = 1;
  for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kResume}) {
    const auto crawl = opened(config, mode);
    crawl->start();
    finish(*crawl);
    const FrontierStats stats = crawl->progress().frontier;
    EXPECT_EQ(stats.held + stats.queued, 3u);
    EXPECT_GE(stats.queued, 1u);
    EXPECT_EQ(stats.hosts_parked, 1u);
    EXPECT_TRUE(crawl->incomplete());
  }
}

}  // namespace
}  // namespace trawl
