#include "crawler/run/retrying_frontier.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "tests/crawler/unreliable_frontier.h"
#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;

class RetryingFrontierTest : public testing::Test {
 protected:
  void SetUp() override {
    auto embedded = EmbeddedFrontier::open({.directory = directory_.path() / "state",
                                            .politeness = {.delay = 0ms, .leases_per_host = 8}});
    ASSERT_TRUE(embedded) << embedded.error().message;
    auto unreliable = std::make_unique<test::UnreliableFrontier>(*std::move(embedded));
    unreliable_ = unreliable.get();
    frontier_ = std::make_unique<RetryingFrontier>(std::move(unreliable), [this] { return over_; });
  }

  test::TemporaryDirectory directory_;
  bool over_ = false;
  test::UnreliableFrontier* unreliable_ = nullptr;
  std::unique_ptr<Frontier> frontier_;
};

TEST_F(RetryingFrontierTest, N1_WhatIsOutOfReachForAMomentEndsAndLosesNothing) {
  constexpr int kUrls = 20;
  for (int i = 0; i < kUrls; ++i) {
    const std::string url = "http://a.test/" + std::to_string(i);
    const UrlRequest request{.url = url};
    ASSERT_EQ(frontier_->offer({&request, 1}).value().at(0), Admission::kNew);
  }
  int done = 0;
  while (!frontier_->progress().value().finished) {
    const auto leases = frontier_->lease({.max = 4, .wait = 10ms});
    ASSERT_TRUE(leases) << leases.error().message;
    for (const Lease& lease : *leases) {
      ASSERT_TRUE(frontier_->complete(lease.id, {.status = 200}));
      ++done;
    }
  }
  EXPECT_EQ(done, kUrls);
  EXPECT_EQ(frontier_->stats()->completed, static_cast<std::uint64_t>(kUrls));
  EXPECT_GT(unreliable_->refused.load(), kUrls / 2);
  EXPECT_TRUE(frontier_->close());
}

TEST_F(RetryingFrontierTest, WhatGoesAwayIsWaitedForUntilTheCrawlGivesUp) {
  unreliable_->gone = true;
  EXPECT_TRUE(frontier_->lease({.max = 4})->empty()) << "said at once";
  EXPECT_FALSE(frontier_->progress()->at_end());
  EXPECT_TRUE(frontier_->next_due().value()) << "asked again before long";
  const auto& patient = static_cast<const RetryingFrontier&>(*frontier_);
  EXPECT_EQ(patient.without_retries().stats().error().code, ErrorCode::kUnavailable);
  over_ = true;
  EXPECT_EQ(frontier_->flush().error().code, ErrorCode::kUnavailable);
}

TEST_F(RetryingFrontierTest, OtherErrorsAreToldAtOnce) {
  EXPECT_EQ(frontier_->complete(1, {}).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(frontier_->close());
  EXPECT_EQ(frontier_->flush().error().code, ErrorCode::kClosed);
}

}  // namespace
}  // namespace trawl
