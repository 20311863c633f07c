// Whole crawls with other frontiers than the embedded one.
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

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
  EXPECT_EQ(site.asked(), reachable) << "each requested once";
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

// As of a worker that was stopped for too long: another takes every fifth lease from it.
class ForgetfulFrontier final : public FrontierDecorator<ForgetfulFrontier> {
 public:
  explicit ForgetfulFrontier(std::unique_ptr<Frontier> frontier)
      : FrontierDecorator(std::move(frontier)) {}

  Result<std::vector<Lease>> lease(const LeaseRequest& request) override {
    auto leases = inner().lease(request);
    for (std::size_t i = 0; leases && i < leases->size(); ++i) {
      if (given_.fetch_add(1) % 5 == 4 && inner().release((*leases)[i].id)) ++forgotten;
    }
    return leases;
  }
  mutable std::atomic<int> forgotten = 0;

 private:
  friend FrontierDecorator;
  template <class Call>
  auto forward(Call&& call) const {
    return call();
  }
  std::atomic<int> given_ = 0;
};

TEST(CrawlFrontiers, N1_LeasesThatExpireEndNoCrawl) {
  const TemporaryDirectory directory;
  LoggedSite site(directory, 150, 3);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.politeness.delay = std::chrono::milliseconds(1);  // each request waits for its turn
  const ForgetfulFrontier* forgetful = nullptr;
  auto crawl = Crawl::open(
      config, {.mode = OpenMode::kCreate,
               .frontier = [&](const EmbeddedOptions& options,
                               OpenReport* report) -> Result<std::unique_ptr<Frontier>> {
                 auto frontier = EmbeddedFrontier::open(options, report);
                 if (!frontier) return frontier;
                 auto around = std::make_unique<ForgetfulFrontier>(*std::move(frontier));
                 forgetful = around.get();
                 return around;
               }});
  ASSERT_TRUE(crawl) << crawl.error().message;
  (*crawl)->start();
  while (!(*crawl)->ended())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ((*crawl)->why_ended(), CrawlEnd::kFinished);
  EXPECT_GT(forgetful->forgotten.load(), 20);
  EXPECT_TRUE((*crawl)->close());
  const auto urls = keys_of(pages_of(config));
  const auto reachable = site->reachable_urls();
  EXPECT_EQ(std::set(urls.begin(), urls.end()), std::set(reachable.begin(), reachable.end()));
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
