// A wall clock that is set back or ahead, by hours or days, makes nobody wait longer.
#include "tests/frontier/frontier_fixture.h"
#include "tests/frontier/virtual_clocks.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;

class FrontierClocks : public test::FrontierFixture {
 protected:
  FrontierClocks() {
    options_ = options();
    clocks_.use_in(options_);
    options_.testing.deterministic_seed = 5;
    options_.store.max_memory = kMinFrontierMemory;
    options_.retry.retries = 3;
    options_.retry.retry_delay = 10s;
    options_.retry.host_backoff = 8s;
    options_.retry.max_host_backoff = 8s;
    frontier_ = open(options_);
  }
  void open_anew(std::chrono::milliseconds after) {
    ASSERT_TRUE(frontier_->close());
    frontier_.reset();
    clocks_.restart(after);
    frontier_ = open(options_);
  }
  void fail_one(FailureReason reason) {
    const auto leases = lease_all(*frontier_);
    ASSERT_EQ(leases.size(), 1u);
    ASSERT_TRUE(frontier_->fail(leases[0].id, reason));
  }
  bool is_due() { return !lease_all(*frontier_).empty(); }

  test::VirtualClocks clocks_;
  EmbeddedOptions options_;
  std::unique_ptr<Frontier> frontier_;
};

TEST_F(FrontierClocks, SetBackInBetweenARetryWaitsNoLonger) {
  static_cast<void>(offer_one(*frontier_, "http://a.test/"));
  fail_one(FailureReason::kServerError);
  clocks_.set_wall_by(-72h);
  clocks_.advance(9'999ms);
  EXPECT_FALSE(is_due());
  clocks_.advance(1ms);
  EXPECT_TRUE(is_due());
}

TEST_F(FrontierClocks, SetAheadAndBackAgainARetryWaitsNoLonger) {
  static_cast<void>(offer_one(*frontier_, "http://a.test/"));
  clocks_.set_wall_by(72h);
  fail_one(FailureReason::kServerError);
  clocks_.set_wall_by(-72h);
  clocks_.advance(9'999ms);
  EXPECT_FALSE(is_due());
  clocks_.advance(1ms);
  EXPECT_TRUE(is_due());
}

TEST_F(FrontierClocks, SetBackAHostIsBlockedNoLonger) {
  static_cast<void>(offer(*frontier_, {"http://a.test/1", "http://a.test/2"}));
  auto leases = lease(*frontier_, 1);
  const auto verdict = frontier_->fail(leases[0].id, FailureReason::kUnavailable);
  ASSERT_TRUE(verdict);
  EXPECT_LE(verdict->host_blocked_until, clocks_.wall() + 8s);
  clocks_.set_wall_by(-24h);
  clocks_.advance(8s);
  EXPECT_TRUE(is_due());
}

TEST_F(FrontierClocks, SetBackBetweenTwoRunsNeitherWaitsLonger) {
  static_cast<void>(offer_one(*frontier_, "http://a.test/1"));
  fail_one(FailureReason::kUnavailable);
  open_anew(-48h);
  EXPECT_FALSE(is_due());
  clocks_.advance(10s);
  EXPECT_TRUE(is_due());
}

TEST_F(FrontierClocks, WrongInTheRunBeforeNeitherWaitsLonger) {
  clocks_.set_wall_by(24h * 365);
  static_cast<void>(offer_one(*frontier_, "http://a.test/1"));
  fail_one(FailureReason::kUnavailable);
  open_anew(-24h * 365);
  clocks_.advance(10s);
  EXPECT_TRUE(is_due());
}

// A wait that the caller gives by the wall clock is relative to now, whatever the clock was set to.
TEST_F(FrontierClocks, TimesOfTheCallerAreTakenAsTheyAreFromNow) {
  clocks_.set_wall_by(-24h);
  const UrlRequest later{.url = "http://a.test/", .not_before = clocks_.wall() + 1h};
  ASSERT_TRUE(frontier_->offer({&later, 1}));
  ASSERT_TRUE(frontier_->set_host("b.test", {.blocked_until = clocks_.wall() + 2h}));
  EXPECT_EQ(frontier_->host("b.test")->settings.blocked_until, clocks_.wall() + 2h);
  clocks_.advance(1h - 1ms);
  EXPECT_FALSE(is_due());
  clocks_.advance(1ms);
  EXPECT_TRUE(is_due());
  static_cast<void>(offer_one(*frontier_, "http://b.test/"));
  clocks_.advance(1h - 1ms);
  EXPECT_FALSE(is_due());
  clocks_.advance(1ms);
  EXPECT_TRUE(is_due());
}

// The machine slept: the steady clock stood still.
TEST_F(FrontierClocks, AheadOfTheSteadyOneItCounts) {
  const UrlRequest later{.url = "http://a.test/", .not_before = clocks_.wall() + 24h};
  ASSERT_TRUE(frontier_->offer({&later, 1}));
  clocks_.set_wall_by(24h);
  EXPECT_TRUE(is_due());
}

}  // namespace
}  // namespace trawl
