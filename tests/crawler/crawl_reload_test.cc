// Reloads of the config while a crawl runs: what they do when the frontier fails meanwhile, and
// what other threads may ask.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/frontier_decorator.h"
#include "tests/crawler/crawl_fixture.h"

namespace trawl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Refuses to queue URLs while `refuses`.
class RefusingFrontier final : public FrontierDecorator<RefusingFrontier> {
 public:
  explicit RefusingFrontier(std::unique_ptr<Frontier> frontier)
      : FrontierDecorator(std::move(frontier)) {}

  Result<std::vector<Admission>> offer(std::span<const UrlRequest> requests,
                                       OfferWait wait) override {
    if (refuses) return error(ErrorCode::kUnavailable, "no offers now");
    return inner().offer(requests, wait);
  }
  Result<std::uint64_t> retry(const RetryWhich& which) override {
    if (refuses) return error(ErrorCode::kUnavailable, "no retries now");
    return inner().retry(which);
  }
  Result<void> set_host(std::string_view host, const HostSettings& settings) override {
    if (refuses) return error(ErrorCode::kUnavailable, "no settings now");
    return inner().set_host(host, settings);
  }
  std::atomic<bool> refuses{false};

 private:
  friend FrontierDecorator;
  template <class Call>
  auto forward(Call&& call) const {
    return call();
  }
};

class CrawlReload : public ::testing::Test {
 protected:
  CrawlReload() : config_(test::fast_config(directory_, {site_.url("/")})) {}

  test::OwnSite site_{[](const std::string&) { return test::html("<p>a page"); }};
  TemporaryDirectory directory_;
  CrawlConfig config_;
};

// All or nothing: what is in effect is never reported as an error.
TEST_F(CrawlReload, WhatFailsAfterTheChangeIsAWarning) {
  const std::string site = site_.url("/");
  const std::string host = site.substr(7, site.size() - 8);
  config_.politeness.hosts = {{.host = "127.0.0.1", .delay = std::chrono::milliseconds(20)}};
  RefusingFrontier* frontier = nullptr;
  auto opened = Crawl::open(config_, {.mode = OpenMode::kCreate,
                                      .frontier = test::frontier_within([&](auto inner) {
                                        auto around =
                                            std::make_unique<RefusingFrontier>(std::move(inner));
                                        frontier = around.get();
                                        return around;
                                      })});
  ASSERT_TRUE(opened) << opened.error().message;
  Crawl& crawl = **opened;
  crawl.pause();
  crawl.start();
  CrawlConfig other = config_;
  other.scope.max_depth = 7;
  other.politeness.hosts.clear();
  ASSERT_TRUE(crawl.set_host(host, {.delay = std::chrono::milliseconds(20)}));
  other.crawl.seeds.push_back(site_.url("/second"));
  frontier->refuses = true;
  const auto report = crawl.reload(other);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->changed, ::testing::Contains("scope.max_depth: unset -> 7"));
  EXPECT_THAT(report->warnings,
              ElementsAre(HasSubstr("no settings now"), HasSubstr("no offers now"),
                          HasSubstr("no retries now")));
  EXPECT_EQ(crawl.config().scope.max_depth, 7u);
  // The next reload makes up for it.
  frontier->refuses = false;
  const auto again = crawl.reload(other);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_THAT(again->warnings, IsEmpty());
  crawl.unpause();
  test::finish(crawl);
  EXPECT_THAT(site_.asked(), ::testing::Contains(site_.url("/second")));
}

// For ThreadSanitizer: the progress is asked for by two threads while the limits change.
TEST_F(CrawlReload, TheProgressMayBeAskedForDuringAReload) {
  config_.scope.max_pages = 1000;
  config_.scope.max_bytes = 1 << 30;
  auto crawl = test::opened(config_, OpenMode::kCreate);
  crawl->pause();
  crawl->start();
  std::atomic<bool> stop{false};
  std::thread asks([&] {
    while (!stop.load())
      EXPECT_TRUE(crawl->progress().pages_left);
  });
  CrawlConfig other = config_;
  for (std::uint64_t i = 0; i < 20; ++i) {
    other.scope.max_pages = 2000 + i;
    other.scope.max_bytes = (1 << 20) + i;
    ASSERT_TRUE(crawl->reload(other));
    EXPECT_EQ(crawl->progress().pages_left, 2000 + i);
    EXPECT_EQ(crawl->progress().bytes_left, (1u << 20) + i);
  }
  stop.store(true);
  asks.join();
  crawl->unpause();
  test::finish(*crawl);
}

TEST_F(CrawlReload, OfTablesOnlyThoseThatChangedAreReported) {
  config_.politeness.hosts = {{.host = "one.test", .delay = std::chrono::seconds(1)},
                              {.host = "two.test", .delay = std::chrono::seconds(2)}};
  auto crawl = test::opened(config_, OpenMode::kCreate);
  CrawlConfig other = config_;
  other.politeness.hosts[1].delay = std::chrono::seconds(3);
  EXPECT_THAT(crawl->reload(other).value().changed,
              ElementsAre("politeness.host: { host = \"two.test\", delay = \"2s\" } -> "
                          "{ host = \"two.test\", delay = \"3s\" }"));
  CrawlConfig none = other;
  none.politeness.hosts.pop_back();
  EXPECT_THAT(crawl->reload(none).value().changed,
              ElementsAre("politeness.host: { host = \"two.test\", delay = \"3s\" } -> removed"));
}

}  // namespace
}  // namespace trawl
