// The protocol of many crawlers on one frontier: every state of some scopes, and what happens
// without each of its rules. Prints the number of states and the shortest way to each fault.
#include "tests/cluster/protocol_model.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace trawl::test {
namespace {

void print(const SearchResult& result) {
  fmt::print("{} states, {} steps: {}\n", result.states, result.steps,
             result.broken.value_or("all properties hold"));
  for (std::size_t i = 0; i < result.trace.size(); ++i)
    fmt::print("  {:2}. {}\n", i + 1, result.trace[i]);
}

void expect_holds(const Rules& rules, const Scope& scope, std::size_t at_least) {
  const SearchResult result = search(rules, scope);
  print(result);
  EXPECT_EQ(result.broken, std::nullopt);
  EXPECT_GE(result.states, at_least) << "a model that stands still breaks nothing";
}

void expect_breaks(const Rules& rules, const Scope& scope, const std::string& property) {
  // The same scope with all rules; what may be forgotten needs WAIT.
  expect_holds({.wait_for_data = rules.wait_for_data || scope.finders_may_forget}, scope, 0);
  const SearchResult result = search(rules, scope);
  print(result);
  EXPECT_EQ(result.broken, property);
}

constexpr Rules kAsync{.wait_for_data = false};

// Who owns the bucket does not depend on clocks here.
constexpr Scope kData{.claims = 3,
                      .batches = 4,
                      .messages = 2,
                      .pushes = 2,
                      .failovers = 1,
                      .deaths = 1,
                      .releases = true};
constexpr Scope kDataTwoFailovers{
    .claims = 2, .batches = 4, .messages = 2, .pushes = 3, .failovers = 2, .releases = true};
constexpr Scope kOwners{.claims = 3, .renewals = 2, .failovers = 2, .deaths = 1, .time = true};
constexpr Scope kUnevenClocks{.claims = 2,
                              .renewals = 2,
                              .failovers = 1,
                              .deaths = 1,
                              .missed_ticks = 1,
                              .releases = true,
                              .time = true};
constexpr Scope kTogether{.claims = 2,
                          .renewals = 1,
                          .batches = 1,
                          .messages = 1,
                          .pushes = 1,
                          .failovers = 1,
                          .deaths = 1,
                          .releases = true,
                          .time = true};

TEST(ClusterProtocol, EachMessageIsAdmittedOnceOrStillKept) {
  expect_holds({}, kData, 1'000'000);
}
TEST(ClusterProtocol, WithoutWaitForDataTheSameWhileFindersLive) {
  expect_holds(kAsync, kDataTwoFailovers, 1'000'000);
}
TEST(ClusterProtocol, P1_OneOwnerAtATimeAndEachRequestAfterTheDelay) {
  expect_holds({}, kOwners, 1'000'000);
}
TEST(ClusterProtocol, P1_TheSameWithUnevenClocks) {
  expect_holds({}, kUnevenClocks, 100'000);
}
TEST(ClusterProtocol, ClocksAndDataTogether) {
  expect_holds({}, kTogether, 100'000);
}

// More of everything, minutes in all.
TEST(ClusterProtocolSlow, DataWithTwoFailovers) {
  Scope scope = kData;
  scope.failovers = 2;
  expect_holds({}, scope, 1'000'000);
  scope.deaths = 0;
  expect_holds(kAsync, scope, 1'000'000);
}
TEST(ClusterProtocolSlow, OwnersWithUnevenClocks) {
  Scope scope = kUnevenClocks;
  scope.claims = 3;
  expect_holds({}, scope, 1'000'000);
}
TEST(ClusterProtocolSlow, ClocksAndDataTogether) {
  Scope scope = kTogether;
  scope.batches = 2;
  scope.missed_ticks = 1;
  expect_holds({}, scope, 1'000'000);
}

// Each rule is needed. The scope of each fault holds with the rule.
constexpr Scope kSmallData{
    .claims = 2, .batches = 3, .messages = 2, .pushes = 3, .failovers = 1, .deaths = 0};
constexpr Scope kSmallOwners{.claims = 2, .renewals = 2, .failovers = 1, .time = true};

TEST(ClusterProtocol, FailsWithoutReplay) {
  expect_breaks({.wait_for_data = false, .replays = false}, kSmallData, "a message is lost");
}
TEST(ClusterProtocol, FailsIfMessagesArePoppedByCount) {
  expect_breaks({.pops_by_id = false}, kSmallData, "a message is lost");
}
TEST(ClusterProtocol, FailsIfARefusedOwnerPassesNothingOn) {
  expect_breaks({.passes_on = false}, kSmallData, "a message is lost");
}
TEST(ClusterProtocol, FailsIfBatchesAreNotFenced) {
  expect_breaks({.fenced = false}, kSmallData, "a batch was applied after another crawler's claim");
}
// What mode "async" does not promise: a page has ended, its finder dies, and so does the master.
TEST(ClusterProtocol, FailsWithoutWaitForDataIfTheFinderDies) {
  Scope scope = kSmallData;
  scope.deaths = 1;
  scope.messages = 1;
  scope.pushes = 1;
  scope.finders_may_forget = true;
  expect_breaks({.wait_for_data = false}, scope, "a message is lost");
}
TEST(ClusterProtocol, FailsWithoutWaitForOwnership) {
  expect_breaks({.wait_for_claims = false, .wait_for_renewals = false}, kSmallOwners,
                "two crawlers may start requests");
}
TEST(ClusterProtocol, FailsIfAClaimCountsBeforeItIsReplicated) {
  expect_breaks({.wait_for_claims = false}, kSmallOwners, "two crawlers may start requests");
}
TEST(ClusterProtocol, FailsIfARenewalCountsBeforeItIsReplicated) {
  expect_breaks({.wait_for_renewals = false}, kSmallOwners, "two crawlers may start requests");
}
TEST(ClusterProtocol, FailsIfACounterIsTheRenewal) {
  expect_breaks({.fresh_renewals = false}, kSmallOwners, "two crawlers may start requests");
}
// So a renewal without an answer is not sent again: the next one has a name of its own.
TEST(ClusterProtocol, FailsIfARenewalIsSentTwiceUnderItsName) {
  expect_breaks({.renewals_once = false}, kSmallOwners, "two crawlers may start requests");
}
TEST(ClusterProtocol, FailsWithoutARestAfterATakeover) {
  expect_breaks({.rests = false}, kSmallOwners, "two requests to a host closer than the delay");
}
TEST(ClusterProtocol, FailsIfTheDeadlineCountsFromTheAnswer) {
  expect_breaks({.deadline_from_sending = false}, kSmallOwners, "two crawlers may start requests");
}

}  // namespace
}  // namespace trawl::test
