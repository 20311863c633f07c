// Keys that depend on each other: defaults follow what is given, contradictions are errors.
#include <chrono>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crawler/config_fixture.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(RelatedKeys, MemoryHasRoomForAPageAndItsDecoder) {
  EXPECT_THAT(only_error(minimal_with("[fetch]\nmax_memory = \"39MiB\"\n")),
              AllOf(StartsWith("c.toml:5:14: fetch.max_memory: expected at least 40MiB"),
                    HasSubstr("fetch.max_body = 10MiB"), HasSubstr("20MiB for decompression")));
  // Without a place of its own: the key that brings it about is another.
  EXPECT_THAT(only_error(minimal_with("[fetch]\nmax_body = \"200MiB\"\n")),
              StartsWith("c.toml: fetch.max_memory: expected at least 420MiB"));
  EXPECT_THAT(only_error(kMinimal, {"fetch.max_memory=15MiB"}),
              StartsWith("--set fetch.max_memory=15MiB: fetch.max_memory: expected at least"));
  EXPECT_THAT(errors(minimal_with("[fetch]\nmax_memory = \"40MiB\"\n")), ElementsAre());
  EXPECT_THAT(errors(kMinimal), ElementsAre());
}

TEST(RelatedKeys, TheDownloadLimitFollowsThatOfTheBody) {
  EXPECT_EQ(accepted(kMinimal, {"fetch.max_body=50MiB"}).fetch.max_download, 50u << 20);
  EXPECT_EQ(accepted(kMinimal, {"fetch.max_body=1MiB"}).fetch.max_download, 10u << 20);
  EXPECT_EQ(
      accepted(kMinimal, {"fetch.max_body=50MiB", "fetch.max_download=1MiB"}).fetch.max_download,
      1u << 20);
}

TEST(RelatedKeys, PatternsAreSlowedBeforeTheyAreParked) {
  EXPECT_EQ(accepted(kMinimal, {"scope.park_pattern_after=50"}).scope.slow_pattern_after, 50u);
  EXPECT_EQ(accepted(kMinimal, {"scope.slow_pattern_after=5000"}).scope.park_pattern_after, 5000u);
  EXPECT_EQ(accepted(kMinimal, {"scope.park_pattern_after=0"}).scope.slow_pattern_after, 200u);
  EXPECT_THAT(only_error(minimal_with("[scope]\npark_pattern_after = 5\nslow_pattern_after = 6\n")),
              StartsWith("c.toml:6:22: scope.slow_pattern_after: expected at most "
                         "scope.park_pattern_after = 5; found 6"));
}

TEST(RelatedKeys, TheFirstBackoffIsNotLongerThanTheLongest) {
  EXPECT_EQ(accepted(kMinimal, {"politeness.host_backoff=1h"}).politeness.max_host_backoff, 1h);
  EXPECT_EQ(accepted(kMinimal, {"politeness.max_host_backoff=10ms"}).politeness.host_backoff, 10ms);
  EXPECT_THAT(
      only_error(kMinimal, {"politeness.host_backoff=2s", "politeness.max_host_backoff=1s"}),
      StartsWith("--set politeness.host_backoff=2s: politeness.host_backoff: expected at most"));
}

TEST(RelatedKeys, BoundsOfIntervalsFollowTheIntervals) {
  const auto config = accepted(
      kMinimal, {"recrawl.interval=10m", "recrawl.rules=[{ match = \"*\", interval = \"90d\" }]"});
  EXPECT_EQ(config.recrawl.min_interval, 10min);
  EXPECT_EQ(config.recrawl.max_interval, 24h * 90);
  EXPECT_EQ(accepted(kMinimal, {"recrawl.interval=2h"}).recrawl.min_interval, 1h);
  EXPECT_EQ(accepted(kMinimal, {"recrawl.min_interval=40d"}).recrawl.max_interval, 24h * 40);
  EXPECT_EQ(accepted(kMinimal, {"recrawl.max_interval=1m"}).recrawl.min_interval, 1min);
  // Intervals that never change have no bounds.
  EXPECT_THAT(errors(kMinimal,
                     {"recrawl.interval=1m", "recrawl.min_interval=1h", "recrawl.adaptive=false"}),
              ElementsAre());
}

TEST(RelatedKeys, IntervalsOutOfTheirBoundsAreErrors) {
  EXPECT_THAT(only_error(minimal_with("[recrawl]\ninterval = \"10m\"\nmin_interval = \"1h\"\n")),
              AllOf(StartsWith("c.toml:5:12: recrawl.interval: expected \"1h\" to \"30d\""),
                    HasSubstr("found \"10m\"")));
  EXPECT_THAT(only_error(minimal_with("[recrawl]\nrules = [{ match = \"*\", interval = \"2d\" "
                                      "}]\nmax_interval = \"1d\"\n")),
              StartsWith("c.toml:5:9: recrawl.rules: expected \"1h\" to \"1d\""));
  EXPECT_THAT(only_error(minimal_with("[recrawl]\nmin_interval = \"2d\"\nmax_interval = \"1d\"\n")),
              StartsWith("c.toml:5:16: recrawl.min_interval: expected at most"));
}

TEST(RelatedKeys, KeysOfWhatIsNotAskedForAreErrors) {
  EXPECT_EQ(only_error(minimal_with("[output]\ncdxj = true\n")),
            "c.toml:5:8: output.cdxj: has no effect without output.warc = true: set that, or "
            "remove this key");
  EXPECT_THAT(errors(minimal_with("[output]\nwarc_size = \"1GB\"\nwarc_prefix = \"x\"\n")),
              ElementsAre(StartsWith("c.toml:5:13: output.warc_size: has no effect"),
                          StartsWith("c.toml:6:15: output.warc_prefix: has no effect")));
  EXPECT_THAT(errors(minimal_with("[output]\nwarc = false\ncdxj = true\n")), ElementsAre());
  EXPECT_THAT(only_error(kMinimal, {"crawl.priorities=[{ match = \"*\", priority = 1 }]"}),
              HasSubstr("crawl.priorities: has no effect without crawl.order = \"priority\""));
}

TEST(RelatedKeys, AKeyThatIsWrongIsNotReportedTwice) {
  EXPECT_THAT(only_error(minimal_with("[fetch]\nmax_body = \"200XB\"\nmax_memory = \"1MiB\"\n")),
              StartsWith("c.toml:5:12: fetch.max_body: "));
  EXPECT_THAT(only_error(minimal_with("[recrawl]\ninterval = \"1x\"\n")),
              StartsWith("c.toml:5:12: recrawl.interval: "));
}

// A crawl is resumed from its config as it was written.
TEST(RelatedKeys, WhatWasSettledIsAcceptedAgain) {
  for (const std::string_view more :
       {"[fetch]\nmax_body = \"100MiB\"\n", "[fetch]\ntimeout = \"1s\"\n",
        "[scope]\npark_pattern_after = 3\n", "[politeness]\nhost_backoff = \"5h\"\n",
        "[recrawl]\ninterval = \"1s\"\n", "[recrawl]\nmax_interval = \"1s\"\n",
        "[output]\nwarc = false\n"}) {
    SCOPED_TRACE(more);
    const CrawlConfig config = accepted(minimal_with(more), {"crawl.state_dir=/s"});
    EXPECT_EQ(accepted(to_toml(config)), config);
  }
}

}  // namespace
}  // namespace trawl::test
