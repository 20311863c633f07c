// URLs that are held and those that failed: kept, listed, and queued again.
#include <set>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "tests/frontier/conformance/conformance.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;

class ConformanceSetAside : public test::Conformance {
 protected:
  ConformanceSetAside() {
    options_ = timed_options();
    options_.retry.retries = 0;
    options_.retry.host_backoff = 0ms;
  }
  void open_anew() {
    if (frontier_) return restart(frontier_, options_);
    frontier_ = open(options_);
  }
  Lease lease_one() {
    auto leases = lease(*frontier_, 1);
    EXPECT_EQ(leases.size(), 1u);
    return leases.empty() ? Lease{} : leases.front();
  }
  Lease lease_of(const std::string& url) {
    static_cast<void>(offer_one(*frontier_, url));
    return lease_one();
  }
  std::vector<SetAsideUrl> listed() { return frontier_->set_aside({}, 1000).value(); }
  std::uint64_t retry(const RetryWhich& which) { return frontier_->retry(which).value(); }
  std::vector<Admission> complete_holding(const Lease& lease, const std::string& link,
                                          std::string_view reason, std::uint32_t depth = 7) {
    const UrlRequest request{.url = link,
                             .priority = 3,
                             .depth = depth,
                             .note = "noted",
                             .hold = HoldReason{.reason = reason, .rules = 5}};
    return frontier_->complete(lease.id, {.status = 200}, {&request, 1}).value();
  }

  EmbeddedOptions options_;
  std::unique_ptr<Frontier> frontier_;
};

TEST_P(ConformanceSetAside, AHeldUrlIsLeasedNoMoreAndDoesNotKeepACrawlFromEnding) {
  open_anew();
  const UrlRequest request{
      .url = "http://a.test/1", .priority = 9, .depth = 4, .parent = "http://p.test/", .note = "n"};
  ASSERT_TRUE(frontier_->offer({&request, 1}));
  ASSERT_TRUE(frontier_->hold(lease_one().id, {.reason = "out of scope", .rules = 77}));
  for (int run = 0; run < 2; ++run) {
    EXPECT_TRUE(lease_all(*frontier_).empty());
    EXPECT_TRUE(frontier_->progress()->finished);
    const FrontierStats stats = frontier_->stats().value();
    EXPECT_EQ(stats.held, 1u);
    EXPECT_EQ(stats.set_aside_failed, 0u);
    EXPECT_EQ(stats.skipped, 1u);
    const auto urls = listed();
    ASSERT_EQ(urls.size(), 1u);
    EXPECT_EQ(urls[0].state, SetAsideState::kHeld);
    EXPECT_EQ(urls[0].url, "http://a.test/1");
    EXPECT_EQ(urls[0].host, "a.test");
    EXPECT_EQ(urls[0].reason, "out of scope");
    EXPECT_EQ(urls[0].rules, 77u);
    EXPECT_EQ(urls[0].since, clocks_.wall());
    EXPECT_EQ(urls[0].priority, 9);
    EXPECT_EQ(urls[0].depth, 4u);
    EXPECT_EQ(urls[0].parent, "http://p.test/");
    EXPECT_EQ(urls[0].note, "n");
    EXPECT_TRUE(urls[0].was_queued);
    EXPECT_EQ(frontier_->offer({&request, 1})->front(), Admission::kSeen);
    open_anew();
  }
  EXPECT_EQ(retry({.state = SetAsideState::kFailed}), 0u);
  EXPECT_EQ(retry({.state = SetAsideState::kHeld}), 1u);
  EXPECT_FALSE(frontier_->progress()->finished);
  EXPECT_TRUE(listed().empty());
  const Lease again = lease_one();
  EXPECT_EQ(again.url, "http://a.test/1");
  EXPECT_EQ(again.depth, 4u);
  EXPECT_EQ(again.priority, 9);
  EXPECT_EQ(again.parent, "http://p.test/");
  EXPECT_EQ(again.note, "n");
  complete(*frontier_, again);
  ASSERT_TRUE(frontier_->flush());
  EXPECT_TRUE(frontier_->progress()->finished);
  EXPECT_EQ(frontier_->stats()->held, 0u);
}

TEST_P(ConformanceSetAside, AReasonIsNeeded) {
  open_anew();
  const auto held = frontier_->hold(lease_of("http://a.test/1").id, {.reason = ""});
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, ErrorCode::kInvalidArgument);
}

TEST_P(ConformanceSetAside, FailedUrlsAreKeptWithStatusAndReasonAndAskedForAgain) {
  open_anew();
  ASSERT_TRUE(frontier_->complete(lease_of("http://a.test/404").id, {.status = 404}, {}));
  ASSERT_TRUE(frontier_->complete(lease_of("http://a.test/500").id,
                                  {.status = 500, .error = "status 500"}, {}));
  ASSERT_TRUE(frontier_->fail(lease_of("http://b.test/").id, FailureReason::kPermanent,
                              std::nullopt, {.error = "bad header", .reason = "bad_header"}));
  ASSERT_TRUE(frontier_->fail(lease_of("http://b.test/2").id, FailureReason::kTimeout));
  complete(*frontier_, lease_of("http://c.test/"));
  ASSERT_TRUE(frontier_->flush());
  EXPECT_TRUE(frontier_->progress()->finished);
  EXPECT_EQ(frontier_->stats()->set_aside_failed, 4u);
  EXPECT_EQ(frontier_->stats()->succeeded, 1u);
  std::set<std::tuple<std::string, int, std::string>> found;
  for (const SetAsideUrl& url : listed())
    found.emplace(url.url, url.status, url.reason);
  EXPECT_TRUE(found.contains({"http://a.test/404", 404, "status"}));
  EXPECT_TRUE(found.contains({"http://a.test/500", 500, "status"}));
  EXPECT_TRUE(found.contains({"http://b.test/", 0, "bad_header"}));
  EXPECT_TRUE(found.contains({"http://b.test/2", 0, "failed"}));

  open_anew();
  EXPECT_EQ(retry({.first_status = 500, .last_status = 599}), 1u);
  EXPECT_EQ(lease_one().url, "http://a.test/500");
  EXPECT_EQ(retry({.reason = "bad_header"}), 1u);
  EXPECT_EQ(lease_one().url, "http://b.test/");
  EXPECT_EQ(retry({.host = "b.test"}), 1u);
  EXPECT_EQ(lease_one().url, "http://b.test/2");
  EXPECT_EQ(retry({.wanted = [](const SetAsideUrl&) { return false; }}), 0u);
  EXPECT_EQ(retry({.key = "http://a.test/none"}), 0u);
  EXPECT_EQ(retry({.key = "http://a.test/404", .reason = "other"}), 0u);
  EXPECT_EQ(retry({.key = "http://a.test/404"}), 1u);
  const Lease last = lease_one();
  EXPECT_EQ(last.attempts, 0u);
  ASSERT_TRUE(frontier_->complete(last.id, {.status = 404}, {}));
  ASSERT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->stats()->set_aside_failed, 1u) << "it failed again";
  EXPECT_EQ(frontier_->stats()->requeued, 4u);
  EXPECT_FALSE(frontier_->progress()->finished) << "the other three are leased";
}

TEST_P(ConformanceSetAside, AFailedPageThatComesBackByItselfIsNotSetAside) {
  open_anew();
  ASSERT_TRUE(frontier_->complete(lease_of("http://a.test/").id,
                                  {.status = 404, .recrawl_at = clocks_.wall() + 1h}, {}));
  ASSERT_TRUE(frontier_->flush());
  EXPECT_TRUE(listed().empty());
  const UrlRequest again{.url = "http://b.test/", .again = true};
  ASSERT_TRUE(frontier_->complete(lease_of("http://b.test/").id, {.status = 404}, {}));
  EXPECT_EQ(listed().size(), 1u);
  ASSERT_TRUE(frontier_->offer({&again, 1}));
  complete(*frontier_, lease_one());
  ASSERT_TRUE(frontier_->flush());
  EXPECT_TRUE(listed().empty()) << "it succeeded since";
}

TEST_P(ConformanceSetAside, LinksAreHeldOnceAndOfferedWhenTheyAreWanted) {
  open_anew();
  const std::string link = "http://far.test/x";
  EXPECT_EQ(complete_holding(lease_of("http://a.test/1"), link, "too_deep").front(),
            Admission::kHeld);
  EXPECT_EQ(complete_holding(lease_of("http://a.test/2"), link + "#part", "too_deep").front(),
            Admission::kHeld);
  ASSERT_TRUE(frontier_->flush());
  open_anew();
  complete_holding(lease_of("http://a.test/3"), link, "too_deep");
  ASSERT_TRUE(frontier_->flush());
  EXPECT_EQ(frontier_->stats()->held, 1u);
  EXPECT_EQ(frontier_->stats()->admitted, 3u);
  EXPECT_TRUE(frontier_->progress()->finished);
  const auto urls = listed();
  ASSERT_EQ(urls.size(), 1u);
  EXPECT_FALSE(urls[0].was_queued);
  EXPECT_EQ(urls[0].parent, "http://a.test/1");

  EXPECT_EQ(retry({.reason = "too_deep"}), 1u);
  const Lease lease = lease_one();
  EXPECT_EQ(lease.url, link);
  EXPECT_EQ(lease.depth, 7u);
  EXPECT_EQ(lease.priority, 3);
  EXPECT_EQ(lease.note, "noted");
  EXPECT_FALSE(lease.recrawl);
  EXPECT_EQ(frontier_->stats()->held, 0u);
  EXPECT_EQ(offer_one(*frontier_, link), Admission::kSeen);
}

TEST_P(ConformanceSetAside, AHeldLinkThatWasAdmittedSinceIsNotQueuedTwice) {
  open_anew();
  complete_holding(lease_of("http://a.test/1"), "http://b.test/", "too_deep");
  EXPECT_EQ(frontier_->stats()->held, 1u);
  EXPECT_EQ(offer_one(*frontier_, "http://b.test/"), Admission::kNew) << "found nearer";
  EXPECT_TRUE(listed().empty()) << "it is queued";
  EXPECT_EQ(frontier_->stats()->held, 0u);
  complete(*frontier_, lease_one());
  EXPECT_EQ(retry({}), 0u);
  EXPECT_TRUE(lease_all(*frontier_).empty());
  EXPECT_TRUE(listed().empty());
  EXPECT_TRUE(frontier_->progress()->finished);
}

TEST_P(ConformanceSetAside, AFailedUrlThatIsOfferedAgainIsQueuedAlone) {
  open_anew();
  ASSERT_TRUE(frontier_->complete(lease_of("http://a.test/1").id, {.status = 404}, {}));
  ASSERT_TRUE(frontier_->complete(lease_of("http://a.test/2").id, {.status = 404}, {}));
  const UrlRequest again{.url = "http://a.test/1", .again = true};
  ASSERT_TRUE(frontier_->offer({&again, 1}));
  EXPECT_EQ(frontier_->stats()->set_aside_failed, 1u);
  ASSERT_EQ(listed().size(), 1u);
  EXPECT_EQ(listed()[0].url, "http://a.test/2");
  EXPECT_EQ(retry({.key = "http://a.test/1"}), 0u);
  EXPECT_TRUE(lease_one().recrawl);
  EXPECT_TRUE(lease_all(*frontier_).empty());
}

// Whichever comes first, a link that is admitted is not held.
TEST_P(ConformanceSetAside, A1_LinksHeldAndAdmittedAtTheSameTimeAreQueuedAlone) {
  constexpr int kLinks = 3000;
  options_.testing.deterministic_seed.reset();
  open_anew();
  const auto link = [](int i) { return fmt::format("http://b.test/{}", i); };
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int i = 0; i < kLinks; ++i) {
      const std::string url = link(i);
      const UrlRequest held{.url = url, .hold = HoldReason{.reason = "too deep"}};
      EXPECT_TRUE(frontier_->offer({&held, 1}));
    }
  });
  threads.emplace_back([&] {
    for (int i = 0; i < kLinks; ++i)
      static_cast<void>(offer_one(*frontier_, link(i)));
  });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(frontier_->stats()->admitted, std::uint64_t{kLinks});
  EXPECT_EQ(frontier_->stats()->held, 0u);
  EXPECT_TRUE(listed().empty());
}

TEST_P(ConformanceSetAside, ALinkThatWasAdmittedBeforeIsNotHeld) {
  open_anew();
  complete(*frontier_, lease_of("http://b.test/"));
  EXPECT_EQ(complete_holding(lease_of("http://a.test/1"), "http://b.test/", "too_deep").front(),
            Admission::kSeen);
  EXPECT_TRUE(listed().empty());
  EXPECT_EQ(frontier_->stats()->held, 0u);
}

TEST_P(ConformanceSetAside, ListsPageByPageAndRetriesVeryMany) {
  open_anew();
  constexpr std::size_t kUrls = 5000;
  for (std::size_t i = 0; i < kUrls; ++i)
    static_cast<void>(offer_one(*frontier_, fmt::format("http://h{}.test/{}", i % 7, i)));
  for (const Lease& lease : lease_all(*frontier_))
    ASSERT_TRUE(frontier_->hold(lease.id, {.reason = "r"}));
  ASSERT_TRUE(frontier_->flush());
  std::set<std::string> found;
  std::string after;
  for (;;) {
    const auto page = frontier_->set_aside(after, 777).value();
    if (page.empty()) break;
    for (const SetAsideUrl& url : page)
      EXPECT_TRUE(found.insert(url.url).second);
    after = page.back().position;
  }
  EXPECT_EQ(found.size(), kUrls);
  EXPECT_EQ(retry({}), kUrls);
  EXPECT_EQ(lease_all(*frontier_).size(), kUrls);
  EXPECT_EQ(frontier_->stats()->held, 0u);
}

TRAWL_CONFORMS(ConformanceSetAside);

}  // namespace
}  // namespace trawl
