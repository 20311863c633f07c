// Steering a crawl while it runs: pauses, offers, hosts, and another config.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/url.h"
#include "trawl/url_groups.h"

#include "tests/crawler/crawl_fixture.h"

namespace trawl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kLinks = 10;

// Its first page links to /a/0, /a/1, ... and /b/0, /b/1, ...
HttpReply steered_page(const std::string& target) {
  if (target == "/robots.txt") return {.status = 404};
  if (target != "/") return test::html("<p>" + target);
  std::string body;
  for (int i = 0; i < kLinks; ++i)
    body += fmt::format("<a href=/a/{}>a</a><a href=/b/{}>b</a>", i, i);
  return test::html(body);
}

class CrawlSteering : public ::testing::Test {
 protected:
  CrawlSteering() : config_(test::fast_config(directory_, {site_.url("/")})) {}

  std::size_t asked(const std::string& part) const {
    const auto all = site_.asked();
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [&](const std::string& url) { return url.find(part) != std::string::npos; }));
  }
  std::unique_ptr<Crawl> started() {
    auto crawl = test::opened(config_, OpenMode::kCreate);
    crawl->start();
    return crawl;
  }
  static void poll(Crawl& crawl, const std::function<bool()>& condition) {
    test::wait_until([&] {
      EXPECT_FALSE(crawl.ended());
      return condition();
    });
  }

  test::OwnSite site_{steered_page};
  TemporaryDirectory directory_;
  CrawlConfig config_;
};

TEST_F(CrawlSteering, APausedCrawlLeasesNothingAndDoesNotEnd) {
  auto crawl = test::opened(config_, OpenMode::kCreate);
  crawl->pause();
  EXPECT_TRUE(crawl->paused());
  crawl->start();
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(crawl->ended());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(site_.asked(), IsEmpty());
  crawl->unpause();
  EXPECT_FALSE(crawl->paused());
  test::finish(*crawl);
  EXPECT_EQ(asked("/a/"), std::size_t{kLinks});
}

// The user that blocks the only host wants to unblock it later.
TEST_F(CrawlSteering, ACrawlWaitsForTheHostsThatACallBlocked) {
  auto crawl = test::opened(config_, OpenMode::kCreate);
  const std::string host = politeness_group(Url::parse(site_.url("/")).value());
  ASSERT_TRUE(crawl->block_host(host, std::nullopt));
  crawl->start();
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(crawl->ended());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(site_.asked(), IsEmpty());
  const HostRow row = crawl->host(host).value();
  EXPECT_EQ(row.state, HostState::kBlocked);
  EXPECT_EQ(row.blocked_until, std::nullopt);
  EXPECT_EQ(row.next_start, std::nullopt);
  EXPECT_EQ(row.reason, "blocked by a call, until it is unblocked");
  EXPECT_FALSE(crawl->has_parked_hosts());
  ASSERT_TRUE(crawl->unblock_host(host));
  test::finish(*crawl);
  EXPECT_EQ(asked("/a/"), std::size_t{kLinks});
}

TEST_F(CrawlSteering, OfferedUrlsAreCountedOnceAndScopeApplies) {
  auto crawl = test::opened(config_, OpenMode::kCreate);
  crawl->pause();
  crawl->start();
  const std::vector<OfferedUrl> urls = {{.url = site_.url("/new")},
                                        {.url = site_.url("/new")},
                                        {.url = "http://elsewhere.test/"},
                                        {.url = "no url"}};
  const OfferReport report = crawl->offer(urls).value();
  EXPECT_EQ(report.offered, 4u);
  EXPECT_EQ(report.fresh, 1u);
  EXPECT_EQ(report.seen, 1u);
  EXPECT_EQ(report.invalid, 1u);
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_EQ(report.skipped.begin()->second, 1u);
  const auto hosts = crawl->hosts(HostOrder::kQueued, 5).value();
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_EQ(hosts[0].queued, 2u);  // with the seed
  EXPECT_EQ(crawl->host(hosts[0].host)->queued, 2u);
  crawl->unpause();
  test::finish(*crawl);
  EXPECT_EQ(asked("/new"), 1u);
  EXPECT_EQ(crawl->offer(urls).error().code, ErrorCode::kClosed);
}

TEST_F(CrawlSteering, ANarrowerScopeHoldsAndAWiderOneOffersAgain) {
  config_.politeness.per_host_connections = 1;
  config_.politeness.delay = std::chrono::milliseconds(20);
  auto crawl = started();
  poll(*crawl, [&] { return asked("/a/0") > 0; });
  CrawlConfig narrower = config_;
  narrower.scope.exclude = {"*/b/*"};
  const ReloadReport first = crawl->reload(narrower).value();
  ASSERT_EQ(first.changed.size(), 1u);
  EXPECT_THAT(first.changed[0], HasSubstr("scope.exclude: "));
  EXPECT_THAT(first.needs_restart, IsEmpty());
  EXPECT_EQ(crawl->config().scope.exclude, narrower.scope.exclude);
  const std::size_t before = asked("/b/");
  poll(*crawl, [&] { return asked("/a/9") > 0; });
  EXPECT_LE(asked("/b/"), before + 1) << "at most the request in flight";
  // All of the others are held or about to be; the crawl stays for the next config.
  crawl->pause();
  const ReloadReport second = crawl->reload(config_).value();
  EXPECT_GT(second.requeued, 0u);
  EXPECT_EQ(second.held, 0u);
  crawl->unpause();
  test::finish(*crawl);
  EXPECT_EQ(asked("/b/"), std::size_t{kLinks});
  EXPECT_EQ(crawl->why_ended(), EndReason::kFinished);
}

TEST_F(CrawlSteering, AConfigWhoseRulesAreBrokenChangesNothing) {
  auto crawl = test::opened(config_, OpenMode::kCreate);
  CrawlConfig broken = config_;
  broken.scope.max_depth = 7;
  broken.scope.blocklist = {directory_.path() / "no-such-list"};
  EXPECT_FALSE(crawl->reload(broken));
  EXPECT_EQ(crawl->config(), config_);
}

TEST_F(CrawlSteering, AReloadSaysWhatNeedsARestart) {
  auto crawl = test::opened(config_, OpenMode::kCreate);
  CrawlConfig other = config_;
  other.fetch.threads = 1;
  other.fetch.proxy = "http://user:secret@proxy.test:1/";
  other.politeness.retries = 9;
  other.politeness.domain_delay = std::chrono::seconds(1);
  const ReloadReport report = crawl->reload(other).value();
  EXPECT_THAT(report.changed, ElementsAre("fetch.retries: 2 -> 9"));
  EXPECT_THAT(report.needs_restart, Contains("fetch.threads: 2 -> 1"));
  EXPECT_THAT(report.needs_restart,
              Contains(AllOf(HasSubstr("fetch.proxy: "), HasSubstr("(hidden)@proxy.test"),
                             Not(HasSubstr("secret")))));
  EXPECT_THAT(report.needs_restart, Contains(HasSubstr("politeness.domain_delay: ")));
  EXPECT_EQ(crawl->config().fetch.threads, 2u);
  EXPECT_EQ(crawl->config().politeness.retries, 9u);
  EXPECT_EQ(crawl->config().politeness.domain_delay.count(), 0);
  // For later runs the whole file counts.
  const auto saved = load_config(saved_config_path(config_.crawl.state_dir));
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->politeness.retries, 9u);
  EXPECT_EQ(saved->fetch.threads, 1u);
}

TEST_F(CrawlSteering, LimitsMayBeRaisedAndLowered) {
  config_.scope.max_pages = 1000;
  config_.politeness.per_host_connections = 1;
  auto crawl = test::opened(config_, OpenMode::kCreate);
  CrawlConfig fewer = config_;
  fewer.scope.max_pages = 5;
  ASSERT_TRUE(crawl->reload(fewer));
  crawl->start();
  test::finish(*crawl);
  EXPECT_EQ(crawl->why_ended(), EndReason::kLimit);
  EXPECT_EQ(crawl->progress().fetched, 5u);
}

// For ThreadSanitizer: fetchers read config and rules while they change.
TEST_F(CrawlSteering, ManyReloadsWhilePagesAreFetched) {
  constexpr int kOffered = 40;
  auto crawl = test::opened(config_, OpenMode::kCreate);
  crawl->pause();  // or it may end between two offers
  crawl->start();
  std::atomic<bool> stop{false};
  std::thread reloader([&] {
    CrawlConfig other = config_;
    for (int i = 0; !stop.load(); ++i) {
      other.scope.max_depth = 10 + i % 2;
      other.scope.exclude = {fmt::format("*/none-{}/*", i)};
      // It may end at any moment.
      EXPECT_TRUE(crawl->reload(other) || crawl->ended());
      EXPECT_TRUE(crawl->hosts(HostOrder::kQueued, 3) || crawl->ended());
      static_cast<void>(crawl->config());
    }
  });
  for (int i = 0; i < kOffered; ++i)
    EXPECT_TRUE(crawl->offer(std::vector<OfferedUrl>{{.url = site_.url(fmt::format("/x/{}", i))}}));
  crawl->unpause();
  test::wait_until([&] { return asked("/x/") == kOffered; });
  stop.store(true);
  reloader.join();
  test::finish(*crawl);
}

}  // namespace
}  // namespace trawl
