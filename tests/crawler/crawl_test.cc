#include "crawler/crawl.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "trawl/canonicalizer.h"

#include "crawler/sample_site/sample_site.h"
#include "crawler/sample_site/sample_site_server.h"
#include "raw_server.h"
#include "tests/support/temporary_directory.h"
#include "tiny_crawler.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::Connection;
using test::RawServer;
using test::TemporaryDirectory;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

using Json = nlohmann::json;

// --- a crawl and what it wrote ------------------------------------------------------------------

CrawlConfig fast_config(const TemporaryDirectory& directory, std::vector<std::string> seeds) {
  CrawlConfig config;
  config.crawl.seeds = std::move(seeds);
  config.crawl.state_dir = directory.path() / "state";
  config.politeness.delay = milliseconds(0);
  config.politeness.per_host_connections = 4;
  config.fetch.threads = 2;
  config.fetch.connections = 12;
  config.filter.expected_urls = 100'000;
  config.checkpoint.interval = milliseconds(100);
  return config;
}

std::unique_ptr<Crawl> opened(const CrawlConfig& config, OpenMode mode) {
  auto crawl = Crawl::open(config, mode);
  if (!crawl) {
    ADD_FAILURE() << crawl.error().message;
    std::abort();
  }
  return std::move(*crawl);
}

void wait_until(const std::function<bool()>& condition) {
  while (!condition())
    std::this_thread::sleep_for(milliseconds(1));
}

// Waits for the end and closes.
void finish(Crawl& crawl) {
  wait_until([&] { return crawl.ended(); });
  const auto closed = crawl.close();
  EXPECT_TRUE(closed) << closed.error().message;
}

// Crawls to the end; whether all is done.
bool run(const CrawlConfig& config, OpenMode mode = OpenMode::kCreate) {
  const auto crawl = opened(config, mode);
  crawl->start();
  finish(*crawl);
  return crawl->finished();
}

std::vector<Json> pages_of(const CrawlConfig& config) {
  std::vector<Json> pages;
  std::ifstream file(output_directory(config) / "pages.jsonl");
  for (std::string line; std::getline(file, line);) {
    pages.push_back(Json::parse(line, nullptr, false));
    EXPECT_TRUE(pages.back().is_object()) << line;
  }
  return pages;
}

std::string key_of(const std::string& url) {
  const auto parsed = Url::parse(url);
  EXPECT_TRUE(parsed) << url;
  return parsed ? Canonicalizer{}.key(*parsed) : url;
}

std::vector<std::string> keys_of(const std::vector<Json>& pages) {
  std::vector<std::string> keys;
  for (const Json& page : pages)
    keys.push_back(key_of(page["url"]));
  std::sort(keys.begin(), keys.end());
  return keys;
}

const Json& page_of(const std::vector<Json>& pages, const std::string& url) {
  static const Json none;
  const auto found =
      std::ranges::find_if(pages, [&](const Json& page) { return page["url"] == url; });
  EXPECT_TRUE(found != pages.end()) << "no line for " << url;
  return found == pages.end() ? none : *found;
}

// --- what the servers saw -----------------------------------------------------------------------

bool is_robots(const std::string& key) {
  return key.ends_with("/robots.txt");
}

class LoggedSite {
 public:
  LoggedSite(const TemporaryDirectory& directory, std::uint64_t pages, std::uint32_t hosts)
      : log_(directory / "access.log") {
    auto site = SampleSite::start(
        {.pages = pages, .seed = 1, .hosts = hosts, .slow_ms = 5, .access_log = log_});
    if (!site) {
      ADD_FAILURE() << site.error().message;
      std::abort();
    }
    site_ = std::move(*site);
  }
  SampleSite* operator->() const { return site_.get(); }

  // The key of each request, in order.
  std::vector<std::string> requests() const {
    std::vector<std::string> requests;
    std::ifstream file(log_);
    for (std::string line; std::getline(file, line);) {
      requests.push_back(key_of(line.substr(line.find(' ') + 1)));
    }
    return requests;
  }
  // The keys asked for, in sorted order, robots.txt left out.
  std::vector<std::string> asked() const {
    std::vector<std::string> keys;
    for (const std::string& key : requests()) {
      if (!is_robots(key)) keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }

 private:
  std::string log_;
  std::unique_ptr<SampleSite> site_;
};

// A site of a few pages of the test's own, on 127.0.0.1.
class OwnSite {
 public:
  explicit OwnSite(std::function<HttpReply(const std::string& target)> answer) {
    auto server = LoopbackServer::bind("127.0.0.1", 0, [this, answer](const std::string& target) {
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(url(target));
      }
      return answer(target);
    });
    if (!server) {
      ADD_FAILURE() << server.error().message;
      std::abort();
    }
    server_ = std::move(*server);
    server_->serve();
  }
  ~OwnSite() { server_->stop(); }

  std::string url(const std::string& target) const {
    return fmt::format("http://127.0.0.1:{}{}", server_->port(), target);
  }
  std::vector<std::string> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  std::unique_ptr<LoopbackServer> server_;
};

HttpReply html(std::string body) {
  return {.content_type = "text/html", .body = std::move(body)};
}
HttpReply text(std::string body, int status = 200) {
  return {.status = status, .content_type = "text/plain", .body = std::move(body)};
}

// --- a whole crawl ------------------------------------------------------------------------------

class CrawlOfThreads : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(CrawlOfThreads, FetchesEveryReachableUrlOnceAndNothingElse) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 400, 4);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.fetch.threads = GetParam();
  EXPECT_TRUE(run(config));

  const auto pages = pages_of(config);
  const auto reachable = site->reachable_urls();
  EXPECT_EQ(keys_of(pages), reachable);
  EXPECT_EQ(site.asked(), reachable) << "each asked for once; nothing disallowed, outside, trapped";

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

INSTANTIATE_TEST_SUITE_P(Threads, CrawlOfThreads, ::testing::Values(1, 2, 5));

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
  EXPECT_FALSE(crawl->nothing_fetched());
  EXPECT_FALSE(crawl->reached_max_pages());
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

TEST(Crawl, NothingIsFetchedWhileRobotsTxtCannotBeRead) {
  const OwnSite site([](const std::string& target) {
    return target == "/robots.txt" ? text("later", 503) : html("<a href=/x>x</a>");
  });
  const TemporaryDirectory directory;
  const CrawlConfig config = fast_config(directory, {site.url("/")});
  EXPECT_TRUE(run(config));
  EXPECT_THAT(site.asked(), Each(site.url("/robots.txt")));
  const auto pages = pages_of(config);
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages[0]["status"], 0);
  EXPECT_THAT(pages[0]["error"].get<std::string>(), HasSubstr("robots.txt: status 503"));
}

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
  EXPECT_TRUE(crawl->finished());
  EXPECT_TRUE(crawl->nothing_fetched());
  const auto pages = pages_of(config);
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages[0]["status"], 0);
  EXPECT_TRUE(pages[0]["error"].is_string());
}

// --- limits -------------------------------------------------------------------------------------

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
    EXPECT_TRUE(crawl->reached_max_pages());
    EXPECT_FALSE(crawl->finished());
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

// --- interruptions ------------------------------------------------------------------------------

TEST(Crawl, N1_ADrainedCrawlGoesOnAndAsksForNothingTwice) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 400, 3);
  const CrawlConfig config = fast_config(directory, site->seeds());
  OpenMode mode = OpenMode::kCreate;
  for (const std::uint64_t pages : {1u, 20u, 21u, 150u}) {
    SCOPED_TRACE(pages);
    const auto crawl = opened(config, mode);
    crawl->start();
    wait_until([&] { return crawl->progress().fetched >= pages; });
    crawl->drain();
    finish(*crawl);
    EXPECT_FALSE(crawl->finished()) << "the site is too small for this test";
    EXPECT_EQ(keys_of(pages_of(config)), site.asked()) << "what was asked for was finished";
    mode = OpenMode::kResume;
  }
  EXPECT_TRUE(run(config, mode));
  EXPECT_EQ(keys_of(pages_of(config)), site->reachable_urls());
  EXPECT_EQ(site.asked(), site->reachable_urls());
}

TEST(Crawl, N1_AnAbortedCrawlGoesOnAndLosesNothing) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 400, 3);
  const CrawlConfig config = fast_config(directory, site->seeds());
  OpenMode mode = OpenMode::kCreate;
  std::size_t aborts = 0;
  for (const std::uint64_t pages : {1u, 20u, 21u, 150u}) {
    SCOPED_TRACE(pages);
    const auto crawl = opened(config, mode);
    crawl->start();
    wait_until([&] { return crawl->progress().fetched >= pages; });
    crawl->abort();
    ++aborts;
    EXPECT_TRUE(crawl->ended());
    finish(*crawl);
    mode = OpenMode::kResume;
  }
  EXPECT_TRUE(run(config, mode));
  EXPECT_EQ(keys_of(pages_of(config)), site->reachable_urls()) << "a line each";
  const auto asked = site.asked();
  EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()).size(),
            site->reachable_urls().size());
  EXPECT_LE(asked.size(), site->reachable_urls().size() + aborts * config.fetch.connections)
      << "only what was in flight is asked for again";
}

TEST(Crawl, N1_ACrawlThatWasDroppedUnclosedLosesNothing) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 300, 3);
  const CrawlConfig config = fast_config(directory, site->seeds());
  opened(config, OpenMode::kCreate);  // never started
  for (const std::uint64_t pages : {10u, 100u}) {
    const auto crawl = opened(config, OpenMode::kResume);
    crawl->start();
    wait_until([&] { return crawl->progress().fetched >= pages; });
  }
  EXPECT_TRUE(run(config, OpenMode::kResume));
  EXPECT_EQ(keys_of(pages_of(config)), site->reachable_urls());
}

TEST(Crawl, RefusesWhatItCannotOpen) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 5, 1);
  const CrawlConfig config = fast_config(directory, site->seeds());
  const auto code = [&](OpenMode mode) {
    const auto crawl = Crawl::open(config, mode);
    return crawl ? std::optional<ErrorCode>() : crawl.error().code;
  };
  EXPECT_EQ(code(OpenMode::kResume), ErrorCode::kNotFound);
  {
    const auto first = opened(config, OpenMode::kCreate);
    EXPECT_EQ(code(OpenMode::kResume), ErrorCode::kInUse);
  }
  EXPECT_EQ(code(OpenMode::kCreate), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(run(config, OpenMode::kResume));
}

TEST(Crawl, PublishesACheckpointWhenAskedTo) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 50, 1);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.politeness.delay = std::chrono::hours(1);  // stays in the middle
  config.checkpoint.interval = std::chrono::hours(1);
  const auto crawl = opened(config, OpenMode::kCreate);
  crawl->start();
  const auto before = crawl->progress().frontier.checkpoints;
  crawl->request_checkpoint();
  wait_until([&] { return crawl->progress().frontier.checkpoints > before; });
  crawl->drain();
  finish(*crawl);
}

// --- P1 -----------------------------------------------------------------------------------------

// The requests to a host start at least `delay` apart, as the kernel saw them come.
void expect_delay(const RawServer& host, milliseconds delay, std::size_t requests) {
  constexpr std::chrono::microseconds kClocks{100};  // by which the two clocks may drift apart
  auto arrivals = host.arrivals();
  ASSERT_GE(arrivals.size(), requests) << host.url("/");
  std::ranges::sort(arrivals);
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    const std::chrono::duration<double, std::milli> gap = arrivals[i] - arrivals[i - 1];
    ASSERT_GE(gap, delay - kClocks)
        << host.url("/") << ": request " << i << " of " << arrivals.size() << " came too soon";
  }
}

// A host with a root that links to `pages` others. The larger `bytes`, the longer the fetcher
// thread is busy with each.
std::unique_ptr<RawServer> star(const std::string& address, int pages, std::string robots,
                                std::size_t bytes = 0) {
  const auto answer = [=](Connection& client, const std::string& target) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
    if (target == "/robots.txt") return client.reply(head, robots);
    std::string body;
    for (int i = 0; target == "/" && i < pages; ++i)
      body += fmt::format("<a href=/{}>x</a>", i);
    while (body.size() < bytes)
      body += "<p><b>some</b> <i>text</i>";
    return client.reply(head, body);
  };
  return std::make_unique<RawServer>(answer, address);
}

void expect_delay_between_all(const CrawlConfig& config,
                              const std::vector<std::unique_ptr<RawServer>>& hosts, int pages) {
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), hosts.size() * (pages + 1));
  for (const auto& host : hosts)
    expect_delay(*host, config.politeness.delay, pages + 2);  // the root and robots.txt too
}

TEST(Crawl, P1_RequestsToAHostStartADelayApart) {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<RawServer>> hosts;
  std::vector<std::string> seeds;
  for (int i = 1; i <= 3; ++i) {
    hosts.push_back(star(fmt::format("127.0.0.{}", i), 40, ""));
    seeds.push_back(hosts.back()->url("/"));
  }
  CrawlConfig config = fast_config(directory, seeds);
  config.politeness.delay = milliseconds(30);
  config.politeness.per_host_connections = 1;
  expect_delay_between_all(config, hosts, 40);
}

// Between the lease of a URL and its request lie those of other hosts, in an order that changes,
// and the reading of their pages.
TEST(Crawl, P1_HoldsOnAThreadThatIsBusyWithManyHosts) {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<RawServer>> hosts;
  std::vector<std::string> seeds;
  for (int i = 1; i <= 40; ++i) {
    hosts.push_back(star(fmt::format("127.0.0.{}", i), 15, "", i % 10 == 0 ? 50'000 : 0));
    seeds.push_back(hosts.back()->url("/"));
  }
  CrawlConfig config = fast_config(directory, seeds);
  config.fetch.threads = 1;
  config.fetch.connections = 40;
  config.politeness.delay = milliseconds(50);
  config.politeness.per_host_connections = 1;
  expect_delay_between_all(config, hosts, 15);
}

TEST(Crawl, P1_HoldsAcrossRestarts) {
  const TemporaryDirectory directory;
  const auto host = star("127.0.0.1", 20, "");
  CrawlConfig config = fast_config(directory, {host->url("/")});
  config.politeness.delay = milliseconds(100);
  config.politeness.per_host_connections = 1;
  OpenMode mode = OpenMode::kCreate;
  constexpr int kRuns = 4;
  for (int i = 0; i < kRuns; ++i) {
    const auto crawl = opened(config, mode);
    const std::uint64_t before = crawl->progress().fetched;
    crawl->start();
    wait_until([&] { return crawl->progress().fetched > before; });
    crawl->drain();
    finish(*crawl);
    mode = OpenMode::kResume;
  }
  expect_delay(*host, milliseconds(100), 2 * kRuns);  // robots.txt and a page at least, each time
}

TEST(Crawl, P1_CrawlDelayOfRobotsTxtIsKept) {
  const auto host = star("127.0.0.1", 20, "User-agent: *\nCrawl-delay: 0.05\n");
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {host->url("/")});
  config.politeness.per_host_connections = 1;
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 21u);
  expect_delay(*host, milliseconds(50), 22);
}

TEST(Crawl, P1_CrawlDelayIsCappedAndNeverShortensTheConfiguredDelay) {
  // An hour, were it not capped: the test would not end.
  const auto slow = star("127.0.0.1", 20, "User-agent: *\nCrawl-delay: 3600\n");
  const auto quick = star("127.0.0.2", 20, "User-agent: *\nCrawl-delay: 0.001\n");
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {slow->url("/"), quick->url("/")});
  config.politeness.delay = milliseconds(20);
  config.politeness.max_crawl_delay = milliseconds(40);
  config.politeness.per_host_connections = 1;
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 42u);
  expect_delay(*slow, milliseconds(40), 22);
  expect_delay(*quick, milliseconds(20), 22);
}

}  // namespace
}  // namespace trawl
