// What a config may say, and what it may not.
#include "crawler/config/config.h"

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

TEST(Config, ReadsEveryKey) {
  const CrawlConfig config = accepted(R"toml(
    [crawl]
    seeds = ["http://a.example/", "https://b.example/x?y"]
    user_agent = "bot/2 (+https://b.example/)"
    state_dir = "/var/crawl"
    [scope]
    type = "domain"
    max_depth = 0
    max_pages = 5_000_000_000
    max_url_length = 65536
    [politeness]
    delay = "1.5s"
    domain_delay = "300ms"
    ip_delay = "100ms"
    adaptive_delay = 2
    max_adaptive_delay = "20s"
    per_host_connections = 4
    respect_robots = false
    max_crawl_delay = "2m"
    robots_retries = 0
    robots_backoff = "50ms"
    robots_max_age = "6h"
    [fetch]
    threads = 8
    connections = 3
    timeout = "1h"
    max_body = "64KiB"
    max_redirects = 0
    http2 = false
    allow_private_addresses = false
    ca_file = "ca.pem"
    [links]
    kinds = ["resource", "navigation"]
    engine = "gumbo"
    [url]
    rules = ["sort_query", "drop_parameters"]
    parameter_names = ["+ref"]
    session_id_names = ["token"]
    index_names = []
    [[url.host]]
    host = ".example.com"
    rules = ["-sort_query"]
    [[url.host]]
    host = "b.example"
    index_names = ["home.html"]
    [filter]
    expected_urls = 1
    false_positive_rate = 0.25
    max_memory = "2GiB"
    mode = "exact"
    [frontier]
    durability = "sync"
    max_memory = "1GB"
    ledger = true
    [checkpoint]
    interval = "250ms"
    admissions = 1_000_000
    max_rate = "50MiB"
    keep = 100
    [output]
    directory = "out"
    [log]
    level = "off"
    file = "log.txt"
  )toml");
  CrawlConfig expected;
  expected.crawl.seeds = {"http://a.example/", "https://b.example/x?y"};
  expected.crawl.user_agent = "bot/2 (+https://b.example/)";
  expected.crawl.state_dir = "/var/crawl";
  expected.scope = {ScopeType::kDomain, 0, 5'000'000'000, 65536};
  expected.politeness = {1500ms, 300ms, 100ms, 2, 20s, 4, false, 2min, 0, 50ms, 6h};
  expected.links = {{LinkKind::kNavigation, LinkKind::kResource}, LinkEngine::kGumbo};
  expected.fetch = {8, 3, 1h, 64 << 10, 0, false, false, "ca.pem"};
  using Names = std::vector<std::string>;
  expected.url.text = {Names{"sort_query", "drop_parameters"}, Names{"+ref"}, Names{"token"},
                       Names{}};
  expected.url.hosts = {{".example.com", {.rules = Names{"-sort_query"}}},
                        {"b.example", {.index_names = Names{"home.html"}}}};
  expected.filter = {1, 0.25, 2ull << 30, FilterMode::kExact};
  expected.frontier = {Durability::kSync, 1'000'000'000, true};
  expected.checkpoint = {250ms, 1'000'000, 50u << 20, 100};
  expected.output = {"out"};
  expected.log = {"off", "log.txt"};
  EXPECT_EQ(config, expected);
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
          AllOf(StartsWith("c.toml:2:10: scope.type: expected one of \"prefix\", \"host\", "
                           "\"domain\", \"any\"; found the string \"hots\"")),
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
                EndsWith("found the string \"none\""))));
}

TEST(Config, EveryKeyRefusesAValueOfAnotherType) {
  for (const ConfigKey& key : config_keys()) {
    for (const std::string_view value : {"2001-02-03", "{ a = 1 }", "[[]]"}) {
      SCOPED_TRACE(fmt::format("{} = {}", key.name, value));
      EXPECT_THAT(only_error(with_value(key, value)),
                  AllOf(StartsWith("c.toml:"), HasSubstr(fmt::format(": {}: expected ", key.name)),
                        HasSubstr("found a")));
    }
  }
}

TEST(Config, RangesAreChecked) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> refused = {
      {"crawl.user_agent", {"\"\"", R"("a\nb")", R"("a\u0085b")", R"("a\u007F")", "3"}},
      {"crawl.state_dir", {R"("a\u0000b")", "1"}},
      {"scope.max_depth", {"-1", "4294967296", "1.0", "\"1\""}},
      {"scope.max_pages", {"0", "-5"}},
      {"scope.max_url_length", {"31", "65537"}},
      {"politeness.delay", {"\"-1s\"", "\"25h\"", "1", "1.5", "\"1\"", "\"\"", "\"1 s\""}},
      {"politeness.domain_delay", {"\"-1ms\"", "\"25h\"", "0"}},
      {"politeness.ip_delay", {"\"1001d\"", "true"}},
      {"politeness.adaptive_delay",
       {"-1", "-0.1", "1000.5", "1001", "nan", "inf", "-inf", "\"2\"", "true"}},
      {"politeness.max_adaptive_delay", {"\"25h\"", "60"}},
      {"politeness.per_host_connections", {"0", "1025"}},
      {"politeness.respect_robots", {"\"true\"", "1"}},
      {"politeness.max_crawl_delay", {"\"2d\""}},
      {"politeness.robots_retries", {"-1", "101", "\"4\""}},
      {"politeness.robots_backoff", {"\"25h\"", "1"}},
      {"politeness.robots_max_age", {"\"0s\"", "\"25h\""}},
      {"fetch.threads", {"0", "1025", "-1", "9223372036854775807"}},
      {"fetch.connections", {"0", "65537"}},
      {"fetch.timeout", {"\"0s\"", "\"2d\""}},
      {"fetch.max_body", {"0", "-1", "\"5GiB\"", "\"1XB\"", "1.5", "9223372036854775807"}},
      {"fetch.max_redirects", {"-1", "101"}},
      {"links.engine", {"\"lexbor\"", "1"}},
      {"links.kinds", {"[\"images\"]", "\"navigation\"", "[1]"}},
      {"filter.expected_urls", {"0", "-1", "1000000000001"}},
      {"filter.false_positive_rate", {"0.0", "1.0", "-0.5", "nan", "inf", "-inf", "1"}},
      {"filter.mode", {"\"Bloom\"", "\"\"", "true"}},
      {"frontier.durability", {"\"\"", "\"Sync\"", "true"}},
      {"frontier.max_memory", {"0", "\"63MiB\"", "67108863", "\"1025TiB\"", "-1"}},
      {"frontier.ledger", {"\"yes\"", "1"}},
      {"checkpoint.interval", {"\"0ms\"", "\"8d\""}},
      {"checkpoint.admissions", {"-1", "\"1\"", "1.5"}},
      {"checkpoint.max_rate", {"-1", "\"1025TiB\"", "\"10MiB/s\""}},
      {"checkpoint.keep", {"0", "101"}},
      {"log.level", {"\"verbose\"", "\"INFO\""}},
  };
  for (const auto& [name, values] : refused) {
    for (const std::string& value : values) {
      SCOPED_TRACE(fmt::format("{} = {}", name, value));
      ASSERT_NE(find_config_key(name), nullptr);
      EXPECT_THAT(only_error(with_value(*find_config_key(name), value)),
                  HasSubstr(fmt::format(": {}: expected ", name)));
    }
  }
}

TEST(Config, BoundsThemselvesAreAccepted) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> good = {
      {"scope.max_depth", {"0", "4294967295"}},
      {"scope.max_pages", {"1", "9223372036854775807"}},
      {"scope.max_url_length", {"32", "65536"}},
      {"politeness.delay", {"\"0s\"", "\"0ms\"", "\"1d\"", "\"24h\""}},
      {"politeness.domain_delay", {"\"0s\"", "\"1d\""}},
      {"politeness.ip_delay", {"\"0s\"", "\"1d\""}},
      {"politeness.adaptive_delay", {"0", "0.0", "-0.0", "1e-300", "1000", "1000.0"}},
      {"politeness.robots_retries", {"0", "100"}},
      {"politeness.robots_backoff", {"\"0s\"", "\"1d\""}},
      {"politeness.robots_max_age", {"\"1ms\"", "\"1d\""}},
      {"fetch.threads", {"1", "1024"}},
      {"fetch.connections", {"1", "65536"}},
      {"fetch.max_body", {"1", "4294967296", "\"4GiB\"", "\"0.5KiB\""}},
      {"links.kinds", {"[]", "[\"form\", \"form\"]"}},
      {"filter.false_positive_rate", {"5e-324", "0.9999999999999999"}},
      {"frontier.max_memory", {"67108864", "\"64MiB\"", "\"1024TiB\""}},
      {"checkpoint.admissions", {"0", "9223372036854775807"}},
      {"checkpoint.max_rate", {"0", "1", "\"1024TiB\""}},
      {"checkpoint.keep", {"1", "100"}},
      {"log.file", {"\"\""}},
  };
  for (const auto& [name, values] : good) {
    for (const std::string& value : values) {
      SCOPED_TRACE(fmt::format("{} = {}", name, value));
      ASSERT_NE(find_config_key(name), nullptr);
      EXPECT_THAT(errors(with_value(*find_config_key(name), value)), ElementsAre());
    }
  }
}

TEST(Config, UnknownNamesAreErrorsWithTheNearestKnownOne) {
  EXPECT_EQ(only_error(minimal_with("sedes = []\n")),
            "c.toml:4:1: unknown key \"crawl.sedes\"; did you mean \"crawl.seeds\"?");
  EXPECT_EQ(only_error(minimal_with("[crawl.seed]\n")),
            "c.toml:4:8: unknown key \"crawl.seed\"; did you mean \"crawl.seeds\"?");
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
