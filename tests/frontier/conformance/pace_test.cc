// P1: requests to a host, a domain and an address are their delay apart.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontier/conformance/conformance.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using When = StartTurn::When;

class ConformancePace : public test::Conformance {
 protected:
  ConformancePace() {
    options_ = timed_options();
    options_.politeness.delay = 1s;
  }
  void open_anew() {
    frontier_ = open(options_);
    clocks_.advance(1min);
  }
  std::vector<std::string> due() { return urls_of(lease_all(*frontier_)); }
  void end(const Lease& lease, const Outcome& outcome) {
    ASSERT_TRUE(frontier_->complete(lease.id, outcome));
    ASSERT_TRUE(frontier_->flush());
  }

  EmbeddedOptions options_;
  std::unique_ptr<Frontier> frontier_;
};

TEST_P(ConformancePace, P1_HandOutsOfAHostAreItsDelayApart) {
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3", "http://b.test/1"});
  EXPECT_THAT(due(), UnorderedElementsAre("http://a.test/1", "http://b.test/1"));
  clocks_.advance(999ms);
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(frontier_->next_due()->value(), clocks_.now() + 1ms);
  clocks_.advance(1ms);
  EXPECT_THAT(due(), ElementsAre("http://a.test/2"));
  ASSERT_TRUE(frontier_->set_host("a.test", {.delay = 5s}));
  clocks_.advance(1s);
  EXPECT_THAT(due(), IsEmpty()) << "the longer one holds";
  clocks_.advance(4s);
  EXPECT_THAT(due(), ElementsAre("http://a.test/3"));
}

TEST_P(ConformancePace, P1_AnExactDelayReplacesThatOfAllHosts) {
  options_.politeness.adaptive_delay = 2;
  open_anew();
  ASSERT_TRUE(frontier_->set_host("a.test", {.delay = 100ms, .exact_delay = true}));
  offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4"});
  end(lease_one(*frontier_), {.status = 200, .response_time = 10s});
  clocks_.advance(99ms);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(1ms);
  EXPECT_THAT(due(), ElementsAre("http://a.test/2"));
  EXPECT_EQ(frontier_->host("a.test")->settings.exact_delay, true);
  ASSERT_TRUE(frontier_->set_host("a.test", {.exact_delay = false}));
  clocks_.advance(900ms);
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(frontier_->host("a.test")->settings.exact_delay, std::nullopt);
}

TEST_P(ConformancePace, AnExactDelayOfZeroIsNone) {
  options_.politeness.leases_per_host = 3;
  open_anew();
  ASSERT_TRUE(frontier_->set_host("a.test", {.delay = 0ms, .exact_delay = true}));
  offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3"});
  EXPECT_EQ(due().size(), 3u);
}

TEST_P(ConformancePace, P1_TheDelayCountsFromTheRealStart) {
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3"});
  Lease lease = lease_one(*frontier_);
  clocks_.advance(2s);
  // It is the next one's hand-out that moves.
  end(lease, {.status = 200, .started_after = 1500ms});
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(500ms);
  lease = lease_one(*frontier_);
  // No request after all: the host need not wait for it.
  end(lease, {.requested = false});
  clocks_.advance(1ms);
  EXPECT_THAT(due(), ElementsAre("http://a.test/3"));
}

TEST_P(ConformancePace, HigherPrioritiesOfAHostComeFirst) {
  options_.politeness.delay = 0ms;
  open_anew();
  const std::vector<UrlRequest> requests = {{.url = "http://a.test/low", .priority = -1},
                                            {.url = "http://a.test/first"},
                                            {.url = "http://a.test/high", .priority = 7},
                                            {.url = "http://a.test/second"}};
  ASSERT_TRUE(frontier_->offer(requests));
  EXPECT_THAT(due(), ElementsAre("http://a.test/high", "http://a.test/first",
                                 "http://a.test/second", "http://a.test/low"));
}

TEST_P(ConformancePace, AHostHasSoManyLeasesAndNoMore) {
  options_.politeness.delay = 0ms;
  options_.politeness.leases_per_host = 2;
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4",
                     "http://b.test/1"});
  const auto leases = lease_all(*frontier_);
  EXPECT_THAT(urls_of(leases),
              UnorderedElementsAre("http://a.test/1", "http://a.test/2", "http://b.test/1"));
  EXPECT_THAT(due(), IsEmpty());
  ASSERT_TRUE(frontier_->set_host("a.test", {.leases = 3}));
  EXPECT_THAT(due(), ElementsAre("http://a.test/3"));
  complete(*frontier_, leases[0]);
  complete(*frontier_, leases[1]);
  complete(*frontier_, leases[2]);
  ASSERT_TRUE(frontier_->flush());
  ASSERT_TRUE(frontier_->set_host("a.test", {.leases = 1}));
  EXPECT_THAT(due(), IsEmpty()) << "one is open";
  EXPECT_EQ(frontier_->host("a.test")->leased, 1u);
}

TEST_P(ConformancePace, AFetchedLeaseMakesRoomForTheNextOfItsHost) {
  options_.politeness.delay = 0ms;
  options_.politeness.leases_per_host = 1;
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3"});
  const Lease first = lease_one(*frontier_);
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(frontier_->next_due(0).value(), std::nullopt);
  ASSERT_TRUE(frontier_->fetched(first.id));
  EXPECT_LE(frontier_->next_due(0).value(), clocks_.now());
  const Lease second = lease_one(*frontier_);
  EXPECT_EQ(second.url, "http://a.test/2");
  ASSERT_TRUE(frontier_->fetched(first.id));
  EXPECT_THAT(due(), IsEmpty()) << "twice is as once";
  EXPECT_EQ(frontier_->host("a.test")->leased, 2u);
  EXPECT_EQ(frontier_->lookup(first.url)->kind, UrlState::Kind::kLeased);
  ASSERT_TRUE(frontier_->renew(first.id));

  EXPECT_EQ(complete(*frontier_, first, {"http://b.test/", "http://a.test/2"}),
            (std::vector{Admission::kNew, Admission::kSeen}));
  ASSERT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->fetched(first.id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(frontier_->fetched(123'456).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(due(), ElementsAre("http://b.test/")) << "the second one is being requested";
  complete(*frontier_, second);
  EXPECT_THAT(due(), ElementsAre("http://a.test/3"));
}

TEST_P(ConformancePace, FetchedLeasesEndInAnyWayAndLeaveNoPlaceBehind) {
  options_.politeness.delay = 0ms;
  options_.politeness.leases_per_host = 1;
  options_.limits.lease_timeout = 60s;
  options_.retry.host_backoff = 0ms;
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4",
                     "http://a.test/5", "http://a.test/6"});
  const auto fetch = [&](const char* url) {
    const Lease lease = lease_one(*frontier_);
    EXPECT_EQ(lease.url, url);
    EXPECT_TRUE(frontier_->fetched(lease.id));
    return lease;
  };
  const Lease released = fetch("http://a.test/1");
  const Lease failed = fetch("http://a.test/2");
  ASSERT_TRUE(frontier_->fail(failed.id, FailureReason::kServerError));
  const Lease held = fetch("http://a.test/3");
  ASSERT_TRUE(frontier_->hold(held.id, {.reason = "robots"}));
  const Lease last = fetch("http://a.test/4");
  ASSERT_TRUE(frontier_->complete(last.id, {.status = 200, .end_later = true}));
  EXPECT_EQ(frontier_->fetched(last.id).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(frontier_->complete(last.id, {}));
  const Lease next = lease_one(*frontier_);
  EXPECT_EQ(next.url, "http://a.test/5");
  ASSERT_TRUE(frontier_->release(released.id));
  EXPECT_THAT(due(), IsEmpty()) << "one is requested, as before any of this";
  complete(*frontier_, next);

  // One that expires, and then is completed.
  const Lease expires = fetch("http://a.test/1");
  EXPECT_EQ(frontier_->host("a.test")->leased, 1u);
  clocks_.advance(60s);
  const Lease again = lease_one(*frontier_);
  EXPECT_EQ(again.url, "http://a.test/1");
  EXPECT_EQ(frontier_->fetched(expires.id).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(due(), IsEmpty());
  ASSERT_TRUE(frontier_->fetched(again.id));
  complete(*frontier_, expires);
  const Lease beside = lease_one(*frontier_);
  complete(*frontier_, again);
  EXPECT_THAT(due(), IsEmpty()) << beside.url << " is being requested";
  EXPECT_EQ(frontier_->host("a.test")->leased, 1u);
}

TEST_P(ConformancePace, P1_AFetchedLeaseKeepsTheDelayAndTheLimitOfItsHost) {
  options_.politeness.leases_per_host = 1;
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3"});
  const Lease first = lease_one(*frontier_);
  ASSERT_TRUE(first.paced);
  ASSERT_TRUE(frontier_->fetched(first.id));
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(options_.politeness.delay - 1ms);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(1ms);
  EXPECT_THAT(due(), ElementsAre("http://a.test/2"));

  // No more URLs are open than may be completed.
  offer(*frontier_, {"http://b.test/1", "http://b.test/2"});
  ASSERT_TRUE(frontier_->set_host("b.test", {.limit = 1}));
  const Lease only = lease_one(*frontier_);
  EXPECT_EQ(only.host, "b.test");
  ASSERT_TRUE(frontier_->fetched(only.id));
  clocks_.advance(60s);
  EXPECT_THAT(due(), IsEmpty());
  complete(*frontier_, only);
  EXPECT_EQ(frontier_->host("b.test")->state, HostState::kAtLimit);
}

// Those beyond keep counting, until others end.
TEST_P(ConformancePace, SoManyFetchedLeasesOfAHostDoNotCount) {
  options_.politeness.delay = 0ms;
  options_.politeness.leases_per_host = 1;
  open_anew();
  for (std::uint32_t i = 0; i < kMaxFetchedLeases + 3; ++i)
    offer_one(*frontier_, "http://a.test/" + std::to_string(i));
  std::vector<Lease> leases;
  for (std::uint32_t i = 0; i <= kMaxFetchedLeases; ++i) {
    leases.push_back(lease_one(*frontier_));
    ASSERT_TRUE(frontier_->fetched(leases.back().id));
  }
  EXPECT_THAT(due(), IsEmpty());
  complete(*frontier_, leases.front());
  EXPECT_THAT(due(), IsEmpty());
  ASSERT_TRUE(frontier_->fetched(leases.back().id));
  // Their requests set the pace all the same.
  const Lease last = lease_one(*frontier_);
  ASSERT_TRUE(frontier_->set_host("a.test", {.delay = 1s, .leases = 2}));
  clocks_.advance(400ms);
  ASSERT_TRUE(frontier_->fetched(last.id, 400ms));
  clocks_.advance(999ms);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(1ms);
  EXPECT_EQ(due().size(), 1u);
}

// The host has a delay only after the lease, whose request began late.
TEST_P(ConformancePace, P1_TheDelayCountsFromTheRealStartOfAFetchedLease) {
  options_.politeness.delay = 0ms;
  options_.politeness.leases_per_host = 1;
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3"});
  const auto fetch_late = [&](const Lease& lease) {
    clocks_.advance(400ms);
    ASSERT_TRUE(frontier_->fetched(lease.id, 400ms));
    EXPECT_THAT(due(), IsEmpty());
    EXPECT_EQ(frontier_->next_due()->value(), clocks_.now() + 1s);
  };
  const Lease first = lease_one(*frontier_);
  EXPECT_FALSE(first.paced);
  ASSERT_TRUE(frontier_->set_host("a.test", {.delay = 1s}));
  fetch_late(first);
  complete(*frontier_, first);
  clocks_.advance(999ms);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(1ms);
  const Lease second = lease_one(*frontier_);
  EXPECT_EQ(second.url, "http://a.test/2");

  // It was made, even if the lease is released.
  fetch_late(second);
  ASSERT_TRUE(frontier_->release(second.id));
  clocks_.advance(999ms);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(1ms);
  EXPECT_THAT(due(), ElementsAre("http://a.test/2"));
}

TEST_P(ConformancePace, P1_HostsOfADomainShareItsDelay) {
  options_.politeness.delay = 0ms;
  options_.politeness.domain_delay = 1s;
  open_anew();
  offer(*frontier_, {"http://a.one.example/", "http://b.one.example/", "http://c.two.example/"});
  const auto first = due();
  EXPECT_EQ(first.size(), 2u);
  EXPECT_THAT(first, ::testing::Contains("http://c.two.example/"));
  clocks_.advance(999ms);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(1ms);
  EXPECT_EQ(due().size(), 1u);
}

TEST_P(ConformancePace, P1_ADomainsDelayCountsFromTheRealStartOfAFetchedLease) {
  options_.politeness.delay = 0ms;
  options_.politeness.domain_delay = 1s;
  open_anew();
  offer(*frontier_, {"http://a.one.example/", "http://b.one.example/", "http://c.one.example/"});
  for (const auto started_after : {400ms, 0ms}) {
    for (const bool released : {true, false}) {
      const Lease lease = lease_one(*frontier_);
      clocks_.advance(400ms);
      ASSERT_TRUE(frontier_->fetched(lease.id, started_after));
      ASSERT_TRUE(frontier_->fetched(lease.id, 800ms)) << "the second call has no effect";
      if (released) {
        ASSERT_TRUE(frontier_->release(lease.id));
      } else {
        end(lease, {.status = 200});
      }
      clocks_.advance(599ms + started_after);
      EXPECT_THAT(due(), IsEmpty());
      clocks_.advance(1ms);
    }
  }
  EXPECT_EQ(due().size(), 1u);
}

// It may have gone to an address that is learnt later.
TEST_P(ConformancePace, P1_AnAddressesDelayCountsFromTheRealStartOfAFetchedLease) {
  options_.politeness.delay = 0ms;
  options_.politeness.ip_delay = 1s;
  open_anew();
  for (const std::string address : {"192.0.2.1", "192.0.2.2"}) {
    const bool known = address.ends_with('1');
    const std::string host = known ? "a.test" : "c.test";
    const std::string other = known ? "b.test" : "d.test";
    offer_one(*frontier_, "http://" + host);
    if (known) {
      ASSERT_TRUE(frontier_->set_host(host, {.address = address}));
    }
    const Lease lease = lease_one(*frontier_);
    clocks_.advance(400ms);
    ASSERT_TRUE(frontier_->fetched(lease.id, 400ms));
    for (const std::string& at : {host, other})
      ASSERT_TRUE(frontier_->set_host(at, {.address = address}));
    offer_one(*frontier_, "http://" + other);
    clocks_.advance(999ms);
    EXPECT_THAT(due(), IsEmpty());
    end(lease, {.status = 200});
    EXPECT_THAT(due(), IsEmpty());
    clocks_.advance(1ms);
    EXPECT_THAT(due(), ElementsAre("http://" + other + "/"));
  }
}

TEST_P(ConformancePace, P1_HostsAtAnAddressShareItsDelay) {
  options_.politeness.delay = 0ms;
  options_.politeness.ip_delay = 1s;
  open_anew();
  offer(*frontier_, {"http://a.test/", "http://b.test/", "http://c.test/"});
  for (const char* const host : {"a.test", "b.test"})
    ASSERT_TRUE(frontier_->set_host(host, {.address = "192.0.2.1"}));
  const auto first = due();
  EXPECT_EQ(first.size(), 2u) << "of c.test no address is known";
  clocks_.advance(999ms);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(1ms);
  EXPECT_EQ(due().size(), 1u);
}

TEST_P(ConformancePace, P1_AHostsDelayGrowsWithItsResponseTime) {
  options_.politeness.delay = 100ms;
  options_.politeness.adaptive_delay = 10;
  options_.politeness.max_adaptive_delay = 4s;
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2", "http://a.test/3"});
  end(lease_one(*frontier_), {.status = 200, .response_time = 200ms});
  clocks_.advance(1999ms);
  EXPECT_THAT(due(), IsEmpty());
  clocks_.advance(1ms);
  end(lease_one(*frontier_), {.status = 200, .response_time = 60s});
  clocks_.advance(3999ms);
  EXPECT_THAT(due(), IsEmpty()) << "as long as max_adaptive_delay";
  clocks_.advance(1ms);
  EXPECT_EQ(due().size(), 1u);
}

TEST_P(ConformancePace, P1_StartHoldsBackWhoComesTooSoonAndSentSaysWhenItWas) {
  options_.politeness.delay = 0ms;
  options_.politeness.ip_delay = 1s;
  open_anew();
  offer(*frontier_, {"http://a.test/", "http://b.test/", "http://c.test/"});
  const auto leases = lease_all(*frontier_);
  ASSERT_EQ(leases.size(), 3u);
  EXPECT_TRUE(leases[0].paced);
  const StartTurn first = frontier_->start(leases[0].id, "192.0.2.1").value();
  EXPECT_EQ(first.when, When::kNow);
  EXPECT_EQ(frontier_->start(leases[1].id, "192.0.2.2")->when, When::kNow) << "another address";
  const StartTurn second = frontier_->start(leases[2].id, "192.0.2.1").value();
  EXPECT_EQ(second.when, When::kLater);
  EXPECT_GE(second.at, clocks_.now() + 1s);
  // It is sent somewhat later than its turn.
  clocks_.advance(400ms);
  ASSERT_TRUE(frontier_->sent(first, clocks_.now()));
  ASSERT_TRUE(frontier_->release(leases[2].id, clocks_.now() + 600ms, std::nullopt));
  clocks_.advance(600ms);
  for (const Lease& lease : lease_all(*frontier_)) {
    const StartTurn again = frontier_->start(lease.id, "192.0.2.1").value();
    EXPECT_NE(again.when, When::kNow) << "600 ms after the first";
    ASSERT_TRUE(frontier_->release(lease.id, clocks_.now() + 400ms, std::nullopt));
  }
  clocks_.advance(400ms);
  const Lease last = lease_one(*frontier_);
  EXPECT_EQ(last.url, leases[2].url);
  EXPECT_EQ(frontier_->start(last.id, "192.0.2.1")->when, When::kNow);
  EXPECT_EQ(frontier_->start(last.id + 1'000'000, {}).error().code, ErrorCode::kNotFound);
}

// Until the request before was sent, or the time for that has passed.
TEST_P(ConformancePace, P1_StartWaitsForTheRequestBeforeToBeSent) {
  options_.politeness.leases_per_host = 2;
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2"});
  const Lease first = lease_one(*frontier_);
  const StartTurn turn = frontier_->start(first.id, {}).value();
  ASSERT_EQ(turn.when, When::kNow);
  clocks_.advance(1s);
  const Lease second = lease_one(*frontier_);
  const StartTurn held = frontier_->start(second.id, {}).value();
  EXPECT_EQ(held.when, When::kSoon) << "the first is about to be sent";
  EXPECT_GT(held.at, clocks_.now());
  ASSERT_TRUE(frontier_->sent(turn, std::nullopt));
  EXPECT_EQ(frontier_->start(second.id, {})->when, When::kNow) << "it counts as begun";
}

TEST_P(ConformancePace, P1_RequestsOnBehalfOfOthersHaveTurnsOfTheirOwn) {
  options_.politeness.leases_per_host = 2;
  open_anew();
  offer(*frontier_, {"http://a.test/1", "http://a.test/2"});
  const Lease lease = lease_one(*frontier_);
  const StartTurn own = frontier_->start(lease.id, {}).value();
  ASSERT_EQ(own.when, When::kNow);
  ASSERT_TRUE(frontier_->sent(own, clocks_.now()));
  const StartTurn one = frontier_->start_elsewhere("a.test", {}).value();
  const StartTurn other = frontier_->start_elsewhere("a.test", {}).value();
  EXPECT_EQ(one.when, When::kLater);
  EXPECT_EQ(one.at, clocks_.now() + 1s);
  EXPECT_GE(other.at, one.at + 2s) << "the host's own URLs have a turn in between";
  clocks_.advance(1s);
  EXPECT_THAT(due(), IsEmpty()) << "it is the other's turn";
  const StartTurn now = frontier_->start_elsewhere("a.test", {}).value();
  EXPECT_EQ(now.when, When::kNow);
  ASSERT_TRUE(frontier_->sent(now, clocks_.now()));
  clocks_.advance(1s);
  EXPECT_EQ(due().size(), 1u);
  EXPECT_EQ(frontier_->start_elsewhere("NOT.A.HOST", {}).error().code, ErrorCode::kInvalidArgument);
}

TRAWL_CONFORMS(ConformancePace);

}  // namespace
}  // namespace trawl
