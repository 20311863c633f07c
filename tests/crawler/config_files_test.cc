// Configs and seed lists in files; configs written and read back.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/config/config.h"
#include "crawler/config/config_keys.h"
#include "tests/crawler/config_fixture.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

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
  const auto missing = directory() / "none.txt";
  EXPECT_THAT(errors_with(missing),
              ElementsAre(missing.string() +
                          ": crawl.seed_file: cannot be read: No such file or directory"));
}

TEST_F(ConfigFiles, AFileThatCannotBeReadIsSaidSo) {
  EXPECT_THAT(texts(load_config(directory() / "none.toml")),
              ElementsAre(AllOf(StartsWith((directory() / "none.toml").string() + ": "),
                                HasSubstr("No such file or directory"))));
  EXPECT_THAT(texts(load_config(directory())), ElementsAre(HasSubstr("Is a directory")));
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
  config.politeness = {1ms, 2ms, 3ms, 1.25, 61s, 2, false, 90s, 3, 1501ms, 2h};
  config.links = {LinkKinds::all(), LinkEngine::kGumbo};
  config.fetch = {5, 6, 1501ms, 12345, 7, false, true, "/etc/ca.pem"};
  using Names = std::vector<std::string>;
  config.url.text = {Names{"all", "-drop_www"}, Names{"a\"b"}, Names{"+x*"}, Names{"i.htm"}};
  config.url.hosts = {{"a.example", {.rules = Names{"none"}}},
                      {".b.example", {Names{"+drop_www"}, Names{}, Names{"s"}, Names{"d.asp"}}}};
  config.filter = {77, 0.001, 1 << 20, FilterMode::kExact};
  config.frontier = {Durability::kSync, 64u << 20, true};
  config.checkpoint = {26h, 8, 4096, 9};
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

TEST(Config, AnyNumberIsReadBackTheSame) {
  constexpr std::uint64_t kSeed = 5;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> exponent(-300, -1e-9);
  CrawlConfig config = everything_changed();
  for (int i = 0; i < 500; ++i) {
    config.filter.false_positive_rate = std::pow(10.0, exponent(random));
    config.politeness.adaptive_delay = std::pow(10.0, 3 * exponent(random) / 300);
    ASSERT_EQ(accepted(to_toml(config)), config);
  }
}

}  // namespace
}  // namespace trawl::test
