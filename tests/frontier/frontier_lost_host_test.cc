// Hosts that cannot be asked: their URLs keep their places and tries.
#include <filesystem>

#include <fmt/format.h>

#include "tests/frontier/frontier_fixture.h"
#include "tests/frontier/virtual_clocks.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;

class FrontierLostHost : public test::FrontierFixture {
 protected:
  FrontierLostHost() {
    options_ = options();
    clocks_.use_in(options_);
    options_.testing.deterministic_seed = 5;
    options_.store.max_memory = kMinFrontierMemory;
    options_.retry.retries = 1;
    options_.retry.retry_delay = 1s;
    options_.retry.host_backoff = 1s;
    options_.retry.max_host_backoff = 4s;
    options_.retry.host_failures = 6;
    options_.retry.no_such_host_wait = 5s;
  }
  void open_anew() {
    frontier_.reset();
    frontier_ = open(options_);
  }
  Lease lease_one() {
    auto leases = lease(*frontier_, 1);
    EXPECT_EQ(leases.size(), 1u);
    return leases.empty() ? Lease{} : leases.front();
  }
  FailureVerdict lose_one(FailureReason reason) {
    return frontier_
        ->fail(lease_one().id, reason, std::nullopt, {.error = "no host", .requested = false})
        .value();
  }
  HostState state() { return frontier_->host("a.test")->state; }

  test::VirtualClocks clocks_;
  EmbeddedOptions options_;
  std::unique_ptr<Frontier> frontier_;
};

TEST_F(FrontierLostHost, ItsUrlsKeepTheirTriesUntilItIsGivenUp) {
  open_anew();
  static_cast<void>(offer(*frontier_, {"http://a.test/1", "http://a.test/2"}));
  for (int failures = 1; failures <= 6; ++failures) {
    const FailureVerdict verdict = lose_one(FailureReason::kConnection);
    EXPECT_TRUE(verdict.retry_at);
    EXPECT_EQ(verdict.host_parked, failures == 6);
    EXPECT_TRUE(lease_all(*frontier_).empty()) << "it is left alone for a while";
    clocks_.advance(4s);
  }
  EXPECT_EQ(state(), HostState::kParked);
  EXPECT_TRUE(frontier_->progress()->exhausted);
  EXPECT_FALSE(frontier_->progress()->finished);
  const FrontierStats stats = frontier_->stats().value();
  EXPECT_EQ(stats.queued, 2u);
  EXPECT_EQ(stats.completed + stats.retried + stats.set_aside_failed, 0u);
  ASSERT_TRUE(frontier_->set_host("a.test", {.blocked_until = HostSettings::kNotBlocked}));
  const auto leases = lease_all(*frontier_);
  ASSERT_EQ(leases.size(), 2u);
  EXPECT_EQ(leases[0].attempts, 0u);
}

TEST_F(FrontierLostHost, WithoutALimitOneThatAnsweredIsGivenUpAfterALongSilence) {
  options_.retry.host_failures = 0;
  options_.retry.max_host_backoff = 300ms;
  options_.retry.host_backoff = 50ms;
  for (const bool answers_between : {false, true}) {
    SCOPED_TRACE(answers_between);
    options_.directory = options().directory.parent_path() / (answers_between ? "b" : "a");
    open_anew();
    static_cast<void>(offer(*frontier_, {"http://a.test/0", "http://a.test/1", "http://a.test/2"}));
    complete(*frontier_, lease_one());
    const auto lose_for = [&](std::chrono::seconds outage) {
      const auto until = clocks_.now() + outage;
      while (clocks_.now() < until && state() != HostState::kParked) {
        EXPECT_TRUE(lose_one(FailureReason::kConnection).retry_at);
        clocks_.advance(300ms);
      }
    };
    lose_for(50s);
    EXPECT_NE(state(), HostState::kParked) << "it may come back";
    if (answers_between) {
      complete(*frontier_, lease_one());
      lose_for(50s);
      EXPECT_NE(state(), HostState::kParked) << "the row began again";
    }
    lose_for(15s);
    EXPECT_EQ(state(), HostState::kParked);
    EXPECT_TRUE(frontier_->progress()->exhausted);
    EXPECT_EQ(frontier_->stats()->queued, answers_between ? 1u : 2u);
    EXPECT_EQ(frontier_->stats()->set_aside_failed, 0u);
    ASSERT_TRUE(frontier_->set_host("a.test", {.blocked_until = HostSettings::kNotBlocked}));
    EXPECT_EQ(lease_one().attempts, 0u);
    frontier_.reset();
  }
}

// No URL is taken whose host could not be named to the other calls.
TEST_F(FrontierLostHost, AHostWithALongNameIsOneAsAnyOther) {
  open_anew();
  const std::string name = std::string(1000, 'a') + ".test";
  ASSERT_EQ(offer(*frontier_, {"http://" + name + "/1"}).front(), Admission::kNew);
  EXPECT_TRUE(frontier_->set_host(name, {.delay = 0s}));
  EXPECT_TRUE(frontier_->set_host(name, {.limit = 5}));
  EXPECT_TRUE(frontier_->start_elsewhere(name, ""));
  EXPECT_TRUE(frontier_->set_host(name, {.blocked_until = HostSettings::kParked}));
  EXPECT_EQ(frontier_->host(name)->state, HostState::kParked);
  EXPECT_TRUE(frontier_->set_host(name, {.blocked_until = HostSettings::kNotBlocked}));
  EXPECT_EQ(lease_one().host, name);
}

TEST_F(FrontierLostHost, OpenRevivesThoseGivenUpIfAsked) {
  open_anew();
  static_cast<void>(offer_one(*frontier_, "http://a.test/1"));
  ASSERT_TRUE(frontier_->set_host("a.test", {.blocked_until = HostSettings::kParked}));
  ASSERT_TRUE(frontier_->set_host("empty.test", {.blocked_until = HostSettings::kParked}));
  open_anew();
  EXPECT_EQ(state(), HostState::kParked);
  EXPECT_TRUE(frontier_->progress()->exhausted);
  EXPECT_EQ(opened_.hosts_revived, 0u);
  options_.revive_hosts = true;
  open_anew();
  EXPECT_EQ(opened_.hosts_revived, 2u);
  EXPECT_EQ(state(), HostState::kActive);
  EXPECT_FALSE(frontier_->host("empty.test"));
  EXPECT_EQ(frontier_->stats()->hosts_parked, 0u);
  open_anew();
  EXPECT_EQ(opened_.hosts_revived, 0u) << "none is left";
  options_.revive_hosts = false;
  open_anew();
  EXPECT_EQ(state(), HostState::kActive) << "that is durable";
  EXPECT_EQ(lease_all(*frontier_).size(), 1u);
}

TEST_F(FrontierLostHost, AStoppedFrontierRevivesThoseThatAreNamed) {
  options_.retry.park_time = 24h;
  open_anew();
  static_cast<void>(offer(*frontier_, {"http://a.test/1", "http://b.test/1", "http://c.test/1"}));
  ASSERT_TRUE(frontier_->set_host("a.test", {.blocked_until = HostSettings::kParked}));
  ASSERT_TRUE(frontier_->set_host("b.test", {.blocked_until = HostSettings::kParked}));
  ASSERT_TRUE(frontier_->set_host("b.test", {.delay = 5s}));
  const std::vector<std::string> names{"b.test", "c.test", "d.test", "b.test"};
  const auto busy = EmbeddedFrontier::revive(options_.directory, names);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, ErrorCode::kInUse);
  frontier_.reset();

  const auto report = EmbeddedFrontier::revive(options_.directory, names);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->revived, 1u);
  EXPECT_EQ(report->hosts, std::vector<std::string>{"b.test"});
  EXPECT_EQ(report->not_parked, std::vector<std::string>{"c.test"});
  EXPECT_EQ(report->unknown, std::vector<std::string>{"d.test"});
  open_anew();
  EXPECT_EQ(state(), HostState::kParked);
  const HostInfo revived = frontier_->host("b.test").value();
  EXPECT_EQ(revived.state, HostState::kActive);
  EXPECT_EQ(revived.failures, 0u);
  EXPECT_EQ(revived.settings.blocked_until, std::nullopt);
  EXPECT_EQ(revived.settings.delay, 5s) << "what else is set for it stays";
  EXPECT_EQ(frontier_->stats()->queued, 3u);
}

TEST_F(FrontierLostHost, AStoppedFrontierRevivesAll) {
  constexpr std::size_t kHosts = 2500;  // more than are written at once
  options_.testing.deterministic_seed.reset();
  open_anew();
  for (std::size_t i = 0; i < kHosts; ++i)
    ASSERT_TRUE(
        frontier_->set_host(fmt::format("h{}.test", i), {.blocked_until = HostSettings::kParked}));
  static_cast<void>(offer(*frontier_, {"http://h7.test/1", "http://other.test/1"}));
  frontier_.reset();
  auto report = EmbeddedFrontier::revive(options_.directory);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->revived, kHosts);
  EXPECT_EQ(report->hosts.size(), 1000u);
  EXPECT_TRUE(report->not_parked.empty());
  EXPECT_TRUE(report->unknown.empty());
  report = EmbeddedFrontier::revive(options_.directory);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->revived, 0u);
  open_anew();
  EXPECT_EQ(lease_all(*frontier_).size(), 2u);
  EXPECT_EQ(frontier_->hosts({}, 10)->size(), 2u) << "nothing is kept of the others";
}

TEST_F(FrontierLostHost, WhatHoldsNoFrontierIsNotRevived) {
  const auto missing = EmbeddedFrontier::revive(options_.directory);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(options_.directory));
  open_anew();
  frontier_.reset();
  std::filesystem::remove(options_.directory / "MANIFEST");
  const auto lost = EmbeddedFrontier::revive(options_.directory);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kCorrupt);
}

TEST_F(FrontierLostHost, OneGivenUpComesBackAfterAWhile) {
  options_.retry.park_time = 24h;
  open_anew();
  static_cast<void>(offer_one(*frontier_, "http://a.test/1"));
  ASSERT_TRUE(frontier_->set_host("a.test", {.blocked_until = HostSettings::kParked}));
  EXPECT_TRUE(lease_all(*frontier_).empty());
  EXPECT_TRUE(frontier_->progress()->exhausted) << "nobody has to wait for it";
  clocks_.advance(24h - 1ms);
  EXPECT_TRUE(lease_all(*frontier_).empty());
  EXPECT_EQ(state(), HostState::kParked);
  EXPECT_LE(frontier_->next_due(0).value(), clocks_.now() + 1ms);
  clocks_.advance(1ms);
  EXPECT_EQ(lease_all(*frontier_).size(), 1u);
  EXPECT_EQ(state(), HostState::kActive);
}

TEST_F(FrontierLostHost, ANameThatDoesNotExistIsAskedForAgainAndThenItsUrlsFail) {
  open_anew();
  static_cast<void>(offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3"}));
  // Two at the same time are one failure.
  const auto leases = lease(*frontier_, 2);
  for (const Lease& lease : leases) {
    const auto verdict =
        frontier_->fail(lease.id, FailureReason::kNoSuchHost, std::nullopt, {.requested = false});
    EXPECT_TRUE(verdict->retry_at);
    EXPECT_FALSE(verdict->host_parked);
  }
  EXPECT_EQ(frontier_->host("a.test")->failures, 1u);
  clocks_.advance(5s - 1ms);
  EXPECT_TRUE(lease_all(*frontier_).empty());
  clocks_.advance(1ms);
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(lose_one(FailureReason::kNoSuchHost).retry_at);
  EXPECT_TRUE(frontier_->progress()->finished);
  EXPECT_EQ(frontier_->stats()->set_aside_failed, 3u);
}

TEST_F(FrontierLostHost, WhateverAUrlFailsByItWaitsForItsRecrawl) {
  open_anew();
  const auto end = [&](FailureReason reason) {
    return frontier_
        ->fail(lease_one().id, reason, std::nullopt,
               {.error = "e",
                .requested = reason != FailureReason::kNoSuchHost,
                .recrawl_at = clocks_.wall() + 1h,
                .note = "next"})
        .value();
  };
  for (const FailureReason reason : {FailureReason::kNoSuchHost, FailureReason::kTimeout,
                                     FailureReason::kServerError, FailureReason::kPermanent}) {
    const std::string url = fmt::format("http://h{}.test/", static_cast<int>(reason));
    SCOPED_TRACE(url);
    static_cast<void>(offer_one(*frontier_, url));
    if (reason != FailureReason::kPermanent) {
      EXPECT_TRUE(end(reason).retry_at);
      clocks_.advance(5s);
    }
    EXPECT_FALSE(end(reason).retry_at);
    FrontierStats stats = frontier_->stats().value();
    EXPECT_EQ(stats.set_aside_failed, 0u);
    EXPECT_EQ(stats.recrawls_deferred, 1u);
    EXPECT_EQ(stats.deferred, 1u);
    open_anew();
    EXPECT_TRUE(lease_all(*frontier_).empty());
    clocks_.advance(1h);
    const Lease again = lease_one();
    EXPECT_EQ(again.url, url);
    EXPECT_TRUE(again.recrawl);
    EXPECT_EQ(again.attempts, 0u);
    EXPECT_EQ(again.note, "next");
    complete(*frontier_, again);
    EXPECT_TRUE(frontier_->progress()->finished);
  }
}

TEST_F(FrontierLostHost, OneThatHasAnsweredIsGivenUpWithItsQueueInstead) {
  open_anew();
  static_cast<void>(offer(*frontier_, {"http://a.test/1", "http://a.test/2"}));
  ASSERT_TRUE(frontier_->complete(lease_one().id, {.status = 404}, {}));
  ASSERT_TRUE(frontier_->close());
  open_anew();
  EXPECT_TRUE(lose_one(FailureReason::kNoSuchHost).retry_at);
  clocks_.advance(5s);
  const FailureVerdict verdict = lose_one(FailureReason::kNoSuchHost);
  EXPECT_TRUE(verdict.retry_at);
  EXPECT_TRUE(verdict.host_parked);
  EXPECT_EQ(state(), HostState::kParked);
  EXPECT_EQ(frontier_->stats()->queued, 1u);
}

TEST_F(FrontierLostHost, AnAnswerInBetweenBeginsAnew) {
  open_anew();
  static_cast<void>(offer(*frontier_, {"http://a.test/1", "http://a.test/2"}));
  lose_one(FailureReason::kNoSuchHost);
  clocks_.advance(5s);
  complete(*frontier_, lease_one());
  EXPECT_TRUE(lose_one(FailureReason::kNoSuchHost).retry_at);
  EXPECT_EQ(state(), HostState::kBlocked);
}

TEST_F(FrontierLostHost, HostsThatOnlyAnsweredAreNotListed) {
  open_anew();
  static_cast<void>(offer_one(*frontier_, "http://a.test/1"));
  complete(*frontier_, lease_one());
  ASSERT_TRUE(frontier_->flush());
  EXPECT_TRUE(frontier_->hosts({}, 10)->empty());
  EXPECT_FALSE(frontier_->host("a.test"));
}

}  // namespace
}  // namespace trawl
