// What the progress line says, above all when nothing is fetched.
#include <chrono>
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/local_time.h"
#include "crawler/cli/next_command.h"
#include "crawler/cli/progress_report.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using cli::NextCommand;
using cli::progress_line;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

CrawlProgress some_progress() {
  CrawlProgress progress;
  progress.elapsed = 200s;
  progress.frontier.queued = 17;
  progress.frontier.hosts = 5;
  return progress;
}

TEST(ProgressLineTest, HasTimeRatesAndCounts) {
  TallyTotals totals;
  totals.lines = 1234;
  totals.bytes_by_class[2] = 5u << 20;
  totals.failed = 3;
  const std::string line =
      progress_line(some_progress(), totals, {.pages = 12.4, .bytes = 2048}, {}, 0);
  EXPECT_EQ(line,
            "3 min 20 s  12 pages/s, 2.00 KiB/s, 1234 pages, 5.00 MiB, 17 queued, 3 failed, hosts "
            "5 active");
}

TEST(ProgressLineTest, SaysWhatTheOnlyHostWaitsFor) {
  CrawlProgress progress = some_progress();
  progress.frontier.hosts = 1;
  const std::string line = progress_line(progress, {}, {},
                                         {{.host = "example.com",
                                           .why = "connection refused",
                                           .failures = 3,
                                           .until = std::chrono::system_clock::now() + 100s}},
                                         1);
  EXPECT_THAT(line, StartsWith("3 min 20 s  waiting for example.com: connection refused, 3 in a "
                               "row, next try in 1 min "));
  EXPECT_THAT(line, Not(HasSubstr("pages/s")));
}

TEST(ProgressLineTest, CountsHostsThatWaitBesideOthers) {
  const std::string line =
      progress_line(some_progress(), {}, {.pages = 5}, {{.host = "a", .why = "timeout"}}, 2);
  EXPECT_THAT(line, AllOf(HasSubstr("5.0 pages/s"), HasSubstr("hosts 3 active, 2 waiting")));
}

TEST(ProgressLineTest, NamesTheNextStartIfNothingIsUnderWay) {
  CrawlProgress progress = some_progress();
  progress.next_start = std::chrono::steady_clock::now() + 100s;
  EXPECT_THAT(progress_line(progress, {}, {}, {}, 0), HasSubstr(" (next in 1 min "));
  progress.next_start = std::chrono::steady_clock::now() + std::chrono::days(300);
  EXPECT_THAT(progress_line(progress, {}, {}, {}, 0), HasSubstr("(blocked by a call"));
  progress.in_flight = 1;
  EXPECT_THAT(progress_line(progress, {}, {}, {}, 0), Not(HasSubstr("next in")));
}

TEST(ProgressLineTest, EstimatesTheTimeToTheFirstLimit) {
  CrawlProgress progress = some_progress();
  EXPECT_THAT(progress_line(progress, {}, {.pages = 10}, {}, 0), Not(HasSubstr("ETA")));
  progress.pages_left = 1200;
  EXPECT_THAT(progress_line(progress, {}, {.pages = 10}, {}, 0), HasSubstr("ETA 2 min"));
  EXPECT_THAT(progress_line(progress, {}, {}, {}, 0), Not(HasSubstr("ETA")));
  progress.time_left = 30s;
  EXPECT_THAT(progress_line(progress, {}, {.pages = 10}, {}, 0), HasSubstr("ETA 30 s"));
}

TEST(LocalTimeTest, UsesTheZoneAndNamesOtherDays) {
  ::setenv("TZ", "Pacific/Auckland", 1);
  ::tzset();
  const SystemTime noon(1'764'072'000s);  // 2025-11-25T12:00:00Z
  EXPECT_EQ(to_local_time(noon - 2h, noon - 2h), "23:00:00 NZDT");
  EXPECT_EQ(to_local_time(noon, noon - 2h), "2025-11-26 01:00 NZDT");
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(to_local_time(noon, noon - 2h), "12:00:00 UTC");
}

TEST(LocalTimeTest, ReadsDurations) {
  EXPECT_EQ(readable_duration(-5s), "0 s");
  EXPECT_EQ(readable_duration(400ms), "0.4 s");
  EXPECT_EQ(readable_duration(59'600ms), "1 min");
  EXPECT_EQ(readable_duration(200s), "3 min 20 s");
  EXPECT_EQ(readable_duration(2h + 5min), "2 h 5 min");
  EXPECT_EQ(readable_duration(76h), "3 d 4 h");
}

TEST(NextCommandTest, ReplacesTheSettingThatItChanges) {
  const NextCommand next("trawl", "my state", {"scope.max_pages=10", "scope.max_pages_per_host=3"});
  EXPECT_EQ(next.resume(),
            "trawl resume 'my state' --set scope.max_pages=10 --set scope.max_pages_per_host=3");
  EXPECT_EQ(next.resume_with("scope.max_pages", "20"),
            "trawl resume 'my state' --set scope.max_pages_per_host=3 --set scope.max_pages=20");
  EXPECT_FALSE(NextCommand().exists());
}

}  // namespace
}  // namespace trawl::test
