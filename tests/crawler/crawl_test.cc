#include "crawler/run/crawl.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawl_fixture.h"
#include "tiny_crawler.h"

namespace trawl {
namespace {

using test::fast_config;
using test::finish;
using test::html;
using test::is_robots;
using test::Json;
using test::key_of;
using test::keys_of;
using test::LoggedSite;
using test::opened;
using test::OwnSite;
using test::page_of;
using test::pages_of;
using test::run;
using test::TemporaryDirectory;
using test::text;
using test::wait_until;
using ::testing::UnorderedElementsAre;

// --- a whole crawl -------------------------------------------------------------------------------

struct Threads {
  std::uint32_t threads;
  std::uint32_t page_bytes;
};

class CrawlOfThreads : public ::testing::TestWithParam<Threads> {};

TEST_P(CrawlOfThreads, FetchesEveryReachableUrlOnceAndNothingElse) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 400, 4, GetParam().page_bytes);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.fetch.threads = GetParam().threads;
  EXPECT_TRUE(run(config));

  const auto pages = pages_of(config);
  const auto reachable = site->reachable_urls();
  EXPECT_EQ(keys_of(pages), reachable);
  EXPECT_EQ(site.asked(), reachable) << "each requested once; nothing disallowed, outside, trapped";

  // What another crawler, of one thread and with other code, gets for each.
  const std::map<std::string, long> truth = test::tiny_crawl(site->seeds());
  std::set<std::string> sources;
  for (const Json& page : pages) {
    const std::string key = key_of(page["url"]);
    const auto expected = truth.find(key);
    ASSERT_NE(expected, truth.end()) << key;
    EXPECT_EQ(page["status"], expected->second) << key;
    EXPECT_TRUE(page["error"].is_null()) << page;
    sources.insert(key);
  }
  for (const Json& page : pages) {
    EXPECT_EQ(page["parent"].is_null(), page["depth"] == 0) << page;
    if (page["parent"].is_string()) {
      EXPECT_TRUE(sources.contains(key_of(page["parent"]))) << page;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, CrawlOfThreads,
                         ::testing::Values(Threads{1, 0}, Threads{2, 0}, Threads{5, 0},
                                           Threads{5, LoggedSite::kShared}));

TEST(Crawl, RobotsTxtIsAskedForOnceAnOrigin) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 100, 3);
  EXPECT_TRUE(run(fast_config(directory, site->seeds())));
  std::map<std::string, int> robots;
  for (const std::string& key : site.requests()) {
    if (is_robots(key)) ++robots[key];
  }
  EXPECT_EQ(robots.size(), 3u);
  for (const auto& [url, times] : robots)
    EXPECT_EQ(times, 1) << url;  // a host belongs to one shard
}

TEST(Crawl, CountsAreThoseOfTheOutput) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 200, 3);
  const CrawlConfig config = fast_config(directory, site->seeds());
  const auto crawl = opened(config, OpenMode::kCreate);
  EXPECT_EQ(crawl->progress().fetched, 0u);
  crawl->start();
  finish(*crawl);
  const CrawlProgress progress = crawl->progress();
  const auto pages = pages_of(config);
  EXPECT_EQ(progress.fetched, pages.size());
  EXPECT_EQ(progress.fetched_now, pages.size());
  EXPECT_EQ(progress.in_flight, 0u);
  EXPECT_EQ(progress.frontier.admitted, pages.size() + progress.frontier.skipped);
  EXPECT_EQ(progress.frontier.skipped, crawl->skipped()[SkipReason::kRobots]);
  EXPECT_GT(crawl->skipped()[SkipReason::kRobots], 0u);
  EXPECT_GT(crawl->skipped()[SkipReason::kOutOfScope], 0u);
  EXPECT_GT(crawl->skipped()[SkipReason::kOtherScheme], 0u);
  EXPECT_GT(crawl->skipped()[SkipReason::kInvalidUrl], 0u);
  std::uint64_t new_links = 0;
  for (const Json& page : pages)
    new_links += page["new_links"].get<std::uint64_t>();
  EXPECT_EQ(new_links + site->seeds().size(), progress.frontier.admitted);
  EXPECT_FALSE(crawl->incomplete());
  EXPECT_FALSE(crawl->reached_limit() == CrawlLimit::kPages);
}

// Links that a page has several times are read once, unless each is written.
TEST(Crawl, LinksOfAPageCountEachTime) {
  const OwnSite site([](const std::string& target) {
    if (target != "/") return html("<a href=/>home</a> <a href='/#top'>top</a> <a href=#a>a</a>");
    return html(
        "<a href=/a>a</a> <a href='/a#x'>x</a> <a href=/a>a</a> <a href=/a rel=nofollow>a</a>"
        "<a href=http://other.test/>o</a> <a href='http://other.test/#o'>o</a>"
        "<a href=mailto:a>m</a> <a href=mailto:a>m</a>");
  });
  using Counts = std::array<std::uint64_t, 4>;
  const auto counts_with = [&](bool writes_links) -> std::pair<Counts, std::map<std::string, int>> {
    const TemporaryDirectory directory;
    CrawlConfig config = fast_config(directory, {site.url("/")});
    config.output.links = writes_links;
    const auto crawl = opened(config, OpenMode::kCreate);
    crawl->start();
    finish(*crawl);
    std::map<std::string, int> links;
    for (const Json& page : pages_of(config))
      links[page["url"].get<std::string>()] = page["links"].get<int>();
    return {{crawl->skipped()[SkipReason::kOutOfScope], crawl->skipped()[SkipReason::kOtherScheme],
             crawl->progress().frontier.seen, crawl->progress().frontier.admitted},
            links};
  };
  const auto [counts, links] = counts_with(false);
  EXPECT_EQ(links, (std::map<std::string, int>{{site.url("/"), 6}, {site.url("/a"), 3}}));
  EXPECT_EQ(counts[0], 2u);
  EXPECT_EQ(counts[1], 2u);
  EXPECT_EQ(counts[3], 2u);
  EXPECT_EQ(counts_with(true), std::pair(counts, links));
}

TEST(Crawl, WithoutRobotsNothingIsDisallowedAndNoRobotsTxtAskedFor) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 100, 1);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.politeness.respect_robots = false;
  EXPECT_TRUE(run(config));
  int disallowed = 0;
  for (const std::string& key : site.asked())
    disallowed += key.find("/private/") != key.npos && key.find("/private/open/") == key.npos;
  EXPECT_GT(disallowed, 0);
  EXPECT_EQ(site.asked().size(), site.requests().size());
  EXPECT_EQ(keys_of(pages_of(config)), site.asked());
}

TEST(Crawl, RobotsRulesAreThoseOfItsOwnProductToken) {
  const OwnSite site([](const std::string& target) {
    if (target != "/robots.txt") return html("<a href=/secret>s</a> <a href=/open>o</a>");
    return text("User-agent: *\nDisallow: /open\n\nUser-agent: MyBot\nDisallow: /secret\n");
  });
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {site.url("/")});
  config.crawl.user_agent = "mybot/2.0 (+http://bot.example/)";
  EXPECT_TRUE(run(config));
  EXPECT_THAT(site.asked(),
              UnorderedElementsAre(site.url("/robots.txt"), site.url("/"), site.url("/open")));
}

// --- redirects and failures ----------------------------------------------------------------------

TEST(Crawl, RedirectsAreFollowedUpToTheLimit) {
  const OwnSite site([](const std::string& target) -> HttpReply {
    if (target == "/robots.txt") return text("", 404);
    if (target == "/") return html("<a href=/r/0>r</a>");
    const int step = std::stoi(target.substr(3));
    return {.status = 302, .location = fmt::format("/r/{}", step + 1)};
  });
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {site.url("/")});
  config.fetch.max_redirects = 3;
  EXPECT_TRUE(run(config));
  const auto pages = pages_of(config);
  EXPECT_THAT(keys_of(pages),
              UnorderedElementsAre(site.url("/"), site.url("/r/0"), site.url("/r/1"),
                                   site.url("/r/2"), site.url("/r/3")));
  for (int step = 0; step <= 3; ++step) {
    const Json& page = page_of(pages, site.url(fmt::format("/r/{}", step)));
    EXPECT_EQ(page["redirect"], site.url(fmt::format("/r/{}", step + 1)));
    EXPECT_EQ(page["depth"], 1) << "a redirect is as deep as what it leads to";
    EXPECT_EQ(page["error"].is_null(), step < 3) << page;
  }
}

TEST(Crawl, SaysWhenNothingAnswered) {
  std::string dead;
  {
    const OwnSite site([](const std::string&) { return text(""); });
    dead = site.url("/");
  }
  const TemporaryDirectory directory;
  const CrawlConfig config = fast_config(directory, {dead});
  const auto crawl = opened(config, OpenMode::kCreate);
  crawl->start();
  finish(*crawl);
  EXPECT_TRUE(crawl->incomplete());
  const auto pages = pages_of(config);
  EXPECT_TRUE(pages.empty()) << "the host is parked with its queue";
  EXPECT_TRUE(crawl->has_parked_hosts());
}

// Without ended(): nobody need look again and again for the end of a short crawl.
TEST_P(CrawlOfThreads, AnnouncesItsEnd) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 300, 3, GetParam().page_bytes);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.fetch.threads = GetParam().threads;
  OpenMode mode = OpenMode::kCreate;
  for (const std::uint64_t limit : {5u, 1000u}) {
    SCOPED_TRACE(limit);
    config.scope.max_pages = limit;
    const auto crawl = opened(config, mode);
    std::atomic<bool> announced{false};
    crawl->on_end([&announced] { announced.store(true); });
    crawl->start();
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    wait_until([&] { return announced.load() || std::chrono::steady_clock::now() > give_up; });
    EXPECT_TRUE(announced.load());
    if (limit > 5) {
      EXPECT_EQ(crawl->progress().fetched, site->reachable_urls().size()) << "not too early";
    }
    finish(*crawl);
    EXPECT_EQ(pages_of(config).size(), std::min(limit, site->reachable_urls().size()));
    mode = OpenMode::kResume;
  }
}

// --- limits --------------------------------------------------------------------------------------

TEST(Crawl, MaxPagesIsExactAndMayBeRaised) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 300, 3);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.fetch.threads = 3;
  OpenMode mode = OpenMode::kCreate;
  for (const std::uint64_t limit : {1u, 2u, 37u, 38u, 150u}) {
    SCOPED_TRACE(limit);
    config.scope.max_pages = limit;
    const auto crawl = opened(config, mode);
    crawl->start();
    finish(*crawl);
    EXPECT_TRUE(crawl->reached_limit() == CrawlLimit::kPages);
    EXPECT_NE(crawl->why_ended(), EndReason::kFinished);
    EXPECT_EQ(pages_of(config).size(), limit);
    EXPECT_EQ(site.asked().size(), limit) << "never more requests than pages";
    mode = OpenMode::kResume;
  }
  EXPECT_FALSE(run(config, mode)) << "with the same limit there is nothing to do";
  EXPECT_EQ(site.asked().size(), 150u);

  config.scope.max_pages.reset();
  EXPECT_TRUE(run(config, mode));
  EXPECT_EQ(keys_of(pages_of(config)), site->reachable_urls());
  EXPECT_EQ(site.asked(), site->reachable_urls());
}

TEST(Crawl, WhatRobotsTxtForbidsDoesNotCountAsAPage) {
  const OwnSite site([](const std::string& target) {
    if (target == "/robots.txt") return text("User-agent: *\nDisallow: /no\n");
    std::string links;
    for (const char* kind : {"no", "yes"}) {
      for (int i = 0; target == "/" && i < 6; ++i)
        links += fmt::format("<a href=/{}/{}>x</a>", kind, i);
    }
    return html(links);
  });
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {site.url("/")});
  config.scope.max_pages = 4;
  EXPECT_FALSE(run(config)) << "more could be fetched";
  EXPECT_EQ(pages_of(config).size(), 4u);
  EXPECT_EQ(site.asked().size(), 5u) << "with robots.txt";
}

// All that a page at most `max_depth` links from a seed leads to, if that is 0 or 1: beyond that
// it depends on which way a page is found first.
std::vector<std::string> within_depth(const LoggedSite& site, std::uint32_t max_depth) {
  const auto reachable = site->reachable_urls();
  std::set<std::string> found;
  test::TinyClient client;
  std::vector<std::string> todo = site->seeds();
  for (const std::string& seed : site->seeds()) {
    if (max_depth == 0) break;
    for (const std::string& link : test::tiny_links(client.get(seed).body, seed))
      todo.push_back(link);
  }
  while (!todo.empty()) {
    const std::string url = todo.back();
    todo.pop_back();
    if (!std::ranges::binary_search(reachable, url) || !found.insert(url).second) continue;
    const std::string location = client.get(url).location;
    if (!location.empty()) todo.push_back(key_of(location));
  }
  return {found.begin(), found.end()};
}

TEST(Crawl, MaxDepthCountsLinksFromASeed) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 300, 3);
  for (const std::uint32_t depth : {0u, 1u}) {
    SCOPED_TRACE(depth);
    const TemporaryDirectory state;
    CrawlConfig config = fast_config(state, site->seeds());
    config.scope.max_depth = depth;
    EXPECT_TRUE(run(config));
    EXPECT_EQ(keys_of(pages_of(config)), within_depth(site, depth));
  }
  const TemporaryDirectory state;
  CrawlConfig config = fast_config(state, site->seeds());
  config.scope.max_depth = 2;
  EXPECT_TRUE(run(config));
  std::uint64_t deepest = 0;
  for (const Json& page : pages_of(config))
    deepest = std::max(deepest, page["depth"].get<std::uint64_t>());
  EXPECT_EQ(deepest, 2u);
}

TEST(Crawl, BodiesOverTheLimitAreFailuresThatEndNothing) {
  const OwnSite site([](const std::string& target) {
    if (target == "/") return html("<a href=/big>b</a> <a href=/small>s</a>");
    if (target == "/big") return html(std::string(5001, 'x') + "<a href=/never>n</a>");
    return text("", 404);
  });
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {site.url("/")});
  config.fetch.max_body = 5000;
  EXPECT_TRUE(run(config));
  const auto pages = pages_of(config);
  EXPECT_EQ(pages.size(), 3u);
  EXPECT_EQ(page_of(pages, site.url("/big"))["error"], "the body is larger than 5000 bytes");
  EXPECT_EQ(page_of(pages, site.url("/small"))["status"], 404);
}

}  // namespace
}  // namespace trawl
