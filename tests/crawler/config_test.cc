#include "crawler/config/config.h"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "crawler/config/config_keys.h"
#include "crawler/config/config_values.h"
#include "crawler/config/nearest_name.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kMinimal =
    "[crawl]\nseeds = [\"http://a.example/\"]\nstate_dir = \"state\"\n";

std::string minimal_with(std::string_view more) {
  return std::string(kMinimal).append(more);
}

CrawlConfig accepted(std::string_view toml, const std::vector<std::string>& overrides = {}) {
  auto config = parse_config(toml, "c.toml", overrides);
  if (config) return *config;
  for (const ConfigError& error : config.error())
    ADD_FAILURE() << error.to_string();
  return {};
}

std::vector<std::string> texts(const ConfigResult<CrawlConfig>& config) {
  std::vector<std::string> out;
  if (!config) {
    for (const ConfigError& error : config.error())
      out.push_back(error.to_string());
  }
  return out;
}

std::vector<std::string> errors(std::string_view toml,
                                const std::vector<std::string>& overrides = {}) {
  return texts(parse_config(toml, "c.toml", overrides));
}

// The one error that is expected.
std::string only_error(std::string_view toml, const std::vector<std::string>& overrides = {}) {
  const std::vector<std::string> all = errors(toml, overrides);
  EXPECT_EQ(all.size(), 1u) << testing::PrintToString(all);
  return all.empty() ? "" : all.front();
}

// `key = value` in its table, on top of what must be given.
std::string with_value(const ConfigKey& key, std::string_view value) {
  std::map<std::string, std::string> crawl = {{"seeds", "[\"http://a.example/\"]"},
                                              {"state_dir", "\"state\""}};
  std::string rest;
  if (key.table() == "crawl") {
    crawl[std::string(key.leaf())] = value;
  } else {
    rest = fmt::format("[{}]\n{} = {}\n", key.table(), key.leaf(), value);
  }
  std::string out = "[crawl]\n";
  for (const auto& [leaf, text] : crawl)
    out += fmt::format("{} = {}\n", leaf, text);
  return out + rest;
}

std::filesystem::path source_dir() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in.good()) << file;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class ConfigFiles : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 fmt::format("trawl-config-{}-{}", ::getpid(),
                             testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path write(const std::string& name, std::string_view text) {
    const std::filesystem::path file = directory_ / name;
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

  std::filesystem::path directory_;
};

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
    [frontier]
    durability = "sync"
    [checkpoint]
    interval = "250ms"
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
  expected.politeness = {1500ms, 4, false, 2min, 0, 50ms, 6h};
  expected.links = {{LinkKind::kNavigation, LinkKind::kResource}, LinkEngine::kGumbo};
  expected.fetch = {8, 3, 1h, 64 << 10, 0, false, false, "ca.pem"};
  using Names = std::vector<std::string>;
  expected.url.text = {Names{"sort_query", "drop_parameters"}, Names{"+ref"}, Names{"token"},
                       Names{}};
  expected.url.hosts = {{".example.com", {.rules = Names{"-sort_query"}}},
                        {"b.example", {.index_names = Names{"home.html"}}}};
  expected.filter = {1, 0.25, 2ull << 30};
  expected.frontier = {Durability::kSync};
  expected.checkpoint = {250ms, 100};
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
      {"frontier.durability", {"\"\"", "\"Sync\"", "true"}},
      {"checkpoint.interval", {"\"0ms\"", "\"8d\""}},
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
      {"politeness.robots_retries", {"0", "100"}},
      {"politeness.robots_backoff", {"\"0s\"", "\"1d\""}},
      {"politeness.robots_max_age", {"\"1ms\"", "\"1d\""}},
      {"fetch.threads", {"1", "1024"}},
      {"fetch.connections", {"1", "65536"}},
      {"fetch.max_body", {"1", "4294967296", "\"4GiB\"", "\"0.5KiB\""}},
      {"links.kinds", {"[]", "[\"form\", \"form\"]"}},
      {"filter.false_positive_rate", {"5e-324", "0.9999999999999999"}},
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

TEST(Config, SyntaxErrorsHaveTheirPlace) {
  EXPECT_THAT(only_error("[crawl]\nseeds = [\"http://a.example/\"\nstate_dir = 1\n"),
              AllOf(StartsWith("c.toml:3:"), HasSubstr("not valid TOML: ")));
  EXPECT_THAT(only_error("[crawl]\n\n[crawl]\n"), StartsWith("c.toml:3:"));
  EXPECT_THAT(only_error("x = \"\xff\"\n"), StartsWith("c.toml:1:"));
  // Overrides are looked at all the same.
  EXPECT_THAT(errors("=", {"scope.type=x"}),
              ElementsAre(StartsWith("c.toml:1:1: not valid TOML"), StartsWith("--set scope.")));
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

TEST_F(ConfigFiles, SeedsOfASeedFileAreAppended) {
  const auto file = write("seeds.txt",
                          "\xEF\xBB\xBF# ours\n\n  http://b.example/1  \r\n\t# no\n"
                          "https://c.example/#x");
  const CrawlConfig config =
      accepted(minimal_with(fmt::format("seed_file = \"{}\"\n", file.string())));
  EXPECT_THAT(config.crawl.seeds,
              ElementsAre("http://a.example/", "http://b.example/1", "https://c.example/#x"));
  // Alone it is enough.
  EXPECT_THAT(
      accepted("[crawl]\nstate_dir = \"s\"\n", {"crawl.seed_file=" + file.string()}).crawl.seeds,
      ElementsAre("http://b.example/1", "https://c.example/#x"));
}

TEST_F(ConfigFiles, BadSeedFilesAreNamedWithTheLine) {
  const auto errors_with = [](const std::filesystem::path& file) {
    return errors("[crawl]\nstate_dir = \"s\"\n", {"crawl.seed_file=" + file.string()});
  };
  const auto bad = write("bad.txt", "# x\nhttp://b.example/\n\nnot a url\nftp://c.example/\n");
  EXPECT_THAT(errors_with(bad),
              ElementsAre(AllOf(StartsWith(bad.string() + ":4:1: expected an http(s) URL; found "),
                                HasSubstr("\"not a url\"")),
                          StartsWith(bad.string() + ":5:1: expected an http(s) URL")));
  const auto empty = write("empty.txt", "# nothing\n\n");
  EXPECT_THAT(errors_with(empty), ElementsAre(StartsWith(empty.string() + ": crawl.seed_file: ")));
  const auto missing = directory_ / "none.txt";
  EXPECT_THAT(errors_with(missing),
              ElementsAre(missing.string() +
                          ": crawl.seed_file: cannot be read: No such file or directory"));
}

TEST_F(ConfigFiles, AFileThatCannotBeReadIsSaidSo) {
  EXPECT_THAT(texts(load_config(directory_ / "none.toml")),
              ElementsAre(AllOf(StartsWith((directory_ / "none.toml").string() + ": "),
                                HasSubstr("No such file or directory"))));
  EXPECT_THAT(texts(load_config(directory_)), ElementsAre(HasSubstr("Is a directory")));
  const auto large = write("large.toml", std::string((16u << 20) + 1, '\n'));
  EXPECT_THAT(texts(load_config(large)), ElementsAre(HasSubstr("more than 16 MiB")));
  EXPECT_THAT(texts(load_config("/dev/zero")), ElementsAre(HasSubstr("more than 16 MiB")));
}

TEST_F(ConfigFiles, AFileIsReadWithItsNameInErrors) {
  const auto good = write("good.toml", kMinimal);
  const auto config = load_config(good, {"fetch.threads=7"});
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->fetch.threads, 7u);
  const auto bad = write("bad.toml", minimal_with("[fetch]\nthreads = -3\n"));
  EXPECT_THAT(texts(load_config(bad)),
              ElementsAre(StartsWith(bad.string() + ":5:11: fetch.threads: ")));
}

CrawlConfig everything_changed() {
  CrawlConfig config;
  config.crawl.seeds = {"http://a.example/", "https://b.example/?q=1#x"};
  config.crawl.user_agent = "bot \"2\" \\ \xC3\xA9";
  config.crawl.state_dir = "/var/\"x\" \t\\y\x1b\x7f";
  config.scope = {ScopeType::kPrefix, 3, 1'000'000'000'000, 100};
  config.politeness = {1ms, 2, false, 90s, 3, 1501ms, 2h};
  config.links = {LinkKinds::all(), LinkEngine::kGumbo};
  config.fetch = {5, 6, 1501ms, 12345, 7, false, true, "/etc/ca.pem"};
  using Names = std::vector<std::string>;
  config.url.text = {Names{"all", "-drop_www"}, Names{"a\"b"}, Names{"+x*"}, Names{"i.htm"}};
  config.url.hosts = {{"a.example", {.rules = Names{"none"}}},
                      {".b.example", {Names{"+drop_www"}, Names{}, Names{"s"}, Names{"d.asp"}}}};
  config.filter = {77, 0.001, 1 << 20};
  config.frontier = {Durability::kSync};
  config.checkpoint = {26h, 9};
  config.output = {"/out"};
  config.log = {"trace", "/log"};
  return config;
}

TEST(Config, WrittenAsTomlItIsReadBackTheSame) {
  const CrawlConfig defaults = accepted(minimal_with(""), {"crawl.state_dir=/state"});
  EXPECT_EQ(accepted(to_toml(defaults)), defaults);
  const CrawlConfig changed = everything_changed();
  EXPECT_EQ(accepted(to_toml(changed)), changed);
  // So that a key added to the table cannot be left out of this test.
  for (const ConfigKey& key : config_keys()) {
    if (key.name == "crawl.seed_file") continue;  // its seeds are written, not its name
    EXPECT_NE(key.write(changed), key.write(CrawlConfig{})) << key.name;
  }
}

TEST_F(ConfigFiles, WrittenAsTomlItNeedsNeitherTheSeedFileNorTheCurrentDirectory) {
  const auto file = write("seeds.txt", "http://b.example/\n");
  const CrawlConfig config =
      accepted(minimal_with(""), {"crawl.seed_file=" + file.string(), "log.file=x.log"});
  const CrawlConfig again = accepted(to_toml(config));
  EXPECT_THAT(again.crawl.seeds, ElementsAre("http://a.example/", "http://b.example/"));
  EXPECT_EQ(again.crawl.seed_file, "");
  EXPECT_EQ(again.crawl.state_dir, std::filesystem::current_path() / "state");
  EXPECT_EQ(again.log.file, std::filesystem::current_path() / "x.log");
}

TEST(Config, AnyRateIsReadBackTheSame) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> exponent(-300, -1e-9);
  CrawlConfig config = everything_changed();
  for (int i = 0; i < 500; ++i) {
    config.filter.false_positive_rate = std::pow(10.0, exponent(random));
    ASSERT_EQ(accepted(to_toml(config)), config);
  }
}

TEST(Config, DeeplyNestedTomlIsRefused) {
  std::string deep = "a";
  for (int i = 0; i < 1'000'000; ++i)
    deep += ".a";
  EXPECT_THAT(only_error(deep + " = 1"),
              AllOf(StartsWith("c.toml:1:16: "), HasSubstr("more than 8 parts")));
  EXPECT_THAT(only_error("# a.b\n[" + deep + "]\n"), StartsWith("c.toml:2:17: "));
  // Hidden behind strings that end in quotes of their own.
  EXPECT_THAT(only_error("x = { s = \"\"\"a\"\"\"\", " + deep + " = 1 }"),
              HasSubstr("more than 8 parts"));
  EXPECT_THAT(only_error("x = { s = '''a''''', " + deep + " = 1 }"),
              HasSubstr("more than 8 parts"));
  EXPECT_THAT(only_error("\"\\\"\"." + deep + " = 1"), HasSubstr("more than 8 parts"));

  std::string nested = "1";
  for (int i = 0; i < 250; ++i)
    nested = "{ a.a.a.a.a.a.a = " + nested + " }";
  EXPECT_THAT(only_error(minimal_with("[output]\ndirectory = " + nested)),
              HasSubstr("output.directory: expected a path; found a table"));
  EXPECT_THAT(only_error("x = " + std::string(100'000, '[')), HasSubstr("not valid TOML"));
  // Dots elsewhere are no keys.
  EXPECT_THAT(errors(minimal_with("user_agent = \"a.a.a.a.a.a.a.a.a.a.a\" # .............\n"
                                  "[output]\ndirectory = '''\n................'''\n")),
              ElementsAre());
}

TEST(Config, NoNumberOfErrorsFillsTheMemory) {
  std::string toml;
  for (int i = 0; i < 100'000; ++i)
    toml += fmt::format("k{} = 1\n", i);
  const auto all = errors(toml);
  EXPECT_EQ(all.size(), 1001u);
  EXPECT_THAT(all.back(), HasSubstr("more errors"));
  const std::string long_name(8u << 20, 'x');
  EXPECT_LT(only_error(minimal_with("[" + long_name + "]\n")).size(), 1000u);
  EXPECT_LT(only_error(minimal_with("[log]\nlevel = \"" + long_name + "\"\n")).size(), 1000u);
}

TEST(Config, ErrorsHoldNoControlCharacters) {
  EXPECT_THAT(only_error(minimal_with("[log]\nlevel = \"\\u001b[31m\\n\"\n")),
              AllOf(HasSubstr("\"\\u001B[31m\\u000A\""), Not(HasSubstr("\x1b"))));
  EXPECT_EQ((ConfigError{"a\x1b", 0, 0, "b\n"}).to_string(), "a?: b?");
}

TEST(Config, ErrorsWithoutAPlaceNameTheFileAlone) {
  EXPECT_EQ((ConfigError{"f", 0, 0, "m"}).to_string(), "f: m");
  EXPECT_EQ((ConfigError{"f", 3, 0, "m"}).to_string(), "f:3: m");
  EXPECT_EQ((ConfigError{"f", 3, 14, "m"}).to_string(), "f:3:14: m");
}

// Whatever the bytes, there is an answer: a config or at least one error.
TEST(Config, DamagedConfigsGetAnAnswer) {
  const std::string quickstart = contents(source_dir() / "config/quickstart.toml");
  constexpr std::string_view kNasty = "\"'[]{}=.,#\\\n\r\t \0\xff\xc3-+e_0"sv;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937_64 random(seed);
    std::string text = quickstart;
    for (std::uint64_t edits = 1 + random() % 8; edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const char c = kNasty[random() % kNasty.size()];
      switch (random() % 4) {
        case 0:
          text[at] = c;
          break;
        case 1:
          text.insert(at, 1, c);
          break;
        case 2:
          text.erase(at, 1 + random() % 20);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
      }
    }
    const auto config = parse_config(text, "c.toml");
    ASSERT_TRUE(config.has_value() || !config.error().empty());
    if (config) {
      ASSERT_TRUE(parse_config(to_toml(*config), "c.toml").has_value());
    }
  }
}

TEST(Duration, ReadsNumbersWithUnits) {
  const std::vector<std::pair<std::string, std::chrono::milliseconds>> good = {
      {"500ms", 500ms}, {"1.5s", 1500ms},    {"2m", 2min},           {"1h", 1h},   {"1d", 24h},
      {"0s", 0ms},      {"0.001s", 1ms},     {"1.50s", 1500ms},      {"007s", 7s}, {"0.25m", 15s},
      {"1.0ms", 1ms},   {"0.00001d", 864ms}, {"36525d", 36525 * 24h}};
  for (const auto& [text, value] : good) {
    const auto parsed = parse_duration(text);
    ASSERT_TRUE(parsed.has_value()) << text << ": " << parsed.error();
    EXPECT_EQ(*parsed, value) << text;
  }
  for (const std::string text : {"",
                                 "s",
                                 "1",
                                 "1.s",
                                 ".5s",
                                 "-1s",
                                 "+1s",
                                 "1 s",
                                 " 1s",
                                 "1s ",
                                 "1S",
                                 "1sec",
                                 "1e3s",
                                 "0x1s",
                                 "1.5ms",
                                 "0.0001s",
                                 "1.0000001s",
                                 "99999999999999999999s",
                                 "18446744073709551615d",
                                 "200000d",
                                 "1h30m",
                                 "1,5s",
                                 "infs"}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
}

TEST(Size, ReadsNumbersWithUnits) {
  const std::vector<std::pair<std::string, std::uint64_t>> good = {
      {"64KiB", 65536},
      {"10MiB", 10485760},
      {"1GB", 1'000'000'000},
      {"0B", 0},
      {"1.5KB", 1500},
      {"1.25MiB", 1310720},
      {"0.5TiB", 1ull << 39},
      {"7B", 7},
      {"16777215.999999TB", 16'777'215'999'999'000'000ull}};
  for (const auto& [text, value] : good) {
    const auto parsed = parse_size(text);
    ASSERT_TRUE(parsed.has_value()) << text << ": " << parsed.error();
    EXPECT_EQ(*parsed, value) << text;
  }
  for (const std::string text : {"", "1", "10M", "10mb", "10 MB", "1.5B", "0.1KiB", "MiB",
                                 "16777216TiB", "18446744073709551616B", "-1B", "1e3B"}) {
    EXPECT_FALSE(parse_size(text).has_value()) << text;
  }
}

TEST(Quantities, AreReadBackAsWritten) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t number = random() >> (random() % 64);
    EXPECT_EQ(parse_size(format_size(number)).value(), number);
    const std::chrono::milliseconds duration(number % 3'000'000'000'000);
    EXPECT_EQ(parse_duration(format_duration(duration)).value(), duration);
  }
  EXPECT_EQ(format_duration(90s), "90s");
  EXPECT_EQ(format_duration(48h), "2d");
  EXPECT_EQ(format_size(10u << 20), "10MiB");
  EXPECT_EQ(format_size(5'000'000), "5MB");
}

TEST(NearestName, IsTheOneWithTheFewestEdits) {
  const std::vector<std::string_view> names = {"delay", "timeout", "threads", "max_pages"};
  EXPECT_EQ(nearest_name("delay", names), "delay");
  EXPECT_EQ(nearest_name("dealy", names), "delay");
  EXPECT_EQ(nearest_name("tiemout", names), "timeout");
  EXPECT_EQ(nearest_name("max-page", names), "max_pages");
  EXPECT_EQ(nearest_name("thread", names), "threads");
  EXPECT_EQ(nearest_name("colour", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(1 << 20, 'd'), names), "");
}

// The row of docs/config.md for a key.
std::string docs_row(const ConfigKey& key) {
  const std::string value = key.write(CrawlConfig{});
  const std::string standard = value.empty() || value == "[]" ? "unset" : '`' + value + '`';
  return fmt::format("| `{}` | {} | {} | {} | {} |", key.name, key.doc, key.type, key.range,
                     standard);
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

TEST(ConfigDocs, HaveEveryKeyAsItIs) {
  const std::string docs = contents(source_dir() / "docs/config.md");
  std::size_t rows = 0;
  for (std::size_t at = docs.find("\n| `"); at != std::string::npos;
       at = docs.find("\n| `", at + 1)) {
    ++rows;
  }
  EXPECT_EQ(rows, config_keys().size());
  for (const ConfigKey& key : config_keys()) {
    EXPECT_NE(docs.find('\n' + docs_row(key) + '\n'), std::string::npos)
        << "docs/config.md lacks this row:\n"
        << docs_row(key);
  }
}

TEST(QuickstartConfig, IsAcceptedAndHoldsTheDefaults) {
  const auto config = load_config(source_dir() / "config/quickstart.toml");
  ASSERT_TRUE(config.has_value()) << testing::PrintToString(texts(config));
  CrawlConfig expected;
  expected.crawl.seeds = {"https://example.com/"};
  expected.crawl.state_dir = "quickstart-state";
  EXPECT_EQ(*config, expected);
}

TEST(QuickstartConfig, HasEveryKeySetOrCommentedOut) {
  std::stringstream lines(contents(source_dir() / "config/quickstart.toml"));
  std::string with_all;
  std::string table;
  std::vector<std::string> named;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) table = line.substr(1, line.find(']') - 1);
    const std::string bare = line.starts_with("# ") ? line.substr(2) : line;
    const std::string name = table + '.' + bare.substr(0, bare.find(" = "));
    if (find_config_key(name) == nullptr) continue;
    named.push_back(name);
    // The seed file need not exist.
    if (name != "crawl.seed_file")
      with_all += fmt::format("{} = {}\n", name, bare.substr(bare.find(" = ") + 3));
  }
  std::vector<std::string> known;
  for (const ConfigKey& key : config_keys())
    known.push_back(key.name);
  EXPECT_THAT(named, testing::UnorderedElementsAreArray(known));
  EXPECT_THAT(errors(with_all), ElementsAre());
}

}  // namespace
}  // namespace trawl
