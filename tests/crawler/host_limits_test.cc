#include "crawler/decide/host_limits.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

// A place for the URL `n` of the host, or none.
std::optional<HostUrlQuota::Place> take(HostUrlQuota& counts, std::string_view host, int n) {
  return counts.take(host, fmt::format("http://{}/{}", host, n));
}

// Offers the URLs of a page to a frontier that knows those in `seen`; returns how many had a place.
int offer_page(HostUrlQuota& counts, std::set<int>& seen, const std::vector<int>& links) {
  std::vector<std::pair<int, HostUrlQuota::Place>> offered;
  for (const int link : links)
    if (const auto place = take(counts, "h.test", link)) offered.emplace_back(link, *place);
  for (const auto& [link, place] : offered)
    counts.report(place, seen.insert(link).second ? Admission::kNew : Admission::kSeen);
  return static_cast<int>(offered.size());
}

std::vector<int> numbers(int first, int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

TEST(HostUrlQuota, WithoutALimitEveryUrlHasAPlace) {
  HostUrlQuota counts(std::nullopt);
  EXPECT_FALSE(counts.limited());
  for (int i = 0; i < 10; ++i) {
    const auto place = take(counts, "h.test", i);
    ASSERT_TRUE(place);
    counts.report(*place, Admission::kNew);
  }
  counts.note("h.test", "http://h.test/", Admission::kNew);
  EXPECT_EQ(counts.count("h.test"), 0u) << "nothing is counted";
}

TEST(HostUrlQuota, EachHostHasItsOwnPlaces) {
  HostUrlQuota counts(2);
  EXPECT_TRUE(take(counts, "a.test", 1));
  EXPECT_TRUE(take(counts, "a.test", 2));
  EXPECT_FALSE(take(counts, "a.test", 3));
  EXPECT_TRUE(take(counts, "a.test:8080", 1));
  EXPECT_TRUE(take(counts, "b.test", 1));
  EXPECT_EQ(counts.count("a.test"), 2u);
  EXPECT_EQ(counts.count("c.test"), 0u);
}

TEST(HostUrlQuota, APlaceStaysTakenForWhatIsNewAlone) {
  for (const auto admission : {std::optional(Admission::kSeen), std::optional(Admission::kInvalid),
                               std::optional(Admission::kTooLong), std::optional<Admission>()}) {
    HostUrlQuota counts(1);
    const auto place = take(counts, "h.test", 1);
    ASSERT_TRUE(place);
    EXPECT_FALSE(take(counts, "h.test", 2)) << "it may be new";
    counts.report(*place, admission);
    EXPECT_EQ(counts.count("h.test"), 0u);
    const auto other = take(counts, "h.test", 2);
    ASSERT_TRUE(other);
    counts.report(*other, Admission::kNew);
    EXPECT_FALSE(take(counts, "h.test", 3));
    EXPECT_EQ(take(counts, "h.test", 1).has_value(), admission == Admission::kSeen)
        << "one that is known is let through";
  }
}

TEST(HostUrlQuota, KnownLinksKeepNoNewOnesOut) {
  HostUrlQuota counts(60);
  std::set<int> seen;
  offer_page(counts, seen, numbers(0, 31));
  for (int page = 0; page < 5; ++page) {
    std::vector<int> links = numbers(0, 30);
    for (const int link : numbers(1000 + 10 * page, 10))
      links.push_back(link);
    EXPECT_EQ(offer_page(counts, seen, links), page < 2 ? 40 : page == 2 ? 39 : 30) << page;
    EXPECT_EQ(counts.count("h.test"), seen.size());
  }
  EXPECT_EQ(seen.size(), 60u);
}

TEST(HostUrlQuota, EqualLinksShareAPlace) {
  HostUrlQuota counts(1);
  const auto first = take(counts, "h.test", 1);
  const auto second = take(counts, "h.test", 1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(counts.count("h.test"), 1u);
  // The frontier answered the other thread that the URL is new; that answer arrives here last.
  counts.report(*first, Admission::kSeen);
  EXPECT_FALSE(take(counts, "h.test", 2));
  counts.report(*second, Admission::kNew);
  EXPECT_EQ(counts.count("h.test"), 1u);
  EXPECT_FALSE(take(counts, "h.test", 2));
}

TEST(HostUrlQuota, SeedsCountEvenBeyondTheLimit) {
  HostUrlQuota counts(1);
  counts.note("h.test", "http://h.test/1", Admission::kNew);
  counts.note("h.test", "http://h.test/2", Admission::kNew);
  counts.note("h.test", "http://h.test/3", Admission::kSeen);
  EXPECT_EQ(counts.count("h.test"), 2u);
  EXPECT_TRUE(take(counts, "h.test", 2));
  EXPECT_TRUE(take(counts, "h.test", 3));
  EXPECT_FALSE(take(counts, "h.test", 4));
}

// The host's owner counts what is forwarded to it.
TEST(HostUrlQuota, ForwardedUrlsAreNeitherCountedNorKnown) {
  HostUrlQuota counts(1);
  for (int i = 0; i < 5; ++i) {
    const auto place = take(counts, "h.test", i);
    ASSERT_TRUE(place);
    counts.report(*place, Admission::kForwarded);
    counts.note("h.test", "http://h.test/", Admission::kForwarded);
  }
  EXPECT_EQ(counts.count("h.test"), 0u);
  // The host has come meanwhile, and another URL took its place.
  counts.note("h.test", "http://h.test/new", Admission::kNew);
  EXPECT_FALSE(take(counts, "h.test", 1));
}

TEST(HostUrlQuota, AHostThatComesIsCountedByWhatWaitsOrWasAdmittedHere) {
  HostUrlQuota counts(5);
  counts.came("h.test", 3);
  EXPECT_EQ(counts.count("h.test"), 3u);
  counts.note("h.test", "http://h.test/", Admission::kNew);
  counts.came("h.test", 2);
  EXPECT_EQ(counts.count("h.test"), 4u) << "admitted here, and fetched meanwhile";
  const auto place = take(counts, "h.test", 1);
  ASSERT_TRUE(place);
  counts.came("h.test", 5);
  EXPECT_EQ(counts.count("h.test"), 6u) << "the place is under way";
  EXPECT_FALSE(take(counts, "h.test", 2));
  counts.report(*place, Admission::kForwarded);
  EXPECT_EQ(counts.count("h.test"), 5u);
  EXPECT_FALSE(take(counts, "h.test", 2));
}

TEST(HostUrlQuota, ALimitOfNoneAdmitsNone) {
  HostUrlQuota counts(0);
  EXPECT_FALSE(take(counts, "a.test", 1));
}

TEST(HostUrlQuota, ManyThreadsFillTheLimitAndNeverExceedIt) {
  constexpr int kHosts = 3;
  HostUrlQuota counts(1000);
  std::array<std::set<int>, kHosts> seen;
  std::array<std::mutex, kHosts> mutexes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 6000; ++i) {
        const std::size_t h = static_cast<std::size_t>(i + t) % kHosts;
        // Half of the links are those of other threads, too.
        const auto place =
            take(counts, fmt::format("h{}.test", h), i % 2 == 0 ? i : 10'000 * (t + 1) + i);
        if (!place) continue;
        std::unique_lock lock(mutexes[h]);
        const bool is_new = seen[h].insert(i % 2 == 0 ? i : 10'000 * (t + 1) + i).second;
        EXPECT_LE(seen[h].size(), 1000u);
        lock.unlock();
        counts.report(*place, is_new ? Admission::kNew : Admission::kSeen);
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  for (std::size_t h = 0; h < kHosts; ++h) {
    EXPECT_EQ(seen[h].size(), 1000u);
    EXPECT_EQ(counts.count(fmt::format("h{}.test", h)), 1000u);
  }
}

TEST(RecentHashes, KnowsTheLastOnesMet) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  RecentHashes hashes;
  EXPECT_FALSE(hashes.contains(0));
  const std::uint64_t often = random() | 1;
  hashes.insert(often);
  std::uint64_t last = 0;
  for (int i = 0; i < 3'000'000; ++i) {
    hashes.insert(last = random() | 1);
    if (i % 10'000 == 0) {
      ASSERT_TRUE(hashes.contains(often)) << i;
      ASSERT_TRUE(hashes.contains(last));
    }
  }
  int kept = 0;
  random.seed(seed);
  for (int i = 0; i < 100'000; ++i)
    kept += hashes.contains(random() | 1) ? 1 : 0;
  EXPECT_LT(kept, 1000) << "the first ones were forgotten";
}

class HostLimitsInFrontier : public testing::Test {
 protected:
  std::unique_ptr<Frontier> open() {
    EmbeddedOptions options;
    options.directory = directory_.path() / "state";
    options.seen.expected_urls = 1000;
    options.politeness.delay = std::chrono::milliseconds(0);
    options.politeness.leases_per_host = 100;
    return EmbeddedFrontier::open(options, &opened_).value();
  }
  static void offer(Frontier& frontier, const std::string& host, int count) {
    std::vector<std::string> texts;
    for (int i = 0; i < count; ++i)
      texts.push_back(fmt::format("http://{}/{}", host, i));
    std::vector<UrlRequest> requests;
    for (const std::string& text : texts)
      requests.push_back({.url = text});
    ASSERT_TRUE(frontier.offer(requests).has_value());
  }
  // Leases and completes until nothing is left; returns how many.
  static int crawl(Frontier& frontier, HostPageQuota& limits, std::size_t at_once) {
    int pages = 0;
    for (;;) {
      const auto leases = frontier.lease({.max = at_once}).value();
      if (leases.empty()) return pages;
      for (const Lease& lease : leases) {
        EXPECT_TRUE(limits.on_lease(lease.host).has_value());
        EXPECT_TRUE(frontier.complete(lease.id, {.status = 200}, {}).has_value());
        ++pages;
      }
      EXPECT_TRUE(frontier.flush().has_value());
    }
  }

  test::TemporaryDirectory directory_;
  OpenReport opened_;
};

TEST_F(HostLimitsInFrontier, UrlCountsBeginWithThoseThatWait) {
  const auto frontier = open();
  offer(*frontier, "a.test", 3);
  offer(*frontier, "b.test:8080", 1);
  HostUrlQuota counts(4);
  ASSERT_TRUE(counts.start(*frontier).has_value());
  EXPECT_EQ(counts.count("a.test"), 3u);
  EXPECT_EQ(counts.count("b.test:8080"), 1u);
  EXPECT_TRUE(take(counts, "a.test", 3));
  EXPECT_FALSE(take(counts, "a.test", 4));
}

TEST_F(HostLimitsInFrontier, TheirMemoryCountsInTheBudget) {
  const auto budget = std::make_shared<BodyMemoryBudget>(64u << 20);
  const auto frontier = open();
  offer(*frontier, "a.test", 3);
  offer(*frontier, "b.test", 1);
  {
    HostUrlQuota counts(4, budget);
    ASSERT_TRUE(counts.start(*frontier).has_value());
    EXPECT_TRUE(take(counts, "c.test", 1));
    EXPECT_TRUE(take(counts, "c.test", 2));
    EXPECT_GT(budget->held(), RecentHashes::kBytes + 3 * 12);
    EXPECT_LT(budget->held(), RecentHashes::kBytes + 3 * 1024);
  }
  HostPageQuota limits(*frontier, opened_.resumed, 5, budget);
  EXPECT_EQ(budget->held(), 0u);
  EXPECT_EQ(crawl(*frontier, limits, 1), 4);
  EXPECT_EQ(budget->held(), 2 * HostPageQuota::kBytesOfAHost);
  EXPECT_EQ(HostUrlQuota(std::nullopt, budget).count("a.test"), 0u);
  EXPECT_EQ(budget->held(), 2 * HostPageQuota::kBytesOfAHost) << "no limit takes nothing";
}

TEST_F(HostLimitsInFrontier, SoManyPagesOfEachHostAreFetched) {
  const auto frontier = open();
  offer(*frontier, "a.test", 20);
  offer(*frontier, "b.test", 3);
  HostPageQuota limits(*frontier, opened_.resumed, 5);
  EXPECT_EQ(crawl(*frontier, limits, 1), 8);
  EXPECT_TRUE(frontier->progress()->exhausted);
}

TEST_F(HostLimitsInFrontier, TheLimitHoldsOverARestart) {
  {
    const auto frontier = open();
    offer(*frontier, "a.test", 20);
    HostPageQuota limits(*frontier, opened_.resumed, 5);
    const auto leases = frontier->lease({.max = 2}).value();
    for (const Lease& lease : leases) {
      ASSERT_TRUE(limits.on_lease(lease.host).has_value());
      ASSERT_TRUE(frontier->complete(lease.id, {.status = 200}, {}).has_value());
    }
    ASSERT_EQ(leases.size(), 2u);
    ASSERT_TRUE(frontier->close().has_value());
  }
  const auto frontier = open();
  HostPageQuota limits(*frontier, opened_.resumed, 5);
  EXPECT_EQ(crawl(*frontier, limits, 1), 3);
}

// A run of the crawl with that limit: how many pages of the host were fetched.
class ChangedPageLimits : public HostLimitsInFrontier {
 protected:
  int run(std::optional<std::uint64_t> limit) {
    const auto frontier = open();
    offer(*frontier, "a.test", 20);
    const auto begun = HostPageQuota::begin(*frontier, opened_.resumed, directory(), limit);
    EXPECT_TRUE(begun.has_value()) << begun.error().message;
    HostPageQuota limits(*frontier, opened_.resumed, limit);
    const int pages = crawl(*frontier, limits, 1);
    EXPECT_TRUE(frontier->close().has_value());
    return pages;
  }
  std::filesystem::path directory() const { return directory_.path() / "state"; }
  void write(std::string_view text) {
    std::ofstream(HostPageQuota::path(directory()), std::ios::binary) << text;
  }
};

TEST_F(ChangedPageLimits, AHigherOneLeavesTheDifference) {
  EXPECT_EQ(run(5), 5);
  EXPECT_EQ(run(5), 0);
  EXPECT_EQ(run(7), 2);
  EXPECT_EQ(run(20), 13);
}

TEST_F(ChangedPageLimits, ACrawlWithoutOneHasNoFileAndTakesOneLater) {
  {
    const auto frontier = open();
    write("limit 3\n");  // of a crawl whose creation was interrupted
    offer(*frontier, "a.test", 20);
    ASSERT_TRUE(HostPageQuota::begin(*frontier, opened_.resumed, directory(), std::nullopt));
    EXPECT_FALSE(std::filesystem::exists(HostPageQuota::path(directory())));
    EXPECT_TRUE(frontier->close().has_value());
  }
  EXPECT_EQ(run(5), 5);
  EXPECT_EQ(run(7), 2);
}

TEST_F(ChangedPageLimits, ALowerOneEndsTheHostAndIsRaisedFromThere) {
  EXPECT_EQ(run(5), 5);
  EXPECT_EQ(run(3), 0);
  EXPECT_EQ(run(4), 1) << "that the three were five is forgotten";
}

TEST_F(ChangedPageLimits, ItCanBeRemoved) {
  EXPECT_EQ(run(5), 5);
  EXPECT_EQ(run(std::nullopt), 15);
}

TEST_F(ChangedPageLimits, OneThatComesLaterCountsFromThen) {
  {
    const auto frontier = open();
    offer(*frontier, "a.test", 20);
    ASSERT_TRUE(
        HostPageQuota::begin(*frontier, opened_.resumed, directory(), std::nullopt).has_value());
    const auto leases = frontier->lease({.max = 4}).value();
    ASSERT_EQ(leases.size(), 4u);
    for (const Lease& lease : leases)
      ASSERT_TRUE(frontier->complete(lease.id, {.status = 200}, {}).has_value());
    ASSERT_TRUE(frontier->close().has_value());
  }
  EXPECT_EQ(run(5), 5);
}

TEST_F(ChangedPageLimits, AChangeThatACrashCutOffIsFinished) {
  EXPECT_EQ(run(5), 5);
  // It was to become 12, and one host of two had been set when the next run brings 14.
  write("limit 5\nto 12\n7 a.test\n12 b.test:8080\nend\n");
  EXPECT_EQ(run(14), 9);
  write("limit 14\nto none\nnone a.test\nend\n");
  EXPECT_EQ(run(std::nullopt), 6);
}

TEST_F(ChangedPageLimits, ADamagedFileIsRefused) {
  EXPECT_EQ(run(5), 5);
  const auto frontier = open();
  for (const char* text : {"", "limit", "limit 5", "limit x\n", "limit 5\nto 7\n",
                           "limit 5\nto 7\n2 a.test\n", "limit 5\nto 7\n2\nend\n",
                           "limit 5\nto\nend\n", "limit -1\n", "limit 5\nto 7\nend\nmore\n"}) {
    write(text);
    const auto begun = HostPageQuota::begin(*frontier, opened_.resumed, directory(), 7);
    ASSERT_FALSE(begun.has_value()) << text;
    EXPECT_EQ(begun.error().code, ErrorCode::kCorrupt) << text;
  }
}

TEST_F(ChangedPageLimits, AFileOfAnotherCrawlCountsForNothing) {
  std::filesystem::create_directories(directory());
  write("limit 3\n");
  EXPECT_EQ(run(5), 5);
  EXPECT_EQ(run(6), 1);
}

TEST_F(HostLimitsInFrontier, WithoutALimitAllAreFetched) {
  const auto frontier = open();
  offer(*frontier, "a.test", 20);
  HostPageQuota limits(*frontier, opened_.resumed, std::nullopt);
  EXPECT_EQ(crawl(*frontier, limits, 7), 20);
}

}  // namespace
}  // namespace trawl
