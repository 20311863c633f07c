#include <atomic>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class FrontierTest : public test::FrontierFixture {};

TEST_F(FrontierTest, OffersLeasesAndCompletesEachUrlOnce) {
  const auto frontier = open();
  EXPECT_THAT(offer(*frontier, {"http://a.test/", "http://b.test/", "http://a.test/#top", "http:"}),
              ElementsAre(Admission::kNew, Admission::kNew, Admission::kSeen, Admission::kInvalid));
  const auto leases = lease_all(*frontier);
  EXPECT_THAT(urls_of(leases), UnorderedElementsAre("http://a.test/", "http://b.test/"));
  EXPECT_TRUE(lease_all(*frontier).empty());
  EXPECT_FALSE(frontier->progress()->finished);
  EXPECT_THAT(complete(*frontier, leases[0], {"http://b.test/", "http://c.test/"}),
              ElementsAre(Admission::kSeen, Admission::kNew));
  complete(*frontier, leases[1]);
  ASSERT_TRUE(frontier->flush());
  const auto last = lease_all(*frontier);
  ASSERT_THAT(urls_of(last), ElementsAre("http://c.test/"));
  EXPECT_EQ(last[0].parent, leases[0].url);
  complete(*frontier, last[0]);
  ASSERT_TRUE(frontier->flush());
  EXPECT_TRUE(frontier->progress()->finished);

  const FrontierStats stats = frontier->stats().value();
  EXPECT_EQ(stats.admitted, 3u);
  EXPECT_EQ(stats.completed, 3u);
  EXPECT_EQ(stats.seen, 2u);
  EXPECT_EQ(stats.invalid, 1u);
  EXPECT_EQ(stats.queued, 0u);
}

TEST_F(FrontierTest, ALeaseCarriesWhatWasOffered) {
  const auto frontier = open();
  const std::vector<UrlRequest> requests = {{.url = "http://a.test:8080/x?y#z",
                                             .priority = -3,
                                             .depth = 4,
                                             .redirects = 2,
                                             .parent = "http://p.test/"}};
  ASSERT_TRUE(frontier->offer(requests));
  const Lease lease = lease_all(*frontier).at(0);
  EXPECT_EQ(lease.url, "http://a.test:8080/x?y");
  EXPECT_EQ(lease.host, "a.test:8080");
  EXPECT_EQ(lease.parent, "http://p.test/");
  EXPECT_EQ(lease.priority, -3);
  EXPECT_EQ(lease.depth, 4u);
  EXPECT_EQ(lease.redirects, 2u);
}

TEST_F(FrontierTest, ALeaseEndsOnce) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  const Lease lease = lease_all(*frontier).at(0);
  complete(*frontier, lease);
  // Once more changes nothing, but for a link that is new.
  test::Requests links({"http://a.test/", "http://a.test/new"});
  EXPECT_EQ(frontier->complete(lease.id, {.status = 404, .error = "again"}, links.get()).value(),
            (std::vector{Admission::kSeen, Admission::kNew}));
  EXPECT_EQ(frontier->release(lease.id).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(frontier->complete(lease.id + 1000, {.status = 200}, {}).error().code,
            ErrorCode::kNotFound);
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->stats()->completed, 1u);
  EXPECT_EQ(frontier->stats()->failed, 0u);
  EXPECT_EQ(frontier->stats()->repeated, 1u);
}

TEST_F(FrontierTest, AReleasedLeaseComesBack) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  const Lease first = lease_all(*frontier).at(0);
  ASSERT_TRUE(frontier->release(first.id));
  const Lease second = lease_all(*frontier).at(0);
  EXPECT_EQ(second.url, first.url);
  complete(*frontier, second);
  ASSERT_TRUE(frontier->flush());
  EXPECT_TRUE(frontier->progress()->finished);
}

TEST_F(FrontierTest, UrlsOverTheLengthLimitAreRefusedAndCounted) {
  const auto frontier = open();
  const std::string start = "http://a.test/";
  EXPECT_EQ(offer_one(*frontier, start + std::string(2083 - start.size(), 'x')), Admission::kNew);
  EXPECT_EQ(offer_one(*frontier, start + std::string(2084 - start.size(), 'x')),
            Admission::kTooLong);
  EXPECT_EQ(frontier->stats()->invalid, 1u);
}

TEST_F(FrontierTest, SeenIsDecidedByTheCanonicalKeyAndTheUrlIsFetchedAsOffered) {
  const auto frontier = open();
  EXPECT_THAT(offer(*frontier, {"http://a.test/%7euser", "http://A.test:80/~user"}),
              ElementsAre(Admission::kNew, Admission::kSeen));
  EXPECT_EQ(lease_all(*frontier).at(0).url, "http://a.test/%7euser");
}

TEST_F(FrontierTest, N1_NoMoreLeasesAreOpenThanAllowedUntilCompletionsAreDurable) {
  auto frontier_options = options();
  frontier_options.limits.max_open_leases = 3;
  const auto frontier = open(frontier_options);
  offer(*frontier, {"http://a.test/1", "http://a.test/2", "http://a.test/3", "http://a.test/4"});
  const auto leases = lease_all(*frontier);
  ASSERT_EQ(leases.size(), 3u);
  EXPECT_FALSE(frontier->next_due(0).value());
  complete(*frontier, leases[0]);
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(lease_all(*frontier).size(), 1u);
}

TEST_F(FrontierTest, LinksThatTheCallerKnewCountAsSeen) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  const Lease lease = lease_all(*frontier).at(0);
  test::Requests found({"http://a.test/", "http://a.test/new"});
  ASSERT_TRUE(frontier->complete(lease.id, {.status = 200, .known_links = 3}, found.get()));
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->stats()->seen, 4u);
}

TEST_F(FrontierTest, FailedFetchesAreCompletedAndCounted) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  ASSERT_TRUE(frontier->complete(lease_all(*frontier).at(0).id, {.error = "timed out"}, {}));
  ASSERT_TRUE(frontier->flush());
  EXPECT_EQ(frontier->stats()->failed, 1u);
  EXPECT_TRUE(frontier->progress()->finished);
}

TEST_F(FrontierTest, A1_OfThreadsOfferingTheSameUrlsOneIsToldNew) {
  auto frontier_options = options();
  frontier_options.store.shards = 4;
  const auto frontier = open(frontier_options);
  constexpr std::uint64_t kUrls = 3'000;
  constexpr int kThreads = 4;
  const test::NumberedUrls web(50);
  std::vector<std::atomic<int>> told_new(kUrls);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      constexpr std::uint64_t kBatch = 100;
      for (std::uint64_t i = 0; i < kUrls; i += kBatch) {
        // Each thread begins elsewhere, and all meet.
        const std::uint64_t first = (i + static_cast<std::uint64_t>(t) * kBatch) % kUrls;
        test::Requests requests;
        for (std::uint64_t n = first; n < first + kBatch; ++n)
          requests.add(web.url(n));
        const auto admissions = frontier->offer(requests.get()).value();
        for (std::uint64_t n = 0; n < kBatch; ++n) {
          if (admissions[n] == Admission::kNew) told_new[first + n].fetch_add(1);
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (std::uint64_t n = 0; n < kUrls; ++n)
    ASSERT_EQ(told_new[n].load(), 1) << n;
  EXPECT_EQ(frontier->stats()->admitted, kUrls);
  EXPECT_EQ(lease_all(*frontier).size(), kUrls);
}

// What a caller writes of a page comes between the end of its request and its own.
TEST_F(FrontierTest, N3_AnEndThatComesLaterLeavesTheLeaseOpenAndTheHostFree) {
  auto frontier_options = options();
  frontier_options.politeness.leases_per_host = 1;
  {
    const auto frontier = open(frontier_options);
    offer(*frontier, {"http://a.test/1", "http://a.test/2", "http://b.test/fails"});
    const auto leases = lease_all(*frontier);
    ASSERT_EQ(leases.size(), 2u);
    for (const Lease& lease : leases) {
      const auto links = test::Requests({"http://c.test/link"});
      if (lease.host == "a.test") {
        EXPECT_THAT(
            frontier->complete(lease.id, {.status = 200, .end_later = true}, links.get()).value(),
            ElementsAre(Admission::kNew));
      } else {
        EXPECT_TRUE(frontier->fail(lease.id, FailureReason::kPermanent, {}, {.end_later = true})
                        ->awaits_end);
      }
    }
    ASSERT_TRUE(frontier->flush());
    EXPECT_EQ(frontier->stats()->completed, 0u);
    EXPECT_THAT(urls_of(lease_all(*frontier)),
                UnorderedElementsAre("http://a.test/2", "http://c.test/link"));
  }
  {
    // Nothing had ended.
    const auto frontier = open(frontier_options);
    std::vector<Lease> leases = lease_all(*frontier);
    EXPECT_THAT(urls_of(leases), UnorderedElementsAre("http://a.test/1", "http://b.test/fails",
                                                      "http://c.test/link"));
    for (const Lease& lease : leases) {
      if (lease.host == "b.test") {
        EXPECT_TRUE(frontier->fail(lease.id, FailureReason::kPermanent, {}, {.end_later = true})
                        ->awaits_end);
      } else {
        ASSERT_TRUE(frontier->complete(lease.id, {.status = 200, .end_later = true}));
      }
    }
    for (const Lease& lease : leases)
      ASSERT_TRUE(frontier->complete(lease.id, {}));
    ASSERT_TRUE(frontier->flush());
    EXPECT_EQ(frontier->stats()->completed, 3u);
    EXPECT_EQ(frontier->stats()->succeeded, 2u);
    EXPECT_EQ(frontier->stats()->failed, 1u);
    EXPECT_EQ(frontier->lookup("http://b.test/fails")->kind, UrlState::Kind::kFailed);
    // Once more changes nothing.
    ASSERT_TRUE(frontier->complete(leases[0].id, {.status = 200}));
    ASSERT_TRUE(frontier->flush());
    EXPECT_EQ(frontier->stats()->completed, 3u);
    EXPECT_EQ(frontier->stats()->repeated, 1u);
  }
  EXPECT_THAT(urls_of(lease_all(*open(frontier_options))), ElementsAre("http://a.test/2"));
}

TEST_F(FrontierTest, E1_AFailedWriteStopsTheFrontierWithItsStateIntact) {
  auto frontier_options = options();
  bool full = false;
  frontier_options.testing.before_commit = [&]() -> Result<void> {
    if (full) return error(ErrorCode::kNoSpace, "pages.jsonl: no space left");
    return {};
  };
  {
    const auto frontier = open(frontier_options);
    offer(*frontier, {"http://a.test/", "http://b.test/"});
    const auto leases = lease_all(*frontier);
    complete(*frontier, leases[0], {"http://c.test/"});
    ASSERT_TRUE(frontier->flush());
    full = true;
    complete(*frontier, leases[1], {"http://d.test/"});
    const auto flushed = frontier->flush();
    ASSERT_FALSE(flushed);
    EXPECT_EQ(flushed.error().code, ErrorCode::kNoSpace);
    EXPECT_THAT(flushed.error().message, HasSubstr("no space left"));
    EXPECT_EQ(frontier->offer(test::Requests({"http://e.test/"}).get()).error().code,
              ErrorCode::kNoSpace);
    EXPECT_EQ(frontier->lease({.max = 1}).error().code, ErrorCode::kNoSpace);
    EXPECT_EQ(frontier->checkpoint().error().code, ErrorCode::kNoSpace);
  }
  full = false;
  const auto frontier = open(frontier_options);
  // b was not completed, so its link d was not admitted either.
  EXPECT_THAT(urls_of(lease_all(*frontier)),
              UnorderedElementsAre("http://b.test/", "http://c.test/"));
  EXPECT_THAT(
      offer(*frontier, {"http://a.test/", "http://c.test/", "http://d.test/", "http://e.test/"}),
      ElementsAre(Admission::kSeen, Admission::kSeen, Admission::kNew, Admission::kNew));
}

TEST_F(FrontierTest, ModesDirectoriesAndLocksAreChecked) {
  auto create = options();
  create.mode = OpenMode::kCreate;
  auto resume = options();
  resume.mode = OpenMode::kResume;
  EXPECT_EQ(EmbeddedFrontier::open(resume, &opened_).error().code, ErrorCode::kNotFound);
  {
    const auto frontier = open(create);
    const auto second = EmbeddedFrontier::open(options(), &opened_);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kInUse);
    EXPECT_THAT(second.error().message, HasSubstr(std::to_string(::getpid())));
  }
  EXPECT_EQ(EmbeddedFrontier::open(create, &opened_).error().code, ErrorCode::kAlreadyExists);
  open(resume);
  EXPECT_TRUE(opened_.resumed);

  auto below_a_file = options();
  below_a_file.directory = options().directory / "MANIFEST" / "state";
  EXPECT_FALSE(EmbeddedFrontier::open(below_a_file, &opened_));
}

TEST_F(FrontierTest, ImpossibleOptionsAreRefusedBeforeAnythingIsMade) {
  const auto refused = [&](auto change) {
    auto wrong = options();
    change(wrong);
    const auto frontier = EmbeddedFrontier::open(wrong, &opened_);
    return !frontier && frontier.error().code == ErrorCode::kInvalidArgument &&
           !std::filesystem::exists(options().directory);
  };
  EXPECT_TRUE(refused([](EmbeddedOptions& o) { o.directory.clear(); }));
  EXPECT_TRUE(
      refused([](EmbeddedOptions& o) { o.politeness.delay = std::chrono::milliseconds(-1); }));
  EXPECT_TRUE(refused([](EmbeddedOptions& o) { o.politeness.leases_per_host = 0; }));
  EXPECT_TRUE(refused([](EmbeddedOptions& o) { o.limits.max_open_leases = 0; }));
  EXPECT_TRUE(refused([](EmbeddedOptions& o) { o.store.shards = 0; }));
  EXPECT_TRUE(refused([](EmbeddedOptions& o) { o.store.shards = 1025; }));
  EXPECT_TRUE(
      refused([](EmbeddedOptions& o) { o.store.shards = 2, o.limits.max_open_leases = 1; }));
  EXPECT_TRUE(refused(
      [](EmbeddedOptions& o) { o.politeness.delay = kMaxDelay + std::chrono::seconds(1); }));
  EXPECT_TRUE(refused([](EmbeddedOptions& o) { o.checkpoints.keep = 0; }));
  EXPECT_TRUE(refused([](EmbeddedOptions& o) { o.seen.expected_urls = 0; }));
  EXPECT_TRUE(refused([](EmbeddedOptions& o) { o.seen.false_positive_rate = 1; }));
}

TEST_F(FrontierTest, ItsProfileDecidesWhatIsTheSameAndIsKept) {
  auto with_rules = options();
  with_rules.seen.profile.rules.sort_query = true;
  {
    const auto frontier = open(with_rules);
    EXPECT_EQ(offer(*frontier, {"http://a.test/?b=1&a=2", "http://a.test/?a=2&b=1"}),
              (std::vector{Admission::kNew, Admission::kSeen}));
    ASSERT_TRUE(frontier->close());
  }
  const auto refused = EmbeddedFrontier::open(options(), &opened_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kProfileMismatch);
  EXPECT_NE(refused.error().message.find("sort_query is off now"), std::string::npos)
      << refused.error().message;

  auto replacing = options();
  replacing.seen.replace_profile = true;
  {
    const auto frontier = open(replacing);
    ASSERT_EQ(opened_.warnings.size(), 1u);
    EXPECT_EQ(offer_one(*frontier, "http://a.test/?b=1&a=2"), Admission::kNew)
        << "its key was another";
  }
  // It was replaced for good, though that frontier was not closed.
  EXPECT_EQ(offer_one(*open(), "http://a.test/?b=1&a=2"), Admission::kSeen);
  EXPECT_EQ(EmbeddedFrontier::open(with_rules, &opened_).error().code, ErrorCode::kProfileMismatch);
}

TEST_F(FrontierTest, AProfileThatCannotBeIsRefused) {
  auto wrong = options();
  wrong.seen.profile.hosts.push_back({.host = "Not a host"});
  EXPECT_EQ(EmbeddedFrontier::open(wrong, &opened_).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(wrong.directory));
}

TEST_F(FrontierTest, TheFilterGrowsBeyondTheExpectedNumberAndNothingIsAdmittedTwice) {
  auto small = options();
  small.seen.expected_urls = 500;
  std::vector<std::string> urls;
  for (int i = 0; i < 20'000; ++i)
    urls.push_back("http://a.test/" + std::to_string(i));
  const std::vector<std::string> first(urls.begin(), urls.begin() + 10'000);
  {
    const auto frontier = open(small);
    EXPECT_EQ(std::ranges::count(offer(*frontier, first), Admission::kNew), 10'000);
    EXPECT_GT(frontier->stats()->filter.layers, 3u);
    EXPECT_LE(frontier->stats()->false_positive_rate, small.seen.false_positive_rate);
    ASSERT_TRUE(frontier->checkpoint());
    // After the checkpoint, so that replaying the log makes the filter grow too.
    offer(*frontier, urls);
  }
  const auto frontier = open(small);
  EXPECT_GT(opened_.replayed, 0u);
  EXPECT_EQ(std::ranges::count(offer(*frontier, urls), Admission::kSeen), 20'000);
  EXPECT_GT(frontier->stats()->filter.capacity, 20'000u);
  EXPECT_TRUE(frontier->stats()->filter_warning.empty());
}

TEST_F(FrontierTest, AFilterThatMayNotGrowSaysSo) {
  auto small = options();
  small.seen.expected_urls = 1'000;
  small.seen.max_memory = 20'000;
  const auto frontier = open(small);
  std::vector<std::string> urls;
  for (int i = 0; i < 5'000; ++i)
    urls.push_back("http://a.test/" + std::to_string(i));
  offer(*frontier, urls);
  EXPECT_NE(frontier->stats()->filter_warning.find("allow more"), std::string::npos)
      << frontier->stats()->filter_warning;
  EXPECT_GT(frontier->stats()->false_positive_rate, small.seen.false_positive_rate);
}

TEST_F(FrontierTest, AClosedFrontierRefusesWorkAndFreesItsDirectory) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  const Lease lease = lease_all(*frontier).at(0);
  ASSERT_TRUE(frontier->close());
  EXPECT_TRUE(frontier->close()) << "closing twice is no error";
  EXPECT_EQ(frontier->offer(test::Requests({"http://b.test/"}).get()).error().code,
            ErrorCode::kClosed);
  EXPECT_EQ(frontier->lease({.max = 1}).error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->complete(lease.id, {}, {}).error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->checkpoint().error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->flush().error().code, ErrorCode::kClosed);
  EXPECT_EQ(frontier->stats()->admitted, 1u);
  EXPECT_EQ(urls_of(lease_all(*open())), urls_of({lease}));
}

TEST_F(FrontierTest, ARemovedFrontierLeavesNothingOfItsOwnAndNothingElseIsTouched) {
  { offer_one(*open(), "http://a.test/"); }
  std::ofstream(options().directory / "mine.txt") << "kept";
  {
    const auto frontier = open();
    ASSERT_TRUE(frontier->checkpoint());
    EXPECT_EQ(EmbeddedFrontier::remove(options().directory).error().code, ErrorCode::kInUse);
  }
  ASSERT_TRUE(EmbeddedFrontier::remove(options().directory));
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(options().directory)) {
    left.push_back(entry.path().filename());
  }
  EXPECT_THAT(left, ElementsAre("mine.txt"));
  EXPECT_TRUE(EmbeddedFrontier::remove(directory_.path() / "none"));
  EXPECT_EQ(offer_one(*open(), "http://a.test/"), Admission::kNew);
}

TEST_F(FrontierTest, ClosingWhileOthersOfferLosesNothingThatWasAnswered) {
  const auto frontier = open();
  std::atomic<std::uint64_t> answered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0;; ++n) {
        const auto url = fmt::format("http://host{}.test/{}", t, n);
        if (!frontier->offer(test::Requests({url}).get())) return;
        answered.fetch_add(1);
      }
    });
  }
  while (answered.load() < 50)
    std::this_thread::yield();
  ASSERT_TRUE(frontier->close());
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(frontier->stats()->admitted, answered.load());
  EXPECT_EQ(lease_all(*open()).size(), answered.load());
}

}  // namespace
}  // namespace trawl
