// The pages of earlier runs are planned once, for any contents of pages.jsonl.
#include "crawler/decide/recrawl_plan.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "tests/support/temporary_directory.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::string line(std::string_view path, int status = 200, std::string_view more = "") {
  return fmt::format(R"({{"url":"http://a.example/{}","status":{},"error":null,"depth":2,)"
                     R"("fetched_at":"2026-01-02T03:04:05.678Z"{}}})"
                     "\n",
                     path, status, more);
}

class RecrawlPlanTest : public testing::Test {
 protected:
  static CrawlConfig::Recrawl daily() {
    CrawlConfig::Recrawl config;
    config.interval = 24h;
    return config;
  }

  void append(std::string_view text) {
    std::ofstream(pages(), std::ios::binary | std::ios::app) << text;
  }

  RecrawlPlan open(const CrawlConfig::Recrawl& config = daily()) {
    auto plan = RecrawlPlan::open(directory_.path(), pages(), RecrawlPolicy(config));
    EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
    return std::move(plan.value());
  }

  // The paths that a run plans, in batches of `limit`; all committed.
  std::vector<std::string> run(const CrawlConfig::Recrawl& config = daily(),
                               std::size_t limit = 2) {
    RecrawlPlan plan = open(config);
    std::vector<std::string> paths;
    while (true) {
      const auto batch = plan.next(limit);
      EXPECT_TRUE(batch.has_value());
      if (!batch || batch->empty()) break;
      EXPECT_LE(batch->size(), limit);
      for (const PlannedRecrawl& page : *batch)
        paths.push_back(page.url.substr(std::string_view("http://a.example/").size()));
      EXPECT_TRUE(plan.commit().has_value());
    }
    EXPECT_EQ(plan.planned(), paths.size());
    damaged_ = plan.damaged_lines();
    return paths;
  }

  std::filesystem::path pages() const { return directory_.path() / "pages.jsonl"; }
  std::filesystem::path marker() const { return directory_.path() / "recrawl-plan"; }

  TemporaryDirectory directory_;
  std::uint64_t damaged_ = 0;
};

TEST_F(RecrawlPlanTest, HasWhatTheLinesSay) {
  append(line("a", 200,
              R"(,"parent":"http://a.example/","etag":"\"x\"","digest":"sha1:A",)"
              R"("last_modified":"Sat, 21 Nov 2026 20:31:09 GMT")"));
  RecrawlPlan plan = open();
  const auto batch = plan.next(10);
  ASSERT_TRUE(batch.has_value());
  ASSERT_EQ(batch->size(), 1u);
  const PlannedRecrawl& page = batch->front();
  EXPECT_EQ(page.url, "http://a.example/a");
  EXPECT_EQ(page.parent, "http://a.example/");
  EXPECT_EQ(page.depth, 2u);
  EXPECT_EQ(page.note.etag, "\"x\"");
  EXPECT_EQ(page.note.last_modified, "Sat, 21 Nov 2026 20:31:09 GMT");
  EXPECT_EQ(page.note.digest, "sha1:A");
  EXPECT_EQ(page.note.interval, std::optional<std::chrono::milliseconds>(24h));
  EXPECT_EQ(page.not_before,
            std::chrono::sys_days(std::chrono::January / 3 / 2026) + 3h + 4min + 5s);
}

TEST_F(RecrawlPlanTest, HasThePagesThatWereFetchedWellAndAreToBeAgain) {
  append(line("a") + line("b", 404) + line("c", 304) + line("d", 301) + line("e", 204) +
         line("f", 0) + line("never/g") + line("h", 200));
  append(R"({"url":"http://a.example/i","status":200,"error":"cut off","depth":0,)"
         R"("fetched_at":"2026-01-02T03:04:05Z"})"
         "\n");
  CrawlConfig::Recrawl config = daily();
  config.rules = {{"*/never/*", std::nullopt}};
  EXPECT_THAT(run(config), ElementsAre("a", "c", "e", "h"));
  EXPECT_EQ(damaged_, 0u);
}

TEST_F(RecrawlPlanTest, HasRedirectsIfUrlsWithoutAPageHaveAnInterval) {
  append(line("a", 302, R"(,"digest":"sha1:A")") + line("b", 404) + line("c"));
  CrawlConfig::Recrawl config;
  config.failed = 1h;
  RecrawlPlan plan = open(config);
  const auto batch = plan.next(10).value();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].url, "http://a.example/a");
  EXPECT_EQ(batch[0].note, UrlNote{});
  EXPECT_EQ(batch[0].not_before,
            std::chrono::sys_days(std::chrono::January / 2 / 2026) + 4h + 4min + 5s);
}

TEST_F(RecrawlPlanTest, EachKindIsPlannedWhenItGetsAnInterval) {
  CrawlConfig::Recrawl failed;
  failed.failed = 1h;
  CrawlConfig::Recrawl both = daily();
  both.failed = 1h;
  EXPECT_THAT(run(), IsEmpty());
  append(line("a") + line("moved", 301));
  EXPECT_THAT(run(), IsEmpty()) << "its run planned the page";
  append(line("b") + line("moved-2", 302));
  EXPECT_THAT(run(both, 1), ElementsAre("moved", "moved-2"));
  append(line("c") + line("moved-3", 301));
  EXPECT_THAT(run(both), IsEmpty()) << "its run planned both";
  EXPECT_THAT(run(), IsEmpty());
  append(line("moved-4", 301));
  EXPECT_THAT(run(failed), ElementsAre("moved-4"));
  append(line("d") + line("moved-5", 308));
  EXPECT_THAT(run(both), ElementsAre("d"));
  EXPECT_THAT(run(both), IsEmpty());
}

TEST_F(RecrawlPlanTest, AMarkerOfAnEarlierBuildHasNoRedirectPlanned) {
  append(line("a") + line("moved", 301));
  const auto size = std::filesystem::file_size(pages());
  std::ofstream(marker()) << fmt::format("trawl-recrawl-plan 1\nnext {0}\nend {0}\non 1\n", size);
  CrawlConfig::Recrawl both = daily();
  both.failed = 1h;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(run(both), ElementsAre("moved"));
  EXPECT_THAT(run(both), IsEmpty());
}

TEST_F(RecrawlPlanTest, UrlsThatFailedBeforeArePlannedOnce) {
  SystemTime now = std::chrono::system_clock::now() - 3h;
  EmbeddedOptions options{.directory = directory_.path() / "frontier"};
  options.politeness.delay = 0ms;
  options.testing.wall_clock = [&now] { return now; };
  auto frontier = EmbeddedFrontier::open(options).value();
  constexpr int kUrls = 2500;  // more than are read at once
  std::vector<std::string> urls;
  for (int i = 0; i < kUrls; ++i)
    urls.push_back(fmt::format("http://h{}.example/", i));
  std::vector<UrlRequest> requests;
  for (const std::string& url : urls)
    requests.push_back({.url = url, .priority = 7, .depth = 3});
  ASSERT_TRUE(frontier->offer(requests));
  const auto leased = frontier->lease({.max = kUrls}).value();
  for (const Lease& lease : leased) {
    if (lease.url == urls[0]) {
      ASSERT_TRUE(frontier->complete(lease.id, {.error = "e", .reason = "crashed"}, {}));
    } else if (lease.url == urls[1]) {
      ASSERT_TRUE(frontier->hold(lease.id, {.reason = "too deep"}));
    } else {
      ASSERT_TRUE(frontier->complete(lease.id, {.status = 404}, {}));
    }
  }
  ASSERT_TRUE(frontier->flush());

  EXPECT_EQ(plan_failed_urls(*frontier, RecrawlPolicy(daily())).value(), 0u);
  CrawlConfig::Recrawl config;
  config.failed = 4h;
  const RecrawlPolicy policy(config);
  EXPECT_EQ(plan_failed_urls(*frontier, policy).value(), std::uint64_t{kUrls} - 2);
  EXPECT_EQ(plan_failed_urls(*frontier, policy).value(), 0u);
  FrontierStats stats = frontier->stats().value();
  EXPECT_EQ(stats.deferred, std::uint64_t{kUrls} - 2);
  EXPECT_EQ(stats.set_aside_failed, 1u);
  EXPECT_EQ(stats.held, 1u);
  now += 4h - 1min;
  EXPECT_TRUE(frontier->lease({.max = 1}).value().empty()) << "not before its time";
  now += 2min;
  auto leases = frontier->lease({.max = 1}).value();
  while (leases.empty())
    leases = frontier->lease({.max = 1}).value();  // those due are being queued
  EXPECT_TRUE(leases[0].recrawl);
  EXPECT_EQ(leases[0].priority, 7);
  EXPECT_EQ(leases[0].depth, 3u);
}

TEST_F(RecrawlPlanTest, UrlsThatFailedUnderOtherRulesForKeysArePlannedOnce) {
  EmbeddedOptions options{.directory = directory_.path() / "frontier"};
  options.politeness.delay = 0ms;
  options.politeness.leases_per_host = 100;
  constexpr std::uint64_t kUrls = 12;
  {
    auto frontier = EmbeddedFrontier::open(options).value();
    for (std::uint64_t i = 0; i < kUrls; ++i) {
      const std::string url = fmt::format("http://a.example/{}?b=1&a=2", i);
      const UrlRequest request{.url = url};
      ASSERT_TRUE(frontier->offer({&request, 1}));
    }
    const auto leased = frontier->lease({.max = kUrls}).value();
    for (const Lease& lease : leased)
      ASSERT_TRUE(frontier->complete(lease.id, {.status = 404}, {}));
    ASSERT_TRUE(frontier->close());
  }
  CrawlConfig::Recrawl config;
  config.failed = 24h;
  const RecrawlPolicy policy(config);
  options.seen.profile.rules.sort_query = true;
  options.seen.replace_profile = true;
  for (const std::uint64_t planned : {kUrls, std::uint64_t{0}}) {
    auto frontier = EmbeddedFrontier::open(options).value();
    EXPECT_EQ(plan_failed_urls(*frontier, policy).value(), planned);
    EXPECT_EQ(frontier->stats()->deferred, kUrls);
    EXPECT_EQ(frontier->stats()->set_aside_failed, 0u);
    ASSERT_TRUE(frontier->close());
  }
}

TEST_F(RecrawlPlanTest, IsMadeOnce) {
  EXPECT_THAT(run(), IsEmpty());  // no file yet
  // What a run with recrawling has fetched, it has also planned for.
  append(line("a"));
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(RecrawlPlanTest, CoversTheRunsWithoutRecrawlingAlone) {
  const CrawlConfig::Recrawl off;
  EXPECT_THAT(run(off), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(marker()));
  append(line("a") + line("b") + line("c"));
  EXPECT_THAT(run(off), IsEmpty());
  append(line("d"));
  EXPECT_THAT(run(), ElementsAre("a", "b", "c", "d"));
  append(line("with"));
  EXPECT_THAT(run(off), IsEmpty());
  append(line("without"));
  EXPECT_THAT(run(), ElementsAre("without"));
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(RecrawlPlanTest, GoesOnBehindWhatWasCommitted) {
  append(line("a") + line("b") + line("c") + line("d") + line("e"));
  {
    RecrawlPlan plan = open();
    ASSERT_EQ(plan.next(2)->size(), 2u);
    ASSERT_TRUE(plan.commit().has_value());
    ASSERT_EQ(plan.next(2)->size(), 2u);  // and dies here
  }
  append(line("fetched-by-it"));
  EXPECT_THAT(run(), ElementsAre("c", "d", "e"));
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(RecrawlPlanTest, IsDoneWithLinesOfNoPageTooWhenItIsAtItsEnd) {
  const CrawlConfig::Recrawl off;
  append(line("a") + line("gone", 404));
  EXPECT_THAT(run(), ElementsAre("a"));
  append(line("with"));
  EXPECT_THAT(run(off), IsEmpty());
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(RecrawlPlanTest, APageThatWasFetchedTwiceIsPlannedOnce) {
  append(line("a") + line("b") + line("a") + line("c"));
  EXPECT_THAT(run(), ElementsAre("a", "b", "c"));
}

TEST_F(RecrawlPlanTest, DamagedLinesAreSkippedAndCounted) {
  append(line("a"));
  append("\nnonsense\n{\n[]\n3\n{}\n");  // 6
  append(R"({"url":3,"status":200,"depth":0,"fetched_at":1})"
         "\n");                                                      // 7
  append(line("x", -1) + line("x", 200, R"(,"depth":-1)"));          // 9
  append(std::string(100'000, '[') + "\n");                          // 10
  append("{\"url\":\"\xff\xfe\"}\n" + std::string(3, '\0') + "\n");  // 12
  for (const std::string_view time :
       {"", "2026-01-02", "2026-13-02T03:04:05Z", "2026-02-30T03:04:05Z", "2026-01-02T24:04:05Z",
        "9999-01-02T03:04:05Z", "-026-01-02T03:04:05Z", "2026-01-02T03:04:05"}) {  // 20
    append(fmt::format(R"({{"url":"http://a.example/t","status":200,"depth":0,"fetched_at":"{}"}})"
                       "\n",
                       time));
  }
  append("\"" + std::string(5u << 20, 'x') + "\"\n");  // 21
  append(line("b"));
  append(line("half").substr(0, 30));
  EXPECT_THAT(run(), ElementsAre("a", "b"));
  EXPECT_EQ(damaged_, 21u);
}

TEST_F(RecrawlPlanTest, NothingOfALineGetsIntoAHeader) {
  append(line("a", 200, R"(,"etag":"x\r\nCookie: y","last_modified":7,"digest":["z"])"));
  RecrawlPlan plan = open();
  const auto batch = plan.next(10);
  ASSERT_EQ(batch->size(), 1u);
  EXPECT_EQ(batch->front().note.etag, "");
  EXPECT_EQ(batch->front().note.last_modified, "");
  EXPECT_EQ(batch->front().note.digest, "");
}

TEST_F(RecrawlPlanTest, AClockThatWasAheadPutsNothingOff) {
  append(
      R"({"url":"http://a.example/a","status":200,"depth":0,"fetched_at":"2199-01-02T03:04:05Z"})"
      "\n");
  RecrawlPlan plan = open();
  const auto batch = plan.next(10);
  ASSERT_EQ(batch->size(), 1u);
  EXPECT_LE(batch->front().not_before, std::chrono::system_clock::now() + 24h);
}

TEST_F(RecrawlPlanTest, AnotherFileInItsPlaceIsReadFromItsStart) {
  const CrawlConfig::Recrawl off;
  append(line("a") + line("b") + line("c"));
  EXPECT_EQ(run().size(), 3u);
  EXPECT_THAT(run(off), IsEmpty());
  std::filesystem::remove(pages());
  append(line("new"));
  EXPECT_THAT(run(), ElementsAre("new"));
  // With recrawling all the while, the new file's pages have their plan.
  std::filesystem::remove(pages());
  EXPECT_THAT(run(), IsEmpty());
  append(line("later"));
  EXPECT_THAT(run(), IsEmpty());
}

TEST_F(RecrawlPlanTest, ADamagedMarkerIsSaidSo) {
  append(line("a"));
  for (const std::string_view text :
       {"", "x", "trawl-recrawl-plan 2\nnext 0\nend 1\non 0\n",
        "trawl-recrawl-plan 1\nnext 2\nend 1\non 0\n",
        "trawl-recrawl-plan 1\nnext 0\nend 1\non 7\n",
        "trawl-recrawl-plan 1\nnext 0\nend 1\non 1\nredirects_next 1",
        "trawl-recrawl-plan 1\nnext 0\nend 1\non 1\nredirects_next 2\n"
        "redirects_end 1\nredirects_on 0\n"}) {
    std::ofstream(marker(), std::ios::trunc) << text;
    const auto plan = RecrawlPlan::open(directory_.path(), pages(), RecrawlPolicy(daily()));
    ASSERT_FALSE(plan.has_value()) << text;
    EXPECT_EQ(plan.error().code, ErrorCode::kCorrupt);
  }
}

TEST_F(RecrawlPlanTest, LongFilesAreReadInPieces) {
  constexpr std::uint64_t kSeed = 4;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::string path = fmt::format("{}-{}", i, std::string(random() % 300, 'p'));
    text += line(path);
    expected.push_back(path);
  }
  append(text);
  EXPECT_EQ(run(daily(), 997), expected);
}

}  // namespace
}  // namespace trawl::test
