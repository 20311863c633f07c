// Counts of hosts in memory, and settings that change while a frontier is open.
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

class ConformanceCounts : public test::Conformance {
 protected:
  ConformanceCounts() {
    options_ = timed_options();
    options_.politeness.delay = 2s;
  }
  void offer_urls(Frontier& frontier, const std::string& host, int n) {
    for (int i = 0; i < n; ++i)
      offer_one(frontier, fmt::format("http://{}/{}", host, i));
  }
  static std::vector<std::string> busiest(Frontier& frontier, std::size_t limit) {
    std::vector<std::string> rows;
    const auto hosts = frontier.busiest_hosts(HostOrder::kQueued, limit).value();
    for (const HostCounts& host : hosts)
      rows.push_back(
          fmt::format("{} {}{}", host.host, host.queued, host.is_exact ? "" : " at least"));
    return rows;
  }

  EmbeddedOptions options_;
};

TEST_P(ConformanceCounts, TheBusiestHostsComeFirst) {
  auto frontier = open(options_);
  EXPECT_THAT(busiest(*frontier, 10), IsEmpty());
  offer_urls(*frontier, "few.test", 2);
  offer_urls(*frontier, "many.test", 40);
  offer_urls(*frontier, "some.test", 7);
  ASSERT_TRUE(frontier->flush());
  EXPECT_THAT(busiest(*frontier, 10), ElementsAre("many.test 40", "some.test 7", "few.test 2"));
  EXPECT_THAT(busiest(*frontier, 1), ElementsAre("many.test 40"));
  EXPECT_THAT(busiest(*frontier, 0), IsEmpty());
  const HostCounts host = frontier->host_counts("some.test").value();
  EXPECT_EQ(host.queued, 7u);
  EXPECT_EQ(host.delay, 2000ms);
  EXPECT_TRUE(host.next_start);
  EXPECT_EQ(frontier->host_counts("none.test").error().code, ErrorCode::kNotFound);
}

TEST_P(ConformanceCounts, HostsAndTheirNextTurnAreCounted) {
  auto frontier = open(options_);
  const auto stats = [&] {
    EXPECT_TRUE(frontier->flush());
    return frontier->stats().value();
  };
  EXPECT_FALSE(stats().next_turn);
  offer_urls(*frontier, "a.test", 2);
  offer_urls(*frontier, "b.test", 2);
  offer_urls(*frontier, "done.test", 1);
  EXPECT_EQ(stats().hosts_waiting, 3u);
  EXPECT_EQ(stats().hosts_leased, 0u);
  ASSERT_TRUE(stats().next_turn);
  EXPECT_LE(*stats().next_turn, clocks_.now());
  const auto leases = lease(*frontier, 10);
  ASSERT_EQ(leases.size(), 3u);
  EXPECT_EQ(stats().hosts_leased, 3u);
  EXPECT_EQ(stats().hosts_waiting, 0u);
  clocks_.advance(500ms);
  for (const Lease& lease : leases)
    ASSERT_TRUE(frontier->complete(lease.id, {.status = 200}));
  // Not by the host without URLs, which may stay in memory until the same time.
  ASSERT_TRUE(frontier->set_host("a.test", {.delay = 60s}));
  EXPECT_EQ(stats().hosts_waiting, 2u);
  ASSERT_TRUE(stats().next_turn);
  EXPECT_GT(*stats().next_turn, clocks_.now());
  EXPECT_LE(*stats().next_turn, clocks_.now() + 2s);
  // A parked host has no turn, nor has one without URLs.
  ASSERT_TRUE(frontier->set_host("b.test", {.blocked_until = HostSettings::kParked}));
  EXPECT_EQ(stats().hosts_waiting, 1u);
  ASSERT_TRUE(stats().next_turn);
  EXPECT_GT(*stats().next_turn, clocks_.now() + 50s);
}

// Whatever happens to URLs, the counts are those that reading the queues gives.
TEST_P(ConformanceCounts, TheyFollowLeasesRetriesHoldsDropsAndRestarts) {
  options_.politeness.delay = 0ms;
  options_.politeness.leases_per_host = 100;
  auto frontier = open(options_);
  const auto check = [&] {
    ASSERT_TRUE(frontier->flush());
    const std::vector<HostInfo> hosts = frontier->hosts({}, 100).value();
    for (const HostInfo& host : hosts) {
      const auto counts = frontier->host_counts(host.host);
      ASSERT_TRUE(counts) << host.host;
      EXPECT_EQ(counts->queued, host.queued) << host.host;
      EXPECT_TRUE(counts->is_exact);
      EXPECT_EQ(counts->leased, host.leased) << host.host;
    }
  };
  offer_urls(*frontier, "a.test", 60);
  offer_urls(*frontier, "b.test", 3);
  check();
  const auto leases = lease(*frontier, 12);
  ASSERT_EQ(leases.size(), 12u);
  check();
  ASSERT_TRUE(frontier->complete(leases[0].id, {.status = 200}));
  ASSERT_TRUE(frontier->fail(leases[1].id, FailureReason::kServerError));
  ASSERT_TRUE(frontier->hold(leases[2].id, {.reason = "rule"}));
  ASSERT_TRUE(frontier->release(leases[3].id));
  check();
  EXPECT_EQ(frontier->retry({.state = SetAsideState::kHeld}).value(), 1u);
  check();
  restart(frontier, options_);
  check();
  ASSERT_TRUE(frontier->drop_host("a.test"));
  check();
  const std::uint64_t left = frontier->host("b.test").value().queued;
  EXPECT_THAT(busiest(*frontier, 10), ElementsAre("b.test " + std::to_string(left)));
}

TEST_P(ConformanceCounts, ANewDelayHoldsFromTheNextRequestOn) {
  options_.politeness.delay = 100s;
  auto frontier = open(options_);
  offer_urls(*frontier, "a.test", 4);
  ASSERT_TRUE(frontier->complete(lease_one(*frontier).id, {.status = 200}));
  clocks_.advance(5s);
  EXPECT_THAT(lease_all(*frontier), IsEmpty());
  PolitenessOptions politeness = options_.politeness;
  politeness.delay = 5s;
  ASSERT_TRUE(frontier->set_politeness(politeness, options_.retry));
  EXPECT_EQ(frontier->host_counts("a.test")->delay, 5000ms);
  ASSERT_TRUE(frontier->complete(lease_one(*frontier).id, {.status = 200}));
  politeness.delay = 20s;
  ASSERT_TRUE(frontier->set_politeness(politeness, options_.retry));
  clocks_.advance(19s);
  EXPECT_THAT(lease_all(*frontier), IsEmpty());
  clocks_.advance(1s);
  EXPECT_EQ(lease_all(*frontier).size(), 1u);
}

TEST_P(ConformanceCounts, InvalidSettingsChangeNothing) {
  auto frontier = open(options_);
  PolitenessOptions politeness = options_.politeness;
  politeness.leases_per_host = 0;
  EXPECT_EQ(frontier->set_politeness(politeness, options_.retry).error().code,
            ErrorCode::kInvalidArgument);
  politeness = options_.politeness;
  politeness.delay = 1ms;
  politeness.ip_delay = 1s;
  EXPECT_EQ(frontier->set_politeness(politeness, options_.retry).error().code,
            ErrorCode::kInvalidArgument);
  offer_urls(*frontier, "a.test", 1);
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->host_counts("a.test")->delay, 2000ms);
}

TEST_P(ConformanceCounts, RetriesChangeToo) {
  options_.politeness.delay = 0ms;
  auto frontier = open(options_);
  offer_urls(*frontier, "a.test", 1);
  RetryOptions retry = options_.retry;
  retry.retries = 0;
  ASSERT_TRUE(frontier->set_politeness(options_.politeness, retry));
  EXPECT_FALSE(frontier->fail(lease_one(*frontier).id, FailureReason::kServerError)->retry_at);
}

TRAWL_CONFORMS(ConformanceCounts);

}  // namespace
}  // namespace trawl
