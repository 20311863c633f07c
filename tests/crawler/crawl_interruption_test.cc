// Crawls that are drained, aborted, dropped and resumed.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "crawl_fixture.h"

namespace trawl {
namespace {

using test::fast_config;
using test::finish;
using test::keys_of;
using test::LoggedSite;
using test::opened;
using test::pages_of;
using test::run;
using test::run_until;
using test::TemporaryDirectory;
using test::wait_until;

TEST(Crawl, N1_ADrainedCrawlGoesOnAndAsksForNothingTwice) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 400, 3);
  const CrawlConfig config = fast_config(directory, site->seeds());
  OpenMode mode = OpenMode::kCreate;
  for (const std::uint64_t pages : {1u, 20u, 21u, 150u}) {
    SCOPED_TRACE(pages);
    const auto crawl = run_until(config, mode, pages, [](Crawl& running) { running.drain(); });
    EXPECT_NE(crawl->why_ended(), EndReason::kFinished) << "the site is too small for this test";
    EXPECT_EQ(keys_of(pages_of(config)), site.asked()) << "what was requested was finished";
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
    run_until(config, mode, pages, [&aborts](Crawl& crawl) {
      crawl.abort();
      ++aborts;
      EXPECT_TRUE(crawl.ended());
    });
    mode = OpenMode::kResume;
  }
  EXPECT_TRUE(run(config, mode));
  EXPECT_EQ(keys_of(pages_of(config)), site->reachable_urls()) << "a line each";
  const auto asked = site.asked();
  EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()).size(),
            site->reachable_urls().size());
  EXPECT_LE(asked.size(), site->reachable_urls().size() + aborts * config.fetch.connections)
      << "only what was in flight is requested again";
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
    const auto crawl = Crawl::open(config, {.mode = mode});
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

// Resumes with the one host of the crawl allowed so many URLs more.
TEST(Crawl, EndsWhenAllThatIsLeftIsOfHostsThatAreAskedNoMore) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 30, 1);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.scope.max_pages = 1;
  EXPECT_FALSE(run(config));
  std::string host;
  {
    const auto options = frontier_options_of(config);
    ASSERT_TRUE(options.has_value());
    const auto frontier = EmbeddedFrontier::open(*options);
    ASSERT_TRUE(frontier.has_value()) << frontier.error().message;
    const auto hosts = (*frontier)->hosts("", 10).value();
    ASSERT_EQ(hosts.size(), 1u);
    host = hosts[0].host;
    ASSERT_TRUE((*frontier)->set_host(host, {.limit = 2}).has_value());
    ASSERT_TRUE((*frontier)->close().has_value());
  }
  config.scope.max_pages.reset();
  const auto crawl = opened(config, OpenMode::kResume);
  crawl->start();
  finish(*crawl);
  EXPECT_NE(crawl->why_ended(), EndReason::kFinished);
  EXPECT_FALSE(crawl->has_parked_hosts()) << "it is at its limit";
  EXPECT_EQ(crawl->progress().fetched_now, 2u);
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

}  // namespace
}  // namespace trawl
