#include "crawler/sample_site/sample_site.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/sample_site/sample_web.h"
#include "tests/support/temporary_directory.h"
#include "tiny_crawler.h"

namespace trawl {
namespace {

using test::TinyClient;
using test::TinyPage;
using ::testing::Contains;
using ::testing::HasSubstr;

SampleSiteOptions quick(std::uint64_t pages, std::uint32_t hosts, std::uint64_t seed) {
  return {.pages = pages, .seed = seed, .hosts = hosts, .slow_ms = 1};
}

std::unique_ptr<SampleSite> started(const SampleSiteOptions& options) {
  auto site = SampleSite::start(options);
  if (!site) {
    ADD_FAILURE() << site.error().message;
    std::abort();
  }
  return std::move(*site);
}

std::vector<std::string> keys(const std::map<std::string, long>& fetched) {
  std::vector<std::string> urls;
  for (const auto& [url, status] : fetched)
    urls.push_back(url);
  return urls;
}

std::vector<std::string> logged_urls(const std::string& log) {
  std::vector<std::string> urls;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);)
    urls.push_back(line.substr(line.find(' ') + 1));
  return urls;
}

bool any_contains(const std::vector<std::string>& urls, const std::string& part) {
  return std::any_of(urls.begin(), urls.end(),
                     [&](const std::string& url) { return url.find(part) != std::string::npos; });
}

std::vector<std::string> difference(const std::vector<std::string>& a,
                                    const std::vector<std::string>& b) {
  std::vector<std::string> only_in_a;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only_in_a));
  return only_in_a;
}

struct Shape {
  std::uint64_t pages;
  std::uint32_t hosts;
  std::uint64_t seed;
};

class SampleSiteOfShape : public ::testing::TestWithParam<Shape> {};

TEST_P(SampleSiteOfShape, ACrawlFetchesExactlyTheReachableUrls) {
  const Shape shape = GetParam();
  const test::TemporaryDirectory directory;
  SampleSiteOptions options = quick(shape.pages, shape.hosts, shape.seed);
  options.access_log = directory / "access.log";
  const auto site = started(options);

  const auto fetched = test::tiny_crawl(site->seeds());
  const auto urls = keys(fetched);
  const auto reachable = site->reachable_urls();
  EXPECT_THAT(difference(urls, reachable), ::testing::IsEmpty()) << "fetched, but not listed";
  EXPECT_THAT(difference(reachable, urls), ::testing::IsEmpty()) << "listed, but not fetched";

  std::uint64_t answered = 0;
  for (const auto& [url, status] : fetched)
    answered += status != 0;
  EXPECT_EQ(answered, fetched.size());
  const auto log = logged_urls(options.access_log);
  EXPECT_EQ(log.size(), fetched.size() + site->seeds().size()) << "robots.txt once a host";
  EXPECT_FALSE(any_contains(log, "127.0.0.250"));
  EXPECT_FALSE(any_contains(log, "/trap"));
}

INSTANTIATE_TEST_SUITE_P(Shapes, SampleSiteOfShape,
                         ::testing::Values(Shape{1, 1, 1}, Shape{2, 200, 5}, Shape{30, 1, 3},
                                           Shape{500, 2, 7}, Shape{1000, 3, 1}, Shape{1500, 5, 99}),
                         [](const auto& info) {
                           return fmt::format("Pages{}Hosts{}Seed{}", info.param.pages,
                                              info.param.hosts, info.param.seed);
                         });

TEST(SampleSite, HasAllThatACrawlerMeets) {
  const auto site = started(quick(1000, 4, 1));
  const auto fetched = test::tiny_crawl(site->seeds());
  std::map<long, int> statuses;
  for (const auto& [url, status] : fetched)
    ++statuses[status];
  for (const long status : {200, 301, 302, 307, 308, 404, 410, 500}) {
    EXPECT_GT(statuses[status], 0) << status;
  }
  const auto urls = keys(fetched);
  for (const char* part : {"/list?page=", "/list?sort=up&page=", "/p/~page", "/p/caf%C3%A9-",
                           "/dir/", "/docs/", "/private/open/", "/loop/0/0", "/loop/0/1", "/lure/",
                           "/away/", "/x/notes-", "/x/paper-", "/x/pixel-"}) {
    EXPECT_TRUE(any_contains(urls, part)) << part;
  }
  EXPECT_TRUE(std::any_of(urls.begin(), urls.end(), [](const auto& url) {
    return url.ends_with("/2") && url.find("/hop/") != url.npos;
  })) << "a chain of three redirects";
}

TEST(SampleSite, PagesHoldEveryKindOfReferenceAndSomeAreCompressed) {
  const auto site = started(quick(1000, 3, 1));
  TinyClient client;
  std::string all;
  int compressed = 0;
  for (const std::string& url : site->reachable_urls()) {
    const TinyPage page = client.get(url);
    all += page.body;
    compressed += page.content_encoding == "gzip";
  }
  for (const char* part :
       {"\"../",   "\"./",        "\"?page=",    "\"//127.0.0.", "\"/docs/./../", "HTTP://",
        "%7e",     "%7E",         "%c3%a9",      "\xc3\xa9",     "#part-",        "&amp;",
        "<base ",  "<area ",      "<iframe ",    "<frame ",      "<link ",        "<A HREF=",
        "mailto:", "javascript:", "127.0.0.250", "<!-- "}) {
    EXPECT_THAT(all.find(part), ::testing::Ne(std::string::npos)) << part;
  }
  EXPECT_GT(compressed, 100);
}

TEST(SampleSite, TheSameOptionsGiveTheSameWeb) {
  TinyClient client;
  SampleSiteOptions options = quick(300, 3, 12);
  std::vector<std::string> bodies[2];
  for (auto& of_run : bodies) {
    const auto site = started(options);
    options.port = site->port();
    for (const std::string& url : site->reachable_urls())
      of_run.push_back(client.get(url).body);
    site->stop();
  }
  EXPECT_EQ(bodies[0], bodies[1]);
  options.seed = 13;
  const auto other = started(options);
  EXPECT_NE(client.get(other->seeds()[0]).body, bodies[0][0]);
}

TEST(SampleSite, ListsWithoutServing) {
  SampleSiteOptions options = quick(400, 3, 8);
  const auto site = started(options);
  options.port = site->port();
  const auto listed = SampleSite::list(options);
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(*listed, site->reachable_urls());
  EXPECT_TRUE(std::is_sorted(listed->begin(), listed->end()));
  EXPECT_EQ(std::set<std::string>(listed->begin(), listed->end()).size(), listed->size());

  options.port = 0;
  EXPECT_FALSE(SampleSite::list(options));
}

TEST(SampleSite, AllSpellingsOfAUrlAreOnePage) {
  const auto site = started(quick(1000, 2, 1));
  TinyClient client;
  int checked = 0;
  for (const std::string& url : site->reachable_urls()) {
    const auto tilde = url.find('~');
    if (tilde == std::string::npos) continue;
    const std::string body = client.get(url).body;
    for (const char* spelling : {"%7e", "%7E"}) {
      std::string other = url;
      const TinyPage page = client.get(other.replace(tilde, 1, spelling));
      EXPECT_EQ(page.status, 200);
      EXPECT_EQ(page.body, body);
    }
    ++checked;
  }
  EXPECT_GT(checked, 10);
}

TEST(SampleSite, RobotsDifferByHostAndSitemapsNameReachablePages) {
  const auto site = started(quick(200, 4, 1));
  TinyClient client;
  const auto reachable = site->reachable_urls();
  std::set<std::string> robots;
  for (const std::string& seed : site->seeds()) {
    const TinyPage page = client.get(seed + "robots.txt");
    robots.insert(page.body.substr(0, page.body.find("Sitemap")));
    EXPECT_EQ(page.status, seed.find("127.0.0.2") == std::string::npos ? 200 : 404) << seed;
    const TinyPage sitemap = client.get(seed + "sitemap.xml");
    EXPECT_EQ(sitemap.status, 200);
    EXPECT_THAT(sitemap.body, HasSubstr("<loc>"));
    for (auto at = sitemap.body.find("<loc>"); at != std::string::npos;
         at = sitemap.body.find("<loc>", at + 1)) {
      std::string url = sitemap.body.substr(at + 5, sitemap.body.find('<', at + 1) - at - 5);
      if (const auto amp = url.find("&amp;"); amp != std::string::npos) url.erase(amp + 1, 4);
      EXPECT_THAT(reachable, Contains(url));
    }
  }
  EXPECT_EQ(robots.size(), 4u);
}

TEST(SampleSite, TheAccessLogNamesEachRequestAsItCame) {
  const test::TemporaryDirectory directory;
  SampleSiteOptions options = quick(10, 2, 1);
  options.access_log = directory / "access.log";
  const auto site = started(options);
  const std::string outside = fmt::format("http://127.0.0.250:{}/outside/1", site->port());
  TinyClient client;
  const std::vector<std::string> asked{site->seeds()[1] + "p/%7enone?x=%41", outside};
  for (const std::string& url : asked)
    client.get(url);
  EXPECT_EQ(logged_urls(options.access_log), asked);
}

TEST(SampleSite, ServesManyConnectionsAtOnceAndStopsWhileTheyAreOpen) {
  const auto site = started(quick(100, 1, 1));
  std::vector<std::unique_ptr<TinyClient>> clients;
  for (int i = 0; i < 150; ++i)
    clients.push_back(std::make_unique<TinyClient>());
  for (auto& client : clients)
    EXPECT_EQ(client->get(site->seeds()[0]).status, 200);
  site->stop();
  EXPECT_EQ(clients[0]->get(site->seeds()[0]).status, 0);
  site->stop();
}

TEST(SampleSite, StopsWhileASlowPageIsWaitedFor) {
  const test::TemporaryDirectory directory;
  SampleSiteOptions options = quick(1000, 1, 1);
  options.slow_ms = 3'600'000;
  options.access_log = directory / "access.log";
  const auto site = started(options);
  options.port = site->port();
  const SampleWeb web(options);
  std::uint64_t page = 0;
  const auto path = [&] { return web.path_of({SampleKind::kPage, page}); };
  while (!web.reply(0, path()).slow)
    ++page;
  ASSERT_LT(page, options.pages);

  const std::string url = web.url_of({SampleKind::kPage, page});
  std::thread asker([url] { TinyClient().get(url); });
  while (logged_urls(options.access_log).empty())
    std::this_thread::yield();
  site->stop();
  asker.join();
}

TEST(SampleSite, SaysWhatIsWrongWithOptions) {
  for (const SampleSiteOptions& wrong :
       {quick(0, 1, 1), quick(10, 0, 1), quick(10, 201, 1), quick(100'000'001, 1, 1)}) {
    const auto site = SampleSite::start(wrong);
    ASSERT_FALSE(site);
    EXPECT_EQ(site.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(site.error().message, HasSubstr("expected 1 to"));
  }
  SampleSiteOptions too_large = quick(10, 1, 1);
  too_large.page_bytes = 10'000'001;
  const auto none = SampleSite::start(too_large);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("pages of 10000001 bytes"));
  SampleSiteOptions no_log = quick(10, 1, 1);
  no_log.access_log = "/nonexistent/access.log";
  const auto site = SampleSite::start(no_log);
  ASSERT_FALSE(site);
  EXPECT_THAT(site.error().message, HasSubstr("/nonexistent/access.log"));
}

TEST(SampleSite, SaysThatThePortIsTaken) {
  const auto first = started(quick(10, 1, 1));
  SampleSiteOptions options = quick(10, 1, 1);
  options.port = first->port();
  const auto second = SampleSite::start(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kInUse);
  EXPECT_THAT(second.error().message, HasSubstr(fmt::format("127.0.0.1:{}", options.port)));
  TinyClient client;
  EXPECT_EQ(client.get(first->seeds()[0]).status, 200) << "the first continues";
}

}  // namespace
}  // namespace trawl
