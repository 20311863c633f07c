#include <atomic>
#include <cstdint>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "tests/frontier/frontier_fixture.h"

namespace trawl {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class FrontierTest : public test::FrontierFixture {};

TEST_F(FrontierTest, AnswersAreDurableBeforeWhatIsFlushedLater) {
  {
    const auto frontier = open();
    const auto requests = test::Requests({"http://a.test/1", "http://a.test/2"});
    EXPECT_THAT(frontier->offer(requests.get(), OfferWait::kAnswer).value(),
                ElementsAre(Admission::kNew, Admission::kNew));
    ASSERT_TRUE(frontier->flush());
    EXPECT_EQ(frontier->stats()->admitted, 2u);
  }
  EXPECT_EQ(lease_all(*open()).size(), 2u);
}

// More than a run of encoded URLs takes: the others follow it.
TEST_F(FrontierTest, N1_UrlsWithVeryLargeNotesAreQueuedInTheirOrder) {
  auto options = FrontierFixture::options();
  options.limits.max_note_bytes = 16u << 20;
  options.politeness.leases_per_host = 6;
  options.politeness.delay = std::chrono::milliseconds(0);
  const std::string note(options.limits.max_note_bytes, 'n');
  std::vector<std::string> urls;
  for (int n = 0; n < 6; ++n)
    urls.push_back(fmt::format("http://a.test/{}", n));
  {
    const auto frontier = open(options);
    std::vector<UrlRequest> requests;
    for (const std::string& url : urls)
      requests.push_back({.url = url, .note = note});
    ASSERT_TRUE(frontier->offer(requests));
  }
  const auto frontier = open(options);
  std::vector<std::string> leased;
  for (std::size_t n = 0; n < urls.size(); ++n) {
    const auto found = frontier->lease({.max = 1, .wait = std::chrono::seconds(30)});
    ASSERT_TRUE(found);
    for (const Lease& one : *found) {
      leased.push_back(one.url);
      EXPECT_EQ(one.note, note);
    }
  }
  EXPECT_EQ(leased, urls);
}

TEST_F(FrontierTest, WithoutALedgerWhatIsDoneIsOnlySeen) {
  const auto frontier = open();
  offer(*frontier, {"http://a.test/"});
  complete(*frontier, lease_all(*frontier).at(0));
  EXPECT_EQ(frontier->lookup("http://a.test/")->kind, UrlState::Kind::kSeen);
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

// What others do comes in between: no commit has more than a few of its links.
TEST_F(FrontierTest, APageWithVeryManyLinksIsDurableInSmallParts) {
  constexpr std::size_t kLinks = 20'000;
  auto frontier_options = options();
  std::atomic<std::uint64_t> commits{0};
  std::atomic<std::uint64_t> last{~std::uint64_t{0}};
  frontier_options.testing.before_commit = [&]() -> Result<void> {
    if (++commits > last) return error(ErrorCode::kNoSpace, "no space left");
    return {};
  };
  test::Requests links;
  for (std::size_t n = 0; n < kLinks; ++n)
    links.add(fmt::format("http://c.test/{}", n));
  {
    const auto frontier = open(frontier_options);
    offer(*frontier, {"http://a.test/", "http://b.test/"});
    const auto leases = lease_all(*frontier);
    commits = 0;
    ASSERT_TRUE(frontier->complete(leases[0].id, {.status = 200}, links.get()));
    ASSERT_TRUE(frontier->flush());
    EXPECT_GE(commits, kLinks / 512);
    // N3, E1: the page is not done if only some of its links are durable.
    last = commits + 5;
    for (std::size_t n = 0; n < kLinks; ++n)
      links.add(fmt::format("http://d.test/{}", n));
    const auto failed = frontier->complete(leases[1].id, {.status = 200}, links.get());
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kNoSpace);
  }
  last = ~std::uint64_t{0};
  const auto frontier = open(frontier_options);
  const auto waiting = urls_of(lease_all(*frontier));
  EXPECT_THAT(waiting, Contains("http://b.test/"));
  EXPECT_THAT(waiting, Not(Contains("http://a.test/")));
  EXPECT_GE(waiting.size(), kLinks + 1);
  EXPECT_LT(waiting.size(), 2 * kLinks);
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

TEST_F(FrontierTest, AClosedFrontierFreesItsDirectory) {
  const auto frontier = open();
  offer_one(*frontier, "http://a.test/");
  const Lease lease = lease_all(*frontier).at(0);
  ASSERT_TRUE(frontier->close());
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

TEST_F(FrontierTest, LooksAtWhatADirectoryHoldsAndChangesNothing) {
  const auto directory = options().directory;
  const auto look = [&] { return EmbeddedFrontier::look_at(directory).value(); };
  EXPECT_FALSE(look().resumable || look().holds_one || look().has_remains || look().ledger);
  EXPECT_TRUE(look().names.empty());
  auto with_ledger = options();
  with_ledger.seen.ledger = true;
  {
    const auto frontier = open(with_ledger);
    offer_one(*frontier, "http://a.test/");
    ASSERT_TRUE(frontier->checkpoint());
    EXPECT_EQ(EmbeddedFrontier::lock(directory).error().code, ErrorCode::kInUse);
    EXPECT_TRUE(look().resumable) << "while it is open";
  }
  FrontierDirectory found = look();
  EXPECT_TRUE(found.resumable && found.holds_one);
  EXPECT_EQ(found.ledger, true);
  EXPECT_THAT(found.names, UnorderedElementsAre("LOCK", "store"));
  EXPECT_THAT(found.description, HasSubstr("MANIFEST, 1 checkpoint, store"));
  {
    const auto held = EmbeddedFrontier::lock(directory);
    ASSERT_TRUE(held);
    EXPECT_EQ(EmbeddedFrontier::open(options(), &opened_).error().code, ErrorCode::kInUse);
  }
  // Cut short in the making, or its MANIFEST is lost.
  std::filesystem::remove(directory / "MANIFEST");
  found = look();
  EXPECT_FALSE(found.resumable || found.holds_one || found.ledger);
  EXPECT_TRUE(found.has_remains);
  std::ofstream(directory / "store" / "notes.txt") << "mine";
  EXPECT_TRUE(EmbeddedFrontier::remove(directory)->empty()) << "nothing unless asked";
  EXPECT_TRUE(look().has_remains);
  const auto left = EmbeddedFrontier::remove(directory, true).value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(left[0] / "notes.txt")) << "not its own";
  EXPECT_FALSE(look().has_remains);
  // A removal that was killed after the store's own head.
  std::ofstream(directory / "store" / "000004.log") << "rest";
  EXPECT_FALSE(look().has_remains);
  ASSERT_TRUE(EmbeddedFrontier::remove(directory, true));
  EXPECT_FALSE(std::filesystem::exists(directory / "store" / "000004.log"));
  EXPECT_TRUE(std::filesystem::exists(directory / "store" / "notes.txt"));
  std::filesystem::create_symlink("elsewhere", directory / "MANIFEST");
  EXPECT_EQ(EmbeddedFrontier::look_at(directory).error().code, ErrorCode::kInvalidArgument);
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
