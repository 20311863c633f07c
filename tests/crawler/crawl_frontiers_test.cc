// Whole crawls with other frontiers than the embedded one.
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "trawl/memory_frontier.h"

#include "crawl_fixture.h"
#include "tests/crawler/unreliable_frontier.h"

namespace trawl {
namespace {

using test::fast_config;
using test::finish;
using test::keys_of;
using test::LoggedSite;
using test::pages_of;
using test::TemporaryDirectory;

void expect_whole_crawl(const CrawlConfig& config, LoggedSite& site, const CrawlOpening& opening) {
  auto crawl = Crawl::open(config, opening);
  ASSERT_TRUE(crawl) << crawl.error().message;
  (*crawl)->start();
  finish(**crawl);
  EXPECT_EQ((*crawl)->why_ended(), CrawlEnd::kFinished);
  const auto reachable = site->reachable_urls();
  EXPECT_EQ(keys_of(pages_of(config)), reachable);
  EXPECT_EQ(site.asked(), reachable) << "each asked for once";
}

// What passes is waited for: nothing is lost, fetched twice, or ends the crawl.
TEST(CrawlFrontiers, N1_AFrontierThatIsOutOfReachAtEveryThirdCallIsCrawledToTheEnd) {
  const TemporaryDirectory directory;
  LoggedSite site(directory, 150, 3);
  CrawlConfig config = fast_config(directory, site->seeds());
  expect_whole_crawl(config, site,
                     {.mode = OpenMode::kCreate,
                      .frontier = [&](const EmbeddedOptions& options,
                                      OpenReport* report) -> Result<std::unique_ptr<Frontier>> {
                        auto frontier = EmbeddedFrontier::open(options, report);
                        if (!frontier) return frontier;
                        return std::make_unique<test::UnreliableFrontier>(*std::move(frontier));
                      }});
}

TEST(CrawlFrontiers, TheCrawlerAsksForNothingThatOnlyTheEmbeddedFrontierHas) {
  const TemporaryDirectory directory;
  LoggedSite site(directory, 400, 4);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.fetch.threads = 1;  // as many as it has shards
  expect_whole_crawl(
      config, site,
      {.mode = OpenMode::kCreate, .frontier = [](const EmbeddedOptions& options, OpenReport*) {
         return MemoryFrontier::create({.politeness = options.politeness,
                                        .retry = options.retry,
                                        .limits = options.limits,
                                        .profile = options.seen.profile});
       }});
}

}  // namespace
}  // namespace trawl
