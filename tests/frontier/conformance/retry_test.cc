// URLs that wait for a time of their own: retries, recrawls, and those offered for later.
#include <fmt/format.h>

#include "tests/frontier/conformance/conformance.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;

constexpr auto kUrl = "http://a.test/1";

class ConformanceRetry : public test::Conformance {
 protected:
  ConformanceRetry() {
    options_ = timed_options();
    options_.retry.retries = 3;
    options_.retry.retry_delay = 10s;
    options_.retry.max_retry_delay = 30s;
    options_.retry.host_backoff = 0ms;
    options_.retry.host_failures = 0;
  }
  void open_anew() {
    if (frontier_) return restart(frontier_, options_);
    frontier_ = open(options_);
  }
  Lease lease_one() { return Conformance::lease_one(*frontier_); }
  std::vector<std::string> due() { return urls_of(lease_all(*frontier_)); }
  FailureVerdict fail_one(FailureReason reason,
                          std::optional<std::chrono::milliseconds> retry_after = std::nullopt) {
    return frontier_->fail(lease_one().id, reason, retry_after).value();
  }
  HostInfo host(const std::string& name = "a.test") { return frontier_->host(name).value(); }

  EmbeddedOptions options_;
  std::unique_ptr<Frontier> frontier_;
};

TEST_P(ConformanceRetry, ARetryWaitsTwiceAsLongEachTimeAndEndsAsFailed) {
  open_anew();
  static_cast<void>(offer_one(*frontier_, kUrl));
  const std::vector<std::chrono::milliseconds> waits = {10s, 20s, 30s};
  for (std::size_t attempt = 0; attempt < waits.size(); ++attempt) {
    const Lease lease = lease_one();
    EXPECT_EQ(lease.attempts, attempt);
    const auto verdict = frontier_->fail(lease.id, FailureReason::kServerError).value();
    ASSERT_TRUE(verdict.retry_at);
    EXPECT_EQ(*verdict.retry_at - clocks_.wall(), waits[attempt]);
    EXPECT_FALSE(verdict.host_blocked_until);
    EXPECT_EQ(frontier_->stats()->deferred, 1u);
    EXPECT_EQ(frontier_->stats()->queued, 0u);
    EXPECT_TRUE(due().empty());
    EXPECT_LE(frontier_->next_due(0).value(), clocks_.now() + waits[attempt]);
    clocks_.advance(waits[attempt] - 1ms);
    EXPECT_TRUE(due().empty());
    clocks_.advance(1ms);
  }
  const auto verdict = fail_one(FailureReason::kServerError);
  EXPECT_FALSE(verdict.retry_at);
  const FrontierStats stats = frontier_->stats().value();
  EXPECT_EQ(stats.retried, 3u);
  EXPECT_EQ(stats.failed, 1u);
  EXPECT_EQ(stats.completed, 1u);
  EXPECT_TRUE(frontier_->progress()->finished);
  EXPECT_EQ(offer_one(*frontier_, kUrl), Admission::kSeen);
}

TEST_P(ConformanceRetry, APermanentFailureEndsTheUrlAtOnce) {
  open_anew();
  static_cast<void>(offer_one(*frontier_, kUrl));
  const auto verdict = fail_one(FailureReason::kPermanent);
  EXPECT_FALSE(verdict.retry_at || verdict.host_blocked_until || verdict.host_parked);
  EXPECT_TRUE(frontier_->progress()->finished);
}

TEST_P(ConformanceRetry, RetryAfterIsTheLeastTimeForUrlAndHost) {
  open_anew();
  static_cast<void>(offer(*frontier_, {kUrl, "http://a.test/2"}));
  auto leases = lease(*frontier_, 1);
  const auto verdict = frontier_->fail(leases.front().id, FailureReason::kTooManyRequests, 90s);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->retry_at, clocks_.wall() + 90s);
  EXPECT_EQ(verdict->host_blocked_until, clocks_.wall() + 90s);
  EXPECT_EQ(host().state, HostState::kBlocked);
  EXPECT_EQ(frontier_->stats()->hosts_blocked, 1u);
  clocks_.advance(90s - 1ms);
  EXPECT_TRUE(due().empty());
  clocks_.advance(1ms);
  EXPECT_EQ(due().size(), 2u);
  EXPECT_EQ(host().state, HostState::kActive);
}

TEST_P(ConformanceRetry, N1_WhatWaitsAndTheHostsTroublesSurviveReopening) {
  options_.retry.host_backoff = 4s;
  open_anew();
  static_cast<void>(offer(*frontier_, {kUrl, "http://b.test/1"}));
  const auto leases = lease_all(*frontier_);
  const auto verdict = frontier_->fail(leases[0].id, FailureReason::kTimeout).value();
  ASSERT_TRUE(verdict.host_blocked_until);
  EXPECT_GE(*verdict.host_blocked_until - clocks_.wall(), 2s);
  EXPECT_LE(*verdict.host_blocked_until - clocks_.wall(), 4s);
  ASSERT_TRUE(
      frontier_->complete(leases[1].id, {.status = 200, .recrawl_at = clocks_.wall() + 15s}, {}));
  open_anew();
  EXPECT_EQ(frontier_->stats()->deferred, 2u);
  EXPECT_FALSE(frontier_->progress()->finished);
  EXPECT_EQ(host(leases[0].host).failures, 1u);
  EXPECT_EQ(host(leases[0].host).settings.blocked_until, verdict.host_blocked_until);
  EXPECT_TRUE(due().empty());
  clocks_.advance(10s);
  const Lease retry = lease_one();
  EXPECT_EQ(retry.url, leases[0].url);
  EXPECT_EQ(retry.attempts, 1u);
  EXPECT_FALSE(retry.recrawl);
  clocks_.advance(5s);
  const Lease recrawl = lease_one();
  EXPECT_EQ(recrawl.url, leases[1].url);
  EXPECT_TRUE(recrawl.recrawl);
  EXPECT_EQ(recrawl.attempts, 0u);
  complete(*frontier_, retry);
  complete(*frontier_, recrawl);
  const auto forgotten = frontier_->host(leases[0].host);
  ASSERT_FALSE(forgotten) << "an answer ends the row of failures";
  EXPECT_EQ(forgotten.error().code, ErrorCode::kNotFound);
}

TEST_P(ConformanceRetry, WhatIsOfferedForLaterComesInTheOrderOfItsTimeAndPriority) {
  open_anew();
  const SystemTime now = clocks_.wall();
  const std::vector<UrlRequest> requests = {
      {.url = "http://a.test/late", .not_before = now + 30s},
      {.url = "http://a.test/early", .not_before = now + 10s},
      {.url = "http://a.test/high", .priority = 1, .not_before = now + 20s},
      {.url = "http://a.test/now"},
  };
  const auto answers = frontier_->offer(requests).value();
  EXPECT_EQ(answers, std::vector(4, Admission::kNew));
  EXPECT_EQ(offer_one(*frontier_, "http://a.test/late"), Admission::kSeen);
  EXPECT_EQ(due(), std::vector<std::string>{"http://a.test/now"});
  EXPECT_EQ(frontier_->stats()->deferred, 3u);
  open_anew();
  clocks_.advance(30s);
  EXPECT_EQ(due(), (std::vector<std::string>{"http://a.test/high", "http://a.test/now",
                                             "http://a.test/early", "http://a.test/late"}));
}

TEST_P(ConformanceRetry, ARecrawlComesAgainAndAgain) {
  open_anew();
  static_cast<void>(offer_one(*frontier_, kUrl));
  for (int round = 0; round < 5; ++round) {
    const Lease lease = lease_one();
    EXPECT_EQ(lease.recrawl, round > 0);
    const auto links =
        frontier_->complete(lease.id, {.status = 200, .recrawl_at = clocks_.wall() + 60s}, {});
    ASSERT_TRUE(links);
    EXPECT_FALSE(frontier_->progress()->finished);
    EXPECT_FALSE(frontier_->progress()->exhausted);
    EXPECT_EQ(offer_one(*frontier_, kUrl), Admission::kSeen);
    clocks_.advance(59s);
    EXPECT_TRUE(due().empty());
    clocks_.advance(1s);
    if (round == 2) open_anew();
  }
  complete(*frontier_, lease_one());
  EXPECT_TRUE(frontier_->progress()->finished);
  const FrontierStats stats = frontier_->stats().value();
  EXPECT_EQ(stats.recrawls, 5u);
  EXPECT_EQ(stats.admitted, 1u);
  EXPECT_EQ(stats.completed, 6u);
}

TEST_P(ConformanceRetry, AnExpiredLeaseReturnsAndItsCompletionCountsOnce) {
  options_.limits.lease_timeout = 60s;
  open_anew();
  static_cast<void>(offer_one(*frontier_, kUrl));
  const Lease first = lease_one();
  clocks_.advance(30s);
  ASSERT_TRUE(frontier_->renew(first.id));
  clocks_.advance(59s);
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(frontier_->next_due(0).value(), clocks_.now() + 1s);
  clocks_.advance(1s);
  const Lease second = lease_one();
  EXPECT_NE(second.id, first.id);
  EXPECT_FALSE(frontier_->renew(first.id));
  const auto late = frontier_->fail(first.id, FailureReason::kTimeout).value();
  EXPECT_FALSE(late.retry_at || late.host_blocked_until) << "an expired lease cannot fail";
  const auto links = complete(*frontier_, first, {"http://b.test/new"});
  EXPECT_EQ(links, std::vector{Admission::kNew});
  EXPECT_EQ(frontier_->stats()->completed, 1u);
  // The other's end is one too many, but its links count.
  EXPECT_EQ(complete(*frontier_, second, {"http://b.test/newer"}), std::vector{Admission::kNew});
  EXPECT_EQ(complete(*frontier_, first), std::vector<Admission>{});
  const FrontierStats stats = frontier_->stats().value();
  EXPECT_EQ(stats.completed, 1u);
  EXPECT_EQ(stats.expired, 1u);
  EXPECT_EQ(stats.late, 1u);
  EXPECT_EQ(due(), (std::vector<std::string>{"http://b.test/new", "http://b.test/newer"}));
  EXPECT_FALSE(frontier_->complete(first.id + 1'000'000, {.status = 200}, {}));
}

TEST_P(ConformanceRetry, ALateCompletionOfAUrlThatWasDroppedChangesNothing) {
  options_.limits.lease_timeout = 60s;
  open_anew();
  static_cast<void>(offer(*frontier_, {kUrl, "http://a.test/2"}));
  const auto leases = lease(*frontier_, 1);
  clocks_.advance(60s);
  static_cast<void>(frontier_->lease({.max = 0, .shard = 0}).value());  // it expires
  EXPECT_EQ(frontier_->drop_host("a.test").value(), 2u);
  EXPECT_TRUE(frontier_->progress()->finished);
  static_cast<void>(complete(*frontier_, leases.front()));
  const FrontierStats stats = frontier_->stats().value();
  EXPECT_EQ(stats.completed, 0u);
  EXPECT_EQ(stats.dropped, 2u);
  EXPECT_TRUE(frontier_->progress()->finished);
  open_anew();
  EXPECT_TRUE(frontier_->progress()->finished);
}

TEST_P(ConformanceRetry, AHostThatFailsTooOftenIsGivenUpKeptAndRevived) {
  options_.retry.host_backoff = 1s;
  options_.retry.max_host_backoff = 8s;
  options_.retry.host_failures = 4;
  options_.retry.retry_delay = 0ms;
  options_.retry.retries = 100;
  open_anew();
  static_cast<void>(offer(*frontier_, {kUrl, "http://a.test/2"}));
  for (int failures = 1; failures <= 4; ++failures) {
    clocks_.advance(8s);
    const auto leases = lease(*frontier_, 1);
    ASSERT_EQ(leases.size(), 1u);
    const auto verdict = frontier_->fail(leases[0].id, FailureReason::kConnection).value();
    EXPECT_EQ(verdict.host_parked, failures == 4);
    const auto wait = *verdict.host_blocked_until - clocks_.wall();
    EXPECT_GE(wait, 500ms * (1 << (failures - 1)));
    EXPECT_LE(wait, 1s * (1 << (failures - 1)));
  }
  for (int round = 0; round < 2; ++round) {
    clocks_.advance(std::chrono::hours(24));
    EXPECT_TRUE(due().empty());
    EXPECT_EQ(host().state, HostState::kParked);
    EXPECT_EQ(host().queued, 2u);
    EXPECT_EQ(host().failures, 4u);
    EXPECT_FALSE(frontier_->progress()->finished);
    EXPECT_TRUE(frontier_->progress()->exhausted);
    EXPECT_EQ(frontier_->stats()->hosts_parked, 1u);
    open_anew();
  }
  ASSERT_TRUE(frontier_->set_host("a.test", {.blocked_until = HostSettings::kNotBlocked}));
  EXPECT_FALSE(frontier_->progress()->exhausted);
  EXPECT_EQ(due().size(), 2u);
  EXPECT_EQ(host().failures, 0u);
}

TEST_P(ConformanceRetry, AParkedHostIsNotCountedAsBlockedToo) {
  options_.retry.park_time = std::chrono::hours(1);
  open_anew();
  static_cast<void>(offer(*frontier_, {kUrl, "http://b.test/1", "http://c.test/1"}));
  ASSERT_TRUE(frontier_->set_host("a.test", {.blocked_until = HostSettings::kParked}));
  ASSERT_TRUE(frontier_->set_host("b.test", {.blocked_until = clocks_.wall() + 1h}));
  const FrontierStats stats = frontier_->stats().value();
  EXPECT_EQ(stats.hosts, 3u);
  EXPECT_EQ(stats.hosts_blocked, 1u);
  EXPECT_EQ(stats.hosts_parked, 1u);
}

TEST_P(ConformanceRetry, AHostWithoutUrlsCountsWithTheDelayThatHolds) {
  options_.politeness.delay = 200ms;
  open_anew();
  ASSERT_TRUE(frontier_->set_host("a.test", {.delay = 1s}));
  ASSERT_TRUE(frontier_->set_host("b.test", {.delay = 1ms}));
  EXPECT_EQ(frontier_->host_counts("a.test")->delay, 1s);
  EXPECT_EQ(frontier_->host_counts("b.test")->delay, 200ms);
  open_anew();
  EXPECT_EQ(frontier_->host_counts("a.test")->delay, 1s);
}

TEST_P(ConformanceRetry, DroppingAHostDeletesWhatWaitsAndKeepsWhatIsLeased) {
  open_anew();
  std::vector<std::string> urls;
  for (int i = 0; i < 10'000; ++i)
    urls.push_back(fmt::format("http://a.test/{}", i));
  urls.push_back("http://b.test/");
  static_cast<void>(offer(*frontier_, urls));
  const std::string later_url = "http://a.test/later";
  const std::vector<UrlRequest> later{{.url = later_url, .not_before = clocks_.wall() + 10s}};
  ASSERT_TRUE(frontier_->offer(later));
  std::vector<Lease> leases;
  for (Lease& lease : lease(*frontier_, 5)) {
    if (lease.host == "a.test") leases.push_back(std::move(lease));
  }
  ASSERT_FALSE(leases.empty());
  EXPECT_EQ(frontier_->drop_host("a.test").value(), 10'001 - leases.size());
  EXPECT_EQ(frontier_->stats()->dropped, 10'001 - leases.size());
  EXPECT_EQ(frontier_->stats()->deferred, 0u);
  ASSERT_TRUE(frontier_->release(leases.front().id));
  for (std::size_t i = 1; i < leases.size(); ++i)
    complete(*frontier_, leases[i]);
  open_anew();
  clocks_.advance(20s);
  EXPECT_EQ(offer_one(*frontier_, "http://a.test/9999"), Admission::kSeen);
  const auto left = lease_all(*frontier_);
  for (const Lease& lease : left) {
    EXPECT_TRUE(lease.url == leases.front().url || lease.host == "b.test") << lease.url;
    complete(*frontier_, lease);
  }
  EXPECT_TRUE(frontier_->progress()->finished);
}

TEST_P(ConformanceRetry, ASmallerDepthFoundLaterIsKept) {
  open_anew();
  const auto offer_at = [&](const char* url, std::uint32_t depth) {
    const std::vector<UrlRequest> requests{{.url = url, .depth = depth}};
    return frontier_->offer(requests).value().front();
  };
  EXPECT_EQ(offer_at("http://a.test/1", 9), Admission::kNew);
  EXPECT_EQ(offer_at("http://a.test/2", 9), Admission::kNew);
  EXPECT_EQ(offer_at("http://a.test/3", 2), Admission::kNew);
  EXPECT_EQ(offer_at("http://a.test/1", 5), Admission::kSeen);
  EXPECT_EQ(offer_at("http://a.test/1", 7), Admission::kSeen);
  EXPECT_EQ(offer_at("http://a.test/3", 4), Admission::kSeen);
  open_anew();
  EXPECT_EQ(offer_at("http://a.test/1", 6), Admission::kSeen);
  const auto leases = lease_all(*frontier_);
  ASSERT_EQ(leases.size(), 3u);
  EXPECT_EQ(leases[0].depth, 5u);
  EXPECT_EQ(leases[1].depth, 9u);
  EXPECT_EQ(leases[2].depth, 2u);
  // Found nearer still while it is fetched: a retry has that depth, after a restart too.
  EXPECT_EQ(offer_at("http://a.test/2", 1), Admission::kSeen);
  ASSERT_TRUE(frontier_->fail(leases[1].id, FailureReason::kServerError));
  for (const std::size_t i : {0, 2})
    complete(*frontier_, leases[i]);
  EXPECT_EQ(frontier_->stats()->depth_repairs, 2u);
  open_anew();
  clocks_.advance(10s);
  EXPECT_EQ(lease_one().depth, 1u);
}

TEST_P(ConformanceRetry, AHostsLimitKeepsTheRestOfItsQueue) {
  open_anew();
  static_cast<void>(offer(*frontier_, {kUrl, "http://a.test/2", "http://a.test/3"}));
  ASSERT_TRUE(frontier_->set_host("a.test", {.limit = 2}));
  const auto leases = lease_all(*frontier_);
  ASSERT_EQ(leases.size(), 2u) << "open leases count";
  ASSERT_TRUE(frontier_->release(leases[1].id));
  complete(*frontier_, leases[0]);
  complete(*frontier_, lease_one());
  open_anew();
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(host().state, HostState::kAtLimit);
  EXPECT_EQ(host().settings.limit, 0u);
  EXPECT_EQ(host().queued, 1u);
  EXPECT_TRUE(frontier_->progress()->exhausted);
  ASSERT_TRUE(frontier_->set_host("a.test", {.limit = HostSettings::kNoLimit}));
  EXPECT_EQ(due().size(), 1u);
}

TRAWL_CONFORMS(ConformanceRetry);

}  // namespace
}  // namespace trawl
