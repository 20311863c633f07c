// What is known of a URL, keys and queues of the caller's, and what is set of hosts.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontier/conformance/conformance.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;
using ::testing::UnorderedElementsAre;
using Kind = UrlState::Kind;

using ConformanceKeys = test::Conformance;

TEST_P(ConformanceKeys, LookupSaysWhatIsKnown) {
  auto with_ledger = options();
  with_ledger.seen.ledger = true;
  with_ledger.politeness.leases_per_host = 1;
  with_ledger.retry.retries = 1;
  const auto frontier = open(with_ledger);
  offer(*frontier, {"http://a.test/leased", "http://a.test/waits", "http://done.test/",
                    "http://failed.test/", "http://held.test/", "http://retried.test/"});
  for (const Lease& lease : lease_all(*frontier)) {
    if (lease.host == "done.test") {
      ASSERT_TRUE(frontier->complete(lease.id, {.status = 204}));
    } else if (lease.host == "failed.test") {
      ASSERT_TRUE(frontier->complete(lease.id, {.status = 404}));
    } else if (lease.host == "held.test") {
      ASSERT_TRUE(frontier->hold(lease.id, {.reason = "rule"}));
    } else if (lease.host == "retried.test") {
      ASSERT_TRUE(frontier->fail(lease.id, FailureReason::kServerError));
    }
  }
  const auto kind = [&](std::string_view url) { return frontier->lookup(url)->kind; };
  EXPECT_EQ(kind("http://a.test/leased"), Kind::kLeased);
  EXPECT_EQ(kind("http://A.test:80/waits"), Kind::kWaiting) << "by its canonical key";
  EXPECT_EQ(kind("http://retried.test/"), Kind::kDeferred);
  EXPECT_EQ(kind("http://never.test/"), Kind::kUnknown);
  EXPECT_EQ(kind("no URL"), Kind::kUnknown);
  const auto done = frontier->lookup("http://done.test/").value();
  if (GetParam().knows_outcomes) {
    EXPECT_EQ(done.kind, Kind::kDone);
    EXPECT_EQ(done.status, 204);
    EXPECT_TRUE(done.at);
    EXPECT_EQ(done.fetches, 1u);
  } else {
    EXPECT_EQ(done.kind, Kind::kSeen);
  }
  const auto failed = frontier->lookup("http://failed.test/").value();
  EXPECT_EQ(failed.kind, Kind::kFailed);
  EXPECT_EQ(failed.status, 404);
  EXPECT_EQ(failed.host, "failed.test");
  const auto held = frontier->lookup("http://held.test/").value();
  EXPECT_EQ(held.kind, Kind::kHeld);
  EXPECT_EQ(held.reason, "rule");
  const std::vector<UrlRequest> deep{
      {.url = "http://deep.test/", .depth = 7, .redirects = 2, .note = "how", .hold = {{"rule"}}}};
  ASSERT_TRUE(frontier->offer(deep));
  const auto found = frontier->lookup("http://deep.test/").value();
  EXPECT_EQ(found.depth, 7u);
  EXPECT_EQ(found.redirects, 2u);
  EXPECT_EQ(found.note, "how");
}

TEST_P(ConformanceKeys, KeysDecideInPlaceOfUrls) {
  const std::string url = "http://A.test:80/form#part";
  const std::string binary("\x00\xff key", 6);
  const auto request = [&](std::string_view key) { return UrlRequest{.url = url, .key = key}; };
  auto frontier = open();
  {
    EXPECT_EQ(offer_request(*frontier, {.url = url}), Admission::kNew);
    EXPECT_EQ(offer_request(*frontier, request("POST 1")), Admission::kNew);
    EXPECT_EQ(offer_request(*frontier, request(binary)), Admission::kNew);
    EXPECT_EQ(offer_request(*frontier, request("POST 1")), Admission::kSeen);
    EXPECT_EQ(offer_request(*frontier, request(url)), Admission::kNew) << "a key is not a URL";
    EXPECT_EQ(offer_request(*frontier, {.url = "ftp://files.test/x", .key = "ftp"}),
              Admission::kNew);
    EXPECT_EQ(offer_request(*frontier, {.url = "data:text/plain,x", .key = "data"}),
              Admission::kInvalid)
        << "neither host nor queue";
    EXPECT_EQ(offer_request(*frontier, {.url = "data:text/plain,x", .key = "data", .queue = "q"}),
              Admission::kNew);
    EXPECT_EQ(offer_request(*frontier, {.url = "", .key = "none", .queue = "q"}),
              Admission::kInvalid);
  }
  restart(frontier, options());
  EXPECT_EQ(offer_request(*frontier, request(binary)), Admission::kSeen) << "over a restart";
  EXPECT_EQ(frontier->lookup("POST 1")->kind, Kind::kWaiting);
  std::vector<std::string> hosts;
  int as_given = 0;
  for (const Lease& lease : lease_all(*frontier)) {
    hosts.push_back(lease.host);
    as_given += lease.url == url ? 1 : 0;
    if (lease.host == "a.test")
      ASSERT_TRUE(frontier->fail(lease.id, FailureReason::kPermanent));
    else
      complete(*frontier, lease);
  }
  EXPECT_EQ(as_given, 3) << "with a key it is kept as it was given";
  EXPECT_THAT(hosts,
              UnorderedElementsAre("a.test", "a.test", "a.test", "a.test", "files.test", "q"));
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->stats()->set_aside_failed, 4u) << "each by its own key";
  EXPECT_EQ(frontier->lookup("POST 1")->kind, Kind::kFailed);
  EXPECT_EQ(frontier->retry({.key = "POST 1"}).value(), 1u);
  const auto again = lease_all(*frontier);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].url, url);
  complete(*frontier, again[0]);
  EXPECT_EQ(offer_request(*frontier, request("POST 1")), Admission::kSeen);
}

// They are read back from the store with their keys, also by exact answers and for depths.
TEST_P(ConformanceKeys, KeysAreKeptOverRetriesRecrawlsAndHolding) {
  for (const FilterMode mode : {FilterMode::kBloom, FilterMode::kExact}) {
    auto kept = options();
    kept.directory = directory_.path() / (mode == FilterMode::kExact ? "exact" : "bloom");
    kept.seen.mode = mode;
    kept.retry = {.retries = 5, .retry_delay = 0ms, .host_backoff = 0ms};
    const UrlRequest request{.url = "http://a.test/", .depth = 3, .key = "k", .queue = "mine"};
    auto frontier = open(kept);
    {
      EXPECT_EQ(offer_request(*frontier, request), Admission::kNew);
      UrlRequest nearer = request;
      nearer.depth = 1;
      EXPECT_EQ(offer_request(*frontier, nearer), Admission::kSeen);
      ASSERT_TRUE(frontier->fail(lease_all(*frontier).at(0).id, FailureReason::kServerError));
      ASSERT_TRUE(frontier->flush());
    }
    restart(frontier, kept);
    auto lease = frontier->lease({.wait = 20s}).value().at(0);
    EXPECT_EQ(lease.host, "mine");
    EXPECT_EQ(lease.depth, 1u);
    EXPECT_EQ(lease.attempts, 1u);
    const auto soon = std::chrono::system_clock::now();
    ASSERT_TRUE(frontier->complete(lease.id, {.status = 200, .recrawl_at = soon}));
    ASSERT_TRUE(frontier->flush());
    lease = frontier->lease({.wait = 20s}).value().at(0);
    EXPECT_EQ(lease.host, "mine");
    EXPECT_TRUE(lease.recrawl);
    ASSERT_TRUE(frontier->hold(lease.id, {.reason = "rule"}));
    EXPECT_EQ(offer_request(*frontier, request), Admission::kSeen);
    EXPECT_EQ(frontier->lookup("k")->kind, Kind::kHeld);
    EXPECT_EQ(frontier->retry({.reason = "rule"}).value(), 1u);
    EXPECT_EQ(frontier->lookup("k")->kind, Kind::kWaiting);
    EXPECT_EQ(frontier->drop_host("mine").value(), 1u);
    EXPECT_EQ(offer_request(*frontier, request), Admission::kSeen);
    // A link that was held before it was admitted.
    EXPECT_EQ(offer_request(*frontier, {.url = "http://a.test/",
                                        .hold = HoldReason{.reason = "later"},
                                        .key = "held",
                                        .queue = "mine"}),
              Admission::kHeld);
    EXPECT_EQ(frontier->retry({.key = "held"}).value(), 1u);
    EXPECT_EQ(lease_all(*frontier).at(0).host, "mine");
    EXPECT_EQ(offer_request(*frontier, {.url = "http://a.test/", .key = "held", .queue = "mine"}),
              Admission::kSeen);
    EXPECT_EQ(offer_request(*frontier, {.url = "http://a.test/"}), Admission::kNew);
  }
}

TEST_P(ConformanceKeys, QueuesHaveDelaysOfTheirOwnAndNoneOfDomainsAndAddresses) {
  auto polite = options();
  polite.testing.clock = [] { return SteadyTime(std::chrono::hours(1)); };
  polite.politeness.domain_delay = 10s;
  polite.politeness.ip_delay = 10s;
  polite.politeness.leases_per_host = 1;
  const auto frontier = open(polite);
  for (const char* const queue : {"one", "two", "Three/3"}) {
    for (const char* const page : {"1", "2"}) {
      const std::string url = std::string("http://www.a.test/") + queue + page;
      EXPECT_EQ(offer_request(*frontier, {.url = url, .queue = queue}), Admission::kNew);
    }
  }
  offer(*frontier, {"http://a.test/", "http://b.a.test/"});
  std::vector<std::string> hosts;
  for (const Lease& lease : lease_all(*frontier)) {
    hosts.push_back(lease.host);
    EXPECT_EQ(frontier->start(lease.id, "192.0.2.1")->when, StartTurn::When::kNow) << lease.host;
  }
  EXPECT_EQ(hosts.size(), 4u) << "each queue's, and one of the domain's hosts";
  EXPECT_THAT(hosts, ::testing::IsSupersetOf({"one", "two", "Three/3"}));
  ASSERT_TRUE(frontier->set_host("Three/3", {.delay = 5s, .leases = 2, .limit = 1}));
  const HostInfo info = frontier->host("Three/3").value();
  EXPECT_EQ(info.queued, 2u);
  EXPECT_EQ(info.settings.delay, 5s);
  EXPECT_EQ(frontier->set_host("Not.Known", {.delay = 5s}).error().code,
            ErrorCode::kInvalidArgument);
  const std::string too_long(kMaxQueueBytes + 1, 'q');
  EXPECT_EQ(offer_request(*frontier, {.url = "http://c.test/", .queue = too_long}),
            Admission::kInvalid);
}

TEST_P(ConformanceKeys, SettingsThatAreNotGivenStay) {
  const auto frontier = open();
  offer(*frontier, {"http://a.test/"});
  ASSERT_TRUE(frontier->set_host("a.test", {.delay = 5s, .limit = 7}));
  ASSERT_TRUE(frontier->set_host("a.test", {.blocked_until = HostSettings::kParked}));
  HostInfo info = frontier->host("a.test").value();
  EXPECT_EQ(info.state, HostState::kParked);
  EXPECT_EQ(info.settings.delay, 5s);
  EXPECT_EQ(info.settings.limit, 7u);
  EXPECT_TRUE(frontier->progress()->exhausted);
  ASSERT_TRUE(frontier->set_host(
      "a.test",
      {.delay = 0ms, .limit = HostSettings::kNoLimit, .blocked_until = HostSettings::kNotBlocked}));
  info = frontier->host("a.test").value();
  EXPECT_EQ(info.state, HostState::kActive);
  EXPECT_FALSE(info.settings.delay);
  EXPECT_FALSE(info.settings.limit);
  EXPECT_EQ(lease_all(*frontier).size(), 1u);
}

TRAWL_CONFORMS(ConformanceKeys);

}  // namespace
}  // namespace trawl
