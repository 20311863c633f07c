// N3: a page's links, and what its caller keeps of it, are durable no later than its end.
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frontier/conformance/conformance.h"

namespace trawl {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using Kind = UrlState::Kind;

using ConformancePageEnd = test::Conformance;

// At no moment is a page done while one of its links is unknown.
TEST_P(ConformancePageEnd, N3_ALinkIsKnownNoLaterThanItsPageIsDone) {
  constexpr int kPages = 300;
  const auto frontier = open();
  const auto page = [](int i) { return fmt::format("http://a.test/{}", i); };
  const auto link = [](int i) { return fmt::format("http://b.test/{}", i); };
  for (int i = 0; i < kPages; ++i)
    offer_one(*frontier, page(i));
  std::atomic<bool> over{false};
  std::atomic<int> next{0};
  int seen_done = 0;
  std::thread watcher([&] {
    while (!over || seen_done == 0) {
      const int i = std::min(next.load(), kPages - 1);
      const Kind kind = frontier->lookup(page(i)).value().kind;
      if (kind == Kind::kDone || kind == Kind::kSeen) {
        ++seen_done;
        EXPECT_NE(frontier->lookup(link(i)).value().kind, Kind::kUnknown) << i;
      }
    }
  });
  for (const Lease& lease : lease_all(*frontier)) {
    const int i = std::stoi(lease.url.substr(lease.url.rfind('/') + 1));
    next = i;
    complete(*frontier, lease, {link(i)});
  }
  over = true;
  watcher.join();
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(stats(*frontier).completed, std::uint64_t{kPages});
  EXPECT_EQ(stats(*frontier).admitted, std::uint64_t{2 * kPages});
}

// It may be admitted in parts; its answers and its end are those of one call.
TEST_P(ConformancePageEnd, N3_APageWithVeryManyLinksIsAdmittedAsOneWithFew) {
  constexpr std::size_t kLinks = 10'000;
  const auto frontier = open();
  offer(*frontier, {"http://a.test/", "http://b.test/"});
  const auto leases = lease_all(*frontier);
  test::Requests links;
  for (std::size_t n = 0; n < kLinks; ++n)
    links.add(fmt::format("http://c.test/{}", n % 2 == 0 ? n : n / 4));
  const auto requests = links.get();
  const auto answers = [&](const Lease& lease) {
    return frontier->complete(lease.id, {.status = 200}, requests).value();
  };
  std::set<std::string> known;
  const auto first = answers(leases[0]);
  ASSERT_EQ(first.size(), kLinks);
  for (std::size_t n = 0; n < kLinks; ++n) {
    const bool fresh = known.insert(std::string(requests[n].url)).second;
    ASSERT_EQ(first[n], fresh ? Admission::kNew : Admission::kSeen) << n;
  }
  EXPECT_THAT(answers(leases[1]), Each(Admission::kSeen));
  EXPECT_THAT(answers(leases[0]), Each(Admission::kSeen)) << "its lease had ended";
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(stats(*frontier).completed, 2u);
  EXPECT_EQ(stats(*frontier).admitted, 2 + known.size());
  for (const Lease& lease : lease_all(*frontier)) {
    EXPECT_EQ(known.erase(lease.url), 1u) << lease.url;
    EXPECT_EQ(lease.parent, leases[0].url);
  }
  EXPECT_TRUE(known.empty());

  links.add("http://d.test/");
  const auto unknown = frontier->complete(~std::uint64_t{0}, {.status = 200}, links.get());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(offer_one(*frontier, "http://d.test/"), Admission::kNew);
}

// The page counts as done only when its caller says so for the second time; its host does not wait
// for that.
TEST_P(ConformancePageEnd, N3_APageThatEndsLaterIsLeasedUntilThen) {
  auto one_each = options();
  one_each.politeness.leases_per_host = 1;
  const auto frontier = open(one_each);
  offer(*frontier, {"http://a.test/1", "http://a.test/2", "http://b.test/fails"});
  const auto leases = lease_all(*frontier);
  ASSERT_EQ(leases.size(), 2u);
  for (const Lease& lease : leases) {
    if (lease.host == "a.test") {
      const auto links = test::Requests({"http://c.test/link", "http://a.test/2"});
      EXPECT_THAT(
          frontier->complete(lease.id, {.status = 200, .end_later = true}, links.get()).value(),
          ElementsAre(Admission::kNew, Admission::kSeen));
    } else {
      EXPECT_TRUE(
          frontier->fail(lease.id, FailureReason::kPermanent, {}, {.end_later = true})->awaits_end);
    }
    EXPECT_EQ(frontier->lookup(lease.url)->kind, Kind::kLeased);
    EXPECT_FALSE(frontier->release(lease.id));
  }
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(stats(*frontier).completed, 0u);
  EXPECT_EQ(stats(*frontier).leased, 2u);
  const auto others = lease_all(*frontier);
  EXPECT_THAT(urls_of(others), UnorderedElementsAre("http://a.test/2", "http://c.test/link"));
  for (const Lease& lease : others)
    complete(*frontier, lease);
  EXPECT_FALSE(progress(*frontier).at_end());
  for (const Lease& lease : leases)
    ASSERT_TRUE(frontier->complete(lease.id, {}));
  ASSERT_TRUE(frontier->flush());
  EXPECT_TRUE(progress(*frontier).finished);
  EXPECT_EQ(stats(*frontier).completed, 4u);
  EXPECT_EQ(stats(*frontier).succeeded, 3u);
  EXPECT_EQ(stats(*frontier).failed, 1u);
  EXPECT_EQ(frontier->lookup("http://b.test/fails")->kind, Kind::kFailed);
  // Once more changes nothing.
  ASSERT_TRUE(frontier->complete(leases[0].id, {.status = 200}));
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(stats(*frontier).completed, 4u);
  EXPECT_EQ(stats(*frontier).repeated, 1u);
}

// One that is passed over may leave something to be written, too.
TEST_P(ConformancePageEnd, N3_AHeldPageThatEndsLaterIsLeasedUntilThen) {
  auto one_each = options();
  one_each.politeness.leases_per_host = 1;
  const auto frontier = open(one_each);
  offer(*frontier, {"http://a.test/1", "http://a.test/2"});
  const Lease first = lease_one(*frontier);
  ASSERT_TRUE(frontier->hold(first.id, {.reason = "robots", .rules = 7}, {.end_later = true}));
  EXPECT_EQ(frontier->lookup(first.url)->kind, Kind::kLeased);
  EXPECT_THAT(frontier->set_aside({}, 10).value(), ::testing::IsEmpty());
  EXPECT_FALSE(frontier->release(first.id));
  EXPECT_FALSE(frontier->renew(first.id));
  complete(*frontier, lease_one(*frontier));  // of the same host
  EXPECT_FALSE(progress(*frontier).at_end());
  // It ends now, and as it was said before, whatever is said of it here.
  ASSERT_TRUE(frontier->complete(first.id, {.status = 200, .end_later = true}));
  ASSERT_TRUE(frontier->flush());
  EXPECT_TRUE(progress(*frontier).finished);
  const auto aside = frontier->set_aside({}, 10).value();
  ASSERT_EQ(aside.size(), 1u);
  EXPECT_EQ(aside[0].url, first.url);
  EXPECT_EQ(aside[0].reason, "robots");
  EXPECT_EQ(aside[0].rules, 7u);
  EXPECT_EQ(stats(*frontier).succeeded, 1u);
}

// What was not ended is leased again, and its links are seen then.
TEST_P(ConformancePageEnd, N3_N1_APageWhoseCallerDiesBeforeItsEndIsLeasedAgain) {
  if (!GetParam().is_durable) GTEST_SKIP() << "it is gone with its process";
  auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  const auto links = test::Requests({"http://b.test/link"});
  Lease lease = lease_one(*frontier);
  ASSERT_TRUE(frontier->complete(lease.id, {.status = 200, .end_later = true}, links.get()));
  ASSERT_TRUE(frontier->flush());
  restart(frontier, options());
  const auto leases = lease_all(*frontier);
  ASSERT_THAT(urls_of(leases), UnorderedElementsAre("http://a.test/", "http://b.test/link"));
  lease = leases[leases[0].host == "a.test" ? 0 : 1];
  EXPECT_THAT(frontier->complete(lease.id, {.status = 200, .end_later = true}, links.get()).value(),
              ElementsAre(Admission::kSeen));
  ASSERT_TRUE(frontier->complete(lease.id, {}));
  ASSERT_TRUE(frontier->flush());
  restart(frontier, options());
  EXPECT_THAT(urls_of(lease_all(*frontier)), ElementsAre("http://b.test/link"));
}

TEST_P(ConformancePageEnd, AClosedFrontierRefusesWorkAndTellsHowItStood) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  const Lease lease = lease_one(*frontier);
  ASSERT_TRUE(frontier->close());
  EXPECT_TRUE(frontier->close()) << "closing twice is not an error";
  EXPECT_EQ(frontier->offer(test::Requests({"http://b.test/"}).get()).error().code,
            ErrorCode::kClosed);
  EXPECT_EQ(frontier->lease({.max = 1}).error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->complete(lease.id, {}, {}).error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->lookup("http://a.test/").error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->checkpoint().error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->flush().error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->on_wake([] {}).error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->next_due().error().code, ErrorCode::kClosed);
  EXPECT_EQ(stats(*frontier).admitted, 1u);
  EXPECT_FALSE(progress(*frontier).finished);
}

TRAWL_CONFORMS(ConformancePageEnd);

}  // namespace
}  // namespace trawl
