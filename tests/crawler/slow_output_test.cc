// A disk that takes a second for each write of the output does not delay offers.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "tests/crawler/output_fixture.h"
#include "tests/support/file_faults.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class SlowOutput : public ::testing::Test {
 protected:
  void SetUp() override {
    auto frontier =
        EmbeddedFrontier::open({.directory = directory_.path() / "state",
                                .politeness = {.delay = 0ms, .leases_per_host = 1'000}});
    ASSERT_TRUE(frontier) << frontier.error().message;
    frontier_ = *std::move(frontier);
    CrawlConfig config;
    auto output = Output::open(config, directory_.path() / "out", directory_.path() / "out", true);
    ASSERT_TRUE(output) << output.error().message;
    output_ = *std::move(output);
  }

  // Pages are completed as a crawl does it: links, output, end; at most so many wait for the disk.
  void crawl(const std::atomic<bool>& over) {
    constexpr int kMostUnwritten = 200;
    std::atomic<int> unwritten{0};
    for (int n = 0; !over; ++n) {
      const std::string seed = fmt::format("http://a.test/{}/{}", run_, n);
      const UrlRequest request{.url = seed};
      ASSERT_TRUE(frontier_->offer({&request, 1}, OfferWait::kAnswer));
      while (unwritten >= kMostUnwritten && !over)
        std::this_thread::sleep_for(1ms);
      const auto leases = frontier_->lease({.max = 10, .wait = 1ms});
      ASSERT_TRUE(leases);
      for (const Lease& lease : *leases) {
        const std::string link = lease.url + "/link";
        const std::vector<UrlRequest> links{
            {.url = link, .hold = HoldReason{.reason = "too deep"}}};
        ASSERT_TRUE(frontier_->complete(lease.id, {.status = 200, .end_later = true}, links));
        const test::Fetched page = test::fetched(lease.url);
        ++unwritten;
        output_->submit(page.output, [&, id = lease.id] {
          EXPECT_TRUE(frontier_->complete(id, {}));
          --unwritten;
          ++written_;
        });
      }
      output_->write_due(false);
    }
    EXPECT_TRUE(output_->flush());
    ++run_;
  }

  // The 99.9th percentile of how long an offer took until it was durable.
  Clock::duration slowest_offers() {
    constexpr int kOffers = 4'000;
    std::atomic<bool> over{false};
    std::thread crawler([&] { crawl(over); });
    std::vector<Clock::duration> took;
    for (int n = 0; n < kOffers; ++n) {
      const std::string url = fmt::format("http://b{}.test/{}", run_, offered_++);
      const UrlRequest request{.url = url, .not_before = std::chrono::system_clock::now() + 24h};
      const auto start = Clock::now();
      EXPECT_TRUE(frontier_->offer({&request, 1}));
      took.push_back(Clock::now() - start);
      std::this_thread::sleep_for(500us);
    }
    over = true;
    crawler.join();
    std::ranges::sort(took);
    return took[took.size() * 999 / 1000];
  }

  test::TemporaryDirectory directory_;
  test::FileFaults disk_{directory_.path() / "out"};
  std::unique_ptr<Frontier> frontier_;
  std::unique_ptr<Output> output_;
  std::atomic<int> written_{0};
  int run_ = 0;
  int offered_ = 0;
};

TEST_F(SlowOutput, HoldsUpNoOffersOfOthers) {
  // Others on the machine hold up single offers of either kind: of a few tries one is quiet.
  constexpr int kTries = 5;
  std::string told;
  for (int i = 0; i < kTries; ++i) {
    disk_.slow_down(0ms);
    const auto quick = slowest_offers();
    const int before = written_;
    disk_.slow_down(1s);
    const auto slow = slowest_offers();
    ASSERT_LT(written_ - before, 2'000) << "the disk is not slow";
    ASSERT_GT(written_ - before, 0);
    const auto us = [](Clock::duration time) { return time / 1us; };
    told += fmt::format("p99.9 {} us, on a slow disk {} us; ", us(quick), us(slow));
    if (slow <= 2 * quick) {
      RecordProperty("offers", told);
      return;
    }
  }
  FAIL() << told;
}

}  // namespace
}  // namespace trawl
