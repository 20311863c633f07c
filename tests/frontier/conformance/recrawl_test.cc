// What goes with a URL while it waits, and URLs that are fetched again.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/frontier/conformance/conformance.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPage = "http://a.test/";

class ConformanceRecrawl : public test::Conformance {
 protected:
  void open_anew(bool exact = false) {
    EmbeddedOptions wanted = timed_options();
    if (exact) wanted.directory += "-exact";
    wanted.retry.retry_delay = 1s;
    wanted.retry.host_backoff = 0ms;
    if (exact) wanted.seen.mode = FilterMode::kExact;
    if (frontier_) return restart(frontier_, wanted);
    frontier_ = open(wanted);
  }
  Admission offer_noted(const std::string& url, std::string_view note, bool again = false) {
    const std::vector<UrlRequest> requests{{.url = url, .note = note, .again = again}};
    return frontier_->offer(requests).value().front();
  }
  Lease lease_one() { return Conformance::lease_one(*frontier_); }
  void complete_until(const Lease& lease, std::chrono::seconds wait,
                      std::optional<std::string> note = std::nullopt) {
    ASSERT_TRUE(frontier_->complete(
        lease.id, {.status = 200, .recrawl_at = clocks_.wall() + wait, .note = note}, {}));
    ASSERT_TRUE(frontier_->flush());
  }

  std::unique_ptr<Frontier> frontier_;
};

TEST_P(ConformanceRecrawl, ANoteStaysWithItsUrl) {
  open_anew();
  const std::string note("any\0bytes\xff", 10);
  EXPECT_EQ(offer_noted(kPage, note), Admission::kNew);
  open_anew();
  Lease lease = lease_one();
  EXPECT_EQ(lease.note, note);
  ASSERT_TRUE(frontier_->fail(lease.id, FailureReason::kServerError));
  clocks_.advance(10s);
  lease = lease_one();
  EXPECT_EQ(lease.note, note) << "a retry keeps it";
  complete_until(lease, 10s);
  open_anew();
  clocks_.advance(20s);
  lease = lease_one();
  EXPECT_TRUE(lease.recrawl);
  EXPECT_EQ(lease.note, note) << "a recrawl keeps it";
  complete_until(lease, 10s, "another");
  clocks_.advance(20s);
  EXPECT_EQ(lease_one().note, "another");
}

TEST_P(ConformanceRecrawl, ANoteThatIsTooLongIsRefused) {
  open_anew();
  const std::size_t most = LimitOptions{}.max_note_bytes;
  offer_noted("http://a.test/1", std::string(most, 'n'));
  const std::string too_long(most + 1, 'n');
  const UrlRequest request{.url = "http://a.test/2", .note = too_long};
  EXPECT_EQ(frontier_->offer({&request, 1}).value().at(0), Admission::kNoteTooLong);
  const auto leases = lease_all(*frontier_);
  ASSERT_EQ(leases.size(), 1u);
  EXPECT_EQ(leases[0].note.size(), most);
  const Outcome outcome{.status = 200, .recrawl_at = clocks_.wall() + 5s, .note = too_long};
  EXPECT_EQ(frontier_->complete(leases[0].id, outcome).error().code, ErrorCode::kInvalidArgument);
  complete_until(leases[0], 5s, "");
  clocks_.advance(10s);
  EXPECT_EQ(lease_one().note, "");
}

TEST_P(ConformanceRecrawl, TellsWhenOnlyRecrawlsWait) {
  open_anew();
  EXPECT_FALSE(frontier_->progress()->only_recrawls_wait) << "nothing waits at all";
  static_cast<void>(offer(*frontier_, {kPage, "http://a.test/2"}));
  EXPECT_FALSE(frontier_->progress()->only_recrawls_wait) << "two are queued";
  const auto leases = lease_all(*frontier_);
  ASSERT_EQ(leases.size(), 2u);
  complete_until(leases[0], 60s);
  EXPECT_FALSE(frontier_->progress()->only_recrawls_wait) << "one is leased";
  ASSERT_TRUE(frontier_->fail(leases[1].id, FailureReason::kServerError));
  ASSERT_TRUE(frontier_->flush());
  EXPECT_FALSE(frontier_->progress()->only_recrawls_wait) << "one is tried again";
  EXPECT_EQ(frontier_->stats()->recrawls_deferred, 1u);
  clocks_.advance(5s);
  const Lease retry = lease_one();
  complete_until(retry, 30s);
  open_anew();
  EXPECT_TRUE(frontier_->progress()->only_recrawls_wait);
  EXPECT_FALSE(frontier_->progress()->exhausted);
  EXPECT_FALSE(frontier_->progress()->finished);
  EXPECT_EQ(frontier_->stats()->recrawls_deferred, 2u);
  clocks_.advance(31s);
  EXPECT_FALSE(frontier_->progress()->only_recrawls_wait) << "one is due";
  const Lease lease = lease_one();
  EXPECT_EQ(frontier_->stats()->recrawls_deferred, 1u);
  ASSERT_TRUE(frontier_->fail(lease.id, FailureReason::kServerError));
  ASSERT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->stats()->recrawls_deferred, 1u) << "a recrawl that failed is a retry";
  EXPECT_FALSE(frontier_->progress()->only_recrawls_wait);
  EXPECT_EQ(frontier_->drop_host("a.test").value(), 2u);
  EXPECT_EQ(frontier_->stats()->recrawls_deferred, 0u);
  EXPECT_TRUE(frontier_->progress()->finished);
}

TEST_P(ConformanceRecrawl, WhatIsOnlySeenIsNeverLeased) {
  for (const bool exact : {false, true}) {
    SCOPED_TRACE(exact);
    frontier_.reset();
    open_anew(exact);
    const auto see = [&](const std::string& url) {
      const UrlRequest request{.url = url,
                               .depth = 3,
                               .again = true,
                               .seen_only = true,
                               .hold = HoldReason{.reason = "ignored"}};
      return offer_request(*frontier_, request);
    };
    ASSERT_EQ(offer_request(*frontier_, {.url = "http://a.test/held", .hold = HoldReason{"rule"}}),
              Admission::kHeld);
    static_cast<void>(offer_one(*frontier_, "http://a.test/queued"));
    EXPECT_EQ(see(kPage), Admission::kNew);
    EXPECT_EQ(see(kPage), Admission::kSeen);
    EXPECT_EQ(see("http://a.test/held"), Admission::kNew) << "a held link was not admitted before";
    EXPECT_EQ(see("http://a.test/queued"), Admission::kSeen);
    EXPECT_EQ(see("no URL"), Admission::kInvalid);
    for (int run = 0; run < 2; ++run) {
      SCOPED_TRACE(run);
      EXPECT_EQ(offer_one(*frontier_, kPage), Admission::kSeen);
      EXPECT_EQ(offer_one(*frontier_, "http://a.test/held"), Admission::kSeen);
      EXPECT_EQ(frontier_->lookup(kPage)->kind, UrlState::Kind::kSeen);
      const FrontierStats stats = frontier_->stats().value();
      EXPECT_EQ(stats.admitted, 3u);
      EXPECT_EQ(stats.seen_only, 2u);
      EXPECT_EQ(stats.open(), 1u);
      EXPECT_EQ(stats.held, 0u);
      EXPECT_EQ(lease_one().url, "http://a.test/queued") << "the only one that waits";
      open_anew(exact);
    }
    // `again` queues it all the same, as a recrawl.
    EXPECT_EQ(offer_noted(kPage, "", true), Admission::kNew);
    EXPECT_EQ(frontier_->stats()->readmitted, 1u);
    const auto leases = lease_all(*frontier_);
    ASSERT_EQ(leases.size(), 2u);
    for (const Lease& lease : leases)
      complete(*frontier_, lease);
    ASSERT_TRUE(frontier_->flush());
    EXPECT_TRUE(frontier_->progress()->finished);
  }
}

TEST_P(ConformanceRecrawl, WhatIsDoneCanBeQueuedAgain) {
  for (const bool exact : {false, true}) {
    SCOPED_TRACE(exact);
    frontier_.reset();
    open_anew(exact);
    static_cast<void>(offer_one(*frontier_, kPage));
    complete(*frontier_, lease_one());
    ASSERT_TRUE(frontier_->flush());
    EXPECT_EQ(offer_noted(kPage, "x"), Admission::kSeen);
    EXPECT_EQ(offer_noted(kPage, "validators", true), Admission::kNew);
    EXPECT_FALSE(frontier_->progress()->finished);
    open_anew(exact);
    Lease lease = lease_one();
    EXPECT_TRUE(lease.recrawl);
    EXPECT_EQ(lease.note, "validators");
    complete(*frontier_, lease);
    ASSERT_TRUE(frontier_->flush());
    EXPECT_TRUE(frontier_->progress()->finished);
    EXPECT_EQ(offer_one(*frontier_, kPage), Admission::kSeen);
    // One that was never admitted is an ordinary admission.
    EXPECT_EQ(offer_noted("http://a.test/new", "", true), Admission::kNew);
    lease = lease_one();
    EXPECT_FALSE(lease.recrawl);
    EXPECT_EQ(offer_one(*frontier_, "http://a.test/new"), Admission::kSeen);
    complete(*frontier_, lease);
    ASSERT_TRUE(frontier_->flush());
    EXPECT_EQ(offer_one(*frontier_, "http://a.test/new"), Admission::kSeen);
    EXPECT_TRUE(frontier_->progress()->finished);
  }
}

TEST_P(ConformanceRecrawl, UrlsOfACallAreLeasedInItsOrderWhetherTheyAreNewOrNot) {
  open_anew();
  static_cast<void>(offer_one(*frontier_, kPage));
  complete(*frontier_, lease_one());
  ASSERT_TRUE(frontier_->flush());
  const std::vector<UrlRequest> requests{
      {.url = kPage, .again = true}, {.url = "http://a.test/1"}, {.url = "http://a.test/2"}};
  ASSERT_TRUE(frontier_->offer(requests));
  const std::vector<Lease> leases = lease_all(*frontier_);
  ASSERT_EQ(leases.size(), requests.size());
  for (std::size_t i = 0; i < leases.size(); ++i)
    EXPECT_EQ(leases[i].url, requests[i].url);
}

TRAWL_CONFORMS(ConformanceRecrawl);

}  // namespace
}  // namespace trawl
