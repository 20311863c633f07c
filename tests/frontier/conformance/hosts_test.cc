// Single hosts: failures, HostInfo, and queues.
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontier/conformance/conformance.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ConformanceHosts : public test::Conformance {
 protected:
  ConformanceHosts() {
    options_ = timed_options();
    options_.retry = {.retries = 1,
                      .retry_delay = 0ms,
                      .host_backoff = 4s,
                      .max_host_backoff = 8s,
                      .host_failures = 2,
                      .no_such_host_wait = 3s};
  }
  void open_anew() { frontier_ = open(options_); }
  Lease lease_one() { return Conformance::lease_one(*frontier_); }
  std::vector<std::string> due() { return urls_of(lease_all(*frontier_)); }
  HostInfo host(const std::string& name = "a.test") { return frontier_->host(name).value(); }

  EmbeddedOptions options_;
  std::unique_ptr<Frontier> frontier_;
};

// Its name, the connection or its robots.txt: the URL is not to blame.
TEST_P(ConformanceHosts, AHostThatFailsBeforeItIsAskedKeepsTheTriesOfItsUrls) {
  open_anew();
  offer_one(*frontier_, "http://a.test/1");
  const auto verdict =
      frontier_->fail(lease_one().id, FailureReason::kConnection, {}, {.requested = false}).value();
  ASSERT_TRUE(verdict.host_blocked_until);
  EXPECT_EQ(verdict.retry_at, verdict.host_blocked_until);
  EXPECT_EQ(stats(*frontier_).retried, 0u);
  EXPECT_EQ(stats(*frontier_).queued, 1u);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(4s);
  const Lease again = lease_one();
  EXPECT_EQ(again.attempts, 0u);
  // The second in a row parks it, its queue is kept.
  EXPECT_TRUE(
      frontier_->fail(again.id, FailureReason::kConnection, {}, {.requested = false})->host_parked);
  EXPECT_EQ(host().state, HostState::kParked);
  EXPECT_EQ(host().queued, 1u);
  EXPECT_TRUE(progress(*frontier_).exhausted);
}

TEST_P(ConformanceHosts, AParkedHostIsLeasedFromAgainAfterParkTime) {
  options_.retry.host_failures = 1;
  options_.retry.park_time = 60s;
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2"});
  ASSERT_TRUE(frontier_->fail(lease(*frontier_, 1).at(0).id, FailureReason::kTimeout));
  clocks_.advance(59s);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(1s);
  EXPECT_EQ(due().size(), 2u);
  EXPECT_EQ(host().failures, 0u);
  // The same when the caller parks it.
  ASSERT_TRUE(frontier_->set_host("b.test", {.blocked_until = HostSettings::kParked}));
  offer_one(*frontier_, "http://b.test/");
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(60s);
  EXPECT_THAT(due(), ElementsAre("http://b.test/"));
}

// Asked for once more after a while; then its URLs end one after the other, as it never answered.
TEST_P(ConformanceHosts, UrlsOfAHostWhoseNameDoesNotExistEnd) {
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2"});
  const auto fail_next = [&] {
    return frontier_
        ->fail(lease(*frontier_, 1).at(0).id, FailureReason::kNoSuchHost, {}, {.requested = false})
        .value();
  };
  EXPECT_EQ(fail_next().host_blocked_until, clocks_.wall() + 3s);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(3s);
  EXPECT_FALSE(fail_next().retry_at);
  EXPECT_FALSE(fail_next().retry_at);
  EXPECT_TRUE(progress(*frontier_).finished);
  EXPECT_EQ(stats(*frontier_).set_aside_failed, 2u);
  EXPECT_EQ(frontier_->set_aside({}, 10)->front().reason, "failed");
}

TEST_P(ConformanceHosts, AHostThatAnsweredIsParkedWhenItsNameIsGone) {
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2"});
  complete(*frontier_, lease(*frontier_, 1).at(0));
  const auto fail_next = [&] {
    return frontier_->fail(lease_one().id, FailureReason::kNoSuchHost, {}, {.requested = false})
        .value();
  };
  EXPECT_FALSE(fail_next().host_parked);
  clocks_.advance(3s);
  EXPECT_TRUE(fail_next().host_parked);
  EXPECT_EQ(host().queued, 1u);
}

// Otherwise its URLs would be put back forever.
TEST_P(ConformanceHosts, WithoutHostFailuresALongSilenceParksAHostThatAnsweredBefore) {
  options_.retry.host_failures = 0;
  options_.retry.retries = 100;
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2"});
  complete(*frontier_, lease(*frontier_, 1).at(0));
  bool parked = false;
  const SteadyTime start = clocks_.now();
  while (!parked && clocks_.now() - start < 10min) {
    clocks_.advance(8s);
    parked = frontier_->fail(lease_one().id, FailureReason::kTimeout, {}, {.requested = false})
                 ->host_parked;
  }
  EXPECT_TRUE(parked);
  EXPECT_GE(clocks_.now() - start, 1min);
  EXPECT_LE(clocks_.now() - start, 2min);
}

TEST_P(ConformanceHosts, AreToldPageByPage) {
  open_anew();
  std::set<std::string> all;
  for (int i = 0; i < 25; ++i) {
    all.insert(fmt::format("h{}.test", i));
    offer_one(*frontier_, fmt::format("http://h{}.test/", i));
  }
  all.insert("set.test");
  ASSERT_TRUE(frontier_->set_host("set.test", {.delay = 5s}));
  std::set<std::string> found;
  std::string after;
  for (;;) {
    const auto some = frontier_->hosts(after, 4).value();
    if (some.empty()) break;
    EXPECT_LE(some.size(), 4u);
    for (const HostInfo& info : some)
      EXPECT_TRUE(found.insert(info.host).second) << info.host;
    after = some.back().host;
  }
  EXPECT_EQ(found, all);
  EXPECT_EQ(frontier_->host("never.test").error().code, ErrorCode::kNotFound);
}

TEST_P(ConformanceHosts, TheirQueuesAreVisitedInOrder) {
  open_anew();
  const std::vector<UrlRequest> requests = {
      {.url = "http://a.test/1"},
      {.url = "http://a.test/later", .not_before = clocks_.wall() + 1h},
      {.url = "http://a.test/high", .priority = 1},
      {.url = "http://b.test/"}};
  ASSERT_TRUE(frontier_->offer(requests));
  ASSERT_EQ(lease(*frontier_, 1).size(), 1u);
  std::vector<std::string> urls;
  const auto visit = [&](std::string_view url) {
    urls.emplace_back(url);
    return true;
  };
  ASSERT_TRUE(frontier_->visit_queue("a.test", visit));
  EXPECT_THAT(urls, ElementsAre("http://a.test/high", "http://a.test/1"));
  urls.clear();
  ASSERT_TRUE(frontier_->visit_queue("a.test", [&](std::string_view url) {
    urls.emplace_back(url);
    return false;
  }));
  EXPECT_EQ(urls.size(), 1u);
}

TEST_P(ConformanceHosts, WhatCannotBeIsRefused) {
  open_anew();
  offer_one(*frontier_, "http://a.test/");
  const auto refused = [](const auto& result) {
    return !result && result.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused(frontier_->set_host("a.test", {.delay = -1ms})));
  EXPECT_TRUE(refused(frontier_->set_host("a.test", {.delay = kMaxDelay + 1ms})));
  EXPECT_TRUE(
      refused(frontier_->set_host("a.test", {.blocked_until = clocks_.wall() + kMaxDelay + 1h})));
  EXPECT_TRUE(refused(frontier_->set_host("A.TEST", {.delay = 1s})));
  EXPECT_TRUE(refused(frontier_->set_host("", {.delay = 1s})));
  EXPECT_TRUE(refused(frontier_->drop_host("A.TEST")));
  EXPECT_TRUE(refused(frontier_->lease({.shard = 1'000'000})));
  EXPECT_TRUE(refused(frontier_->on_wake({}, 1'000'000)));
  EXPECT_TRUE(refused(frontier_->next_due(1'000'000)));
  EXPECT_FALSE(host().settings.delay) << "nothing of it was done";
  auto none = options_;
  none.politeness.leases_per_host = 0;
  EXPECT_TRUE(refused(GetParam().open(none, nullptr)));
  none = options_;
  none.limits.max_open_leases = 0;
  EXPECT_TRUE(refused(GetParam().open(none, nullptr)));
  none = options_;
  none.retry.max_host_backoff = -1s;
  EXPECT_TRUE(refused(GetParam().open(none, nullptr)));
}

TRAWL_CONFORMS(ConformanceHosts);

}  // namespace
}  // namespace trawl
