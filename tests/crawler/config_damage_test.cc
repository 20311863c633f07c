// Configs that are broken or hostile.
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/config/crawl_config.h"
#include "tests/crawler/config_fixture.h"

namespace trawl::test {
namespace {

using namespace std::string_view_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Config, SyntaxErrorsHaveTheirPlace) {
  EXPECT_THAT(only_error("[crawl]\nseeds = [\"http://a.example/\"\nstate_dir = 1\n"),
              AllOf(StartsWith("c.toml:3:"), HasSubstr("not valid TOML: ")));
  EXPECT_THAT(only_error("[crawl]\n\n[crawl]\n"), StartsWith("c.toml:3:"));
  EXPECT_THAT(only_error("x = \"\xff\"\n"), StartsWith("c.toml:1:"));
  // Overrides are checked nevertheless.
  EXPECT_THAT(errors("=", {"scope.type=x"}),
              ElementsAre(StartsWith("c.toml:1:1: not valid TOML"), StartsWith("--set scope.")));
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
  // Dots elsewhere do not form keys.
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
  EXPECT_EQ((ConfigError{"a\x1b", 0, 0, "b\n"}).to_string(), R"(a\u001b: b\n)");
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

}  // namespace
}  // namespace trawl::test
