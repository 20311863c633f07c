// What a config may say, and what it may not.
#include "crawler/config/crawl_config.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/config/config_keys.h"
#include "tests/crawler/config_fixture.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Config, WhatIsNotGivenHasItsDefault) {
  CrawlConfig expected;
  expected.crawl.seeds = {"http://a.example/"};
  expected.crawl.state_dir = "state";
  EXPECT_EQ(accepted(kMinimal), expected);
}

TEST(Config, EveryErrorAtOnceFromTheTopWithItsPlace) {
  EXPECT_THAT(
      errors("[scope]\n"
             "  type = \"hots\"\n"
             "[politness]\n"
             "delay = 1\n"
             "[crawl]\n"
             "seeds = [\"http://a.example/\",\n"
             "         \"mailto:x@y\", 7]\n"
             "[fetch]\n"
             "threads = 0\n"
             "tiemout = \"1s\"\n",
             {"fetch.connections=none"}),
      ElementsAre(
          AllOf(StartsWith("c.toml:2:10: scope.type: expected one of \"page\", \"prefix\", "
                           "\"host\", \"domain\", \"any\"; found the string \"hots\"")),
          "c.toml:3:2: unknown table \"politness\"; did you mean [politeness]?",
          AllOf(StartsWith("c.toml:5:1: crawl.state_dir: missing"), HasSubstr("state_dir = \"")),
          AllOf(StartsWith("c.toml:7:10: crawl.seeds: expected each seed to be an http(s) "
                           "URL; found the string \"mailto:x@y\" ("),
                EndsWith(")")),
          AllOf(StartsWith("c.toml:7:24: crawl.seeds: "), HasSubstr("the integer 7")),
          "c.toml:9:11: fetch.threads: expected a whole number of threads, 1 to 1024; "
          "found the integer 0",
          "c.toml:10:1: unknown key \"fetch.tiemout\"; did you mean \"fetch.timeout\"?",
          AllOf(StartsWith("--set fetch.connections=none: fetch.connections: expected "),
                EndsWith("found the string \"none\" (it does not start with a digit)"))));
}

TEST(Config, UnknownNamesAreErrorsWithTheNearestKnownOne) {
  EXPECT_EQ(only_error(minimal_with("sedes = []\n")),
            "c.toml:4:1: unknown key \"crawl.sedes\"; did you mean \"crawl.seeds\"?");
  EXPECT_EQ(only_error(minimal_with("[crawl.sitemap]\n")),
            "c.toml:4:8: unknown key \"crawl.sitemap\"; did you mean \"crawl.sitemaps\"?");
  EXPECT_EQ(only_error(minimal_with("[wholly_other]\n")),
            "c.toml:4:2: unknown table \"wholly_other\"");
  EXPECT_EQ(only_error(minimal_with("[log]\nzzzzzzzzzzzzz = 1\n")),
            "c.toml:5:1: unknown key \"log.zzzzzzzzzzzzz\"");
  // A key in the wrong table.
  EXPECT_EQ(only_error(minimal_with("[fetch]\nmax_crawl_delay = \"1s\"\n")),
            "c.toml:5:1: unknown key \"fetch.max_crawl_delay\"; did you mean "
            "\"politeness.max_crawl_delay\"?");
  EXPECT_EQ(only_error(std::string("delay = \"1s\"\n").append(kMinimal)),
            "c.toml:1:1: unknown key \"delay\" outside any table; did you mean "
            "\"politeness.delay\"?");
}

TEST(Config, ATableMustBeATable) {
  EXPECT_EQ(only_error(std::string("fetch = 3\n").append(kMinimal)),
            "c.toml:1:9: fetch: expected a table, [fetch]; found the integer 3");
  // What is then missing in it is not reported on top.
  EXPECT_THAT(only_error("crawl = \"x\""), StartsWith("c.toml:1:9: crawl: expected a table"));
  EXPECT_THAT(only_error(minimal_with("[[scope]]\ntype = \"any\"\n")),
              HasSubstr("scope: expected a table, [scope]; found an array"));
}

TEST(Config, SeedsAndStateDirMustBeGiven) {
  EXPECT_THAT(errors(""), ElementsAre(StartsWith("c.toml: crawl.state_dir: missing"),
                                      StartsWith("c.toml: crawl.seeds: expected at least one")));
  EXPECT_THAT(only_error("[crawl]\nseeds = []\nstate_dir = \"s\"\n"),
              StartsWith("c.toml:2:9: crawl.seeds: expected at least one URL"));
  EXPECT_THAT(only_error("[crawl]\nseeds = [\"http://a.example\"]\nstate_dir = \"\"\n"),
              StartsWith("c.toml:1:1: crawl.state_dir: missing"));
}

TEST(Config, OverridesWinAndTakeTomlOrABareWord) {
  const CrawlConfig config =
      accepted("[crawl]\nseeds = [\"http://a.example/\"]\n[fetch]\nthreads = 3\n",
               {"fetch.threads=4", "politeness.delay=2s", "politeness.max_crawl_delay=\"3s\"",
                "crawl.seeds=[\"http://b.example/\", \"http://c.example/\"]", "fetch.http2=false",
                " scope.type = any ", "crawl.state_dir=a=b \"c\"", "fetch.threads=5",
                "filter.false_positive_rate=1e-3"});
  EXPECT_EQ(config.fetch.threads, 5u);
  EXPECT_EQ(config.politeness.delay, 2s);
  EXPECT_EQ(config.politeness.max_crawl_delay, 3s);
  EXPECT_THAT(config.crawl.seeds, ElementsAre("http://b.example/", "http://c.example/"));
  EXPECT_FALSE(config.fetch.http2);
  EXPECT_EQ(config.scope.type, ScopeType::kAny);
  EXPECT_EQ(config.crawl.state_dir, "a=b \"c\"");
  EXPECT_EQ(config.filter.false_positive_rate, 1e-3);
  EXPECT_EQ(accepted(minimal_with("[log]\nfile = \"x\"\n"), {"log.file="}).log.file, "");
}

TEST(Config, BadOverridesAreNamed) {
  EXPECT_EQ(only_error(kMinimal, {"politeness.delay"}),
            "--set politeness.delay: expected table.key=value, such as politeness.delay=2s");
  EXPECT_EQ(only_error(kMinimal, {"politeness.dealy=2s"}),
            "--set politeness.dealy=2s: unknown key \"politeness.dealy\"; did you mean "
            "\"politeness.delay\"?");
  EXPECT_EQ(only_error(kMinimal, {"politeness.delay=2x"}),
            "--set politeness.delay=2x: politeness.delay: expected a duration such as \"500ms\", "
            "\"1.5s\" or \"2m\", \"0s\" to \"1d\"; found the string \"2x\" (unknown unit \"x\": "
            "one of ms, s, m, h, d)");
  EXPECT_THAT(only_error(kMinimal, {""}), HasSubstr("expected table.key=value"));
  EXPECT_THAT(only_error(kMinimal, {"crawl=3"}), HasSubstr("unknown key \"crawl\""));
  // More than one value is text, not a way to slip in other keys.
  EXPECT_THAT(only_error(kMinimal, {"fetch.threads=3\nother = 1"}),
              HasSubstr("fetch.threads: expected a whole number"));
  EXPECT_THAT(only_error(kMinimal, {"crawl.state_dir=\xff"}), HasSubstr("UTF-8"));
}

TEST(Config, BadRulesForKeysAreNamedWithTheirPlaceAndTheNearestRight) {
  const auto config = parse_config(R"toml([crawl]
seeds = ["http://a.example/"]
state_dir = "s"
[url]
rules = ["sort_query", "drop_ww"]
parameter_names = ["a*b", 1]
[[url.host]]
host = "Not A Host"
[[url.host]]
host = "a.example"
wrong = 1
[[url.host]]
host = "a.example"
)toml",
                                   "c.toml", {});
  EXPECT_THAT(texts(config),
              ElementsAre(AllOf(StartsWith("c.toml:5:24: url.rules: "), HasSubstr("drop_ww"),
                                HasSubstr("did you mean \"drop_www\"?")),
                          StartsWith("c.toml:6:20: url.parameter_names: "),
                          StartsWith("c.toml:6:27: url.parameter_names: expected an array of"),
                          AllOf(StartsWith("c.toml:7:1: url.host: "), HasSubstr("Not A Host")),
                          AllOf(StartsWith("c.toml:11:9: url.host: "), HasSubstr("wrong")),
                          AllOf(StartsWith("c.toml:12:1: url.host: "), HasSubstr("already"))));
}

}  // namespace
}  // namespace trawl::test
