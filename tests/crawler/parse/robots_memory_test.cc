// What a Robots holds in memory, and that what it does not hold is not missed.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/robots.h"

#include "tests/crawler/parse/robots_files.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;

Url url_of(std::string_view path) {
  return *Url::parse(fmt::format("http://site.example{}", path));
}

TEST(Robots, M1_HoldsNoTextThatMeansNothing) {
  const std::size_t empty = Robots::parse("").memory();
  EXPECT_LT(empty, 1000u);
  std::string page = "<!doctype html>\n";
  while (page.size() < 400'000)
    page += "<p>This site has no robots.txt: <a href='https://site.example/'>home</a></p>\n";
  EXPECT_EQ(Robots::parse(page).memory(), empty);

  std::string rules;
  std::string commented;
  for (int i = 0; i < 100; ++i) {
    const std::string lines = fmt::format("User-agent: Bot{}\nDisallow: /a{}/*.png$\n", i, i);
    rules += lines;
    commented +=
        fmt::format("# Number {}, {}\r\n\r\n\tX-Field: none\r\n{}", i, page.substr(0, 500), lines);
  }
  EXPECT_EQ(Robots::parse(commented).memory(), Robots::parse(rules).memory());
}

TEST(Robots, WhatIsLeftOfTheTextIsWhatItWas) {
  const Robots robots = Robots::parse(
      "# one\nSitemap: http://site.example/map.xml\n"
      "  User-Agent:  FooBot/2.1 (a, b) # two\nUSER-AGENT: barBot\n\nNonsense\n"
      "\tDisallow :\t/no # three\nCrawl-delay: 2\nAllow:/no/but\nUser-agent: Quux");
  for (const char* agent : {"foobot", "BarBot"}) {
    const RobotsDecision no = robots.decide(agent, url_of("/no"));
    EXPECT_FALSE(no.allowed);
    EXPECT_EQ(no.line, 7u);
    EXPECT_EQ(no.text, "Disallow :\t/no");
    const RobotsDecision but = robots.decide(agent, url_of("/no/but/this"));
    EXPECT_TRUE(but.allowed);
    EXPECT_EQ(but.line, 9u);
    EXPECT_EQ(but.text, "Allow:/no/but");
    EXPECT_EQ(robots.crawl_delay(agent), milliseconds(2000));
  }
  EXPECT_EQ(robots.decide("quux", url_of("/no")).reason, RobotsReason::kNoRuleMatches);
  EXPECT_EQ(robots.decide("x", url_of("/no")).reason, RobotsReason::kNoGroup);
}

TEST(Robots, MemoryGrowsOnceForEachAgentsRules) {
  const Robots robots =
      Robots::parse("User-agent: a\nDisallow: /a\nDisallow: /*/a\n\nUser-agent: *\nDisallow: /b\n");
  const Robots copy = robots;
  const std::size_t parsed = robots.memory();
  EXPECT_FALSE(robots.allowed("a", url_of("/a")));
  const std::size_t one = robots.memory();
  EXPECT_GT(one, parsed);
  EXPECT_TRUE(robots.allowed("a/2.0", url_of("/b")));
  EXPECT_EQ(robots.memory(), one);
  EXPECT_FALSE(robots.allowed("other", url_of("/b")));
  const std::size_t both = robots.memory();
  EXPECT_GT(both, one);
  EXPECT_FALSE(copy.allowed("another", url_of("/b")));
  EXPECT_EQ(robots.memory(), both);
  EXPECT_EQ(copy.memory(), both);
}

TEST(Robots, M1_AgentsOfOneGroupShareItsRules) {
  std::string bytes;
  for (int i = 0; i < 15'360; ++i)
    bytes += fmt::format("User-agent:{}\n", i);
  for (int i = 0; bytes.size() < 500u << 10; ++i)
    bytes += fmt::format("Allow:/a*b{}\n", i);
  const Robots robots = Robots::parse(bytes);
  EXPECT_TRUE(robots.allowed("0", url_of("/")));
  const std::size_t one = robots.memory();
  for (int i = 1; i < 15'360; i += 20)
    EXPECT_EQ(robots.decide(fmt::to_string(i), url_of("/aab0")).text, "Allow:/a*b0");
  EXPECT_EQ(robots.memory(), one);
}

TEST(Robots, M1_AgentsOfTheSameGroupsShareTheirRules) {
  std::string bytes;
  for (int group = 0; group < 3; ++group) {
    for (int i = 0; i < 300; ++i)
      if (group < 2 || i % 2 == 0) bytes += fmt::format("User-agent: {}\n", i);
    bytes += fmt::format("Disallow: /{}\n", group);
  }
  const Robots robots = Robots::parse(bytes);
  EXPECT_FALSE(robots.allowed("0", url_of("/2")));
  EXPECT_TRUE(robots.allowed("1", url_of("/2")));
  const std::size_t both = robots.memory();
  for (int i = 2; i < 300; ++i) {
    const std::string agent = fmt::to_string(i);
    EXPECT_FALSE(robots.allowed(agent, url_of("/0"))) << i;
    EXPECT_FALSE(robots.allowed(agent, url_of("/1"))) << i;
    EXPECT_EQ(robots.allowed(agent, url_of("/2")), i % 2 == 1) << i;
  }
  EXPECT_EQ(robots.memory(), both);
}

// All agents share the large group, and have a small one each.
TEST(Robots, M1_HoweverManyAgentsAreAskedForTheRulesKeptAreBounded) {
  std::string bytes;
  for (int i = 0; i < 4'000; ++i)
    bytes += fmt::format("User-agent:{}\n", i);
  for (int i = 0; bytes.size() < 350'000; ++i)
    bytes += fmt::format("Allow:/a*b{}\n", i);
  for (int i = 0; i < 4'000; ++i)
    bytes += fmt::format("User-agent:{0}\nDisallow:/{0}$\n", i);
  const Robots robots = Robots::parse(bytes);
  const std::size_t parsed = robots.memory();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20; ++i) {
      const std::string agent = fmt::to_string(i);
      EXPECT_FALSE(robots.allowed(agent, url_of("/" + agent)));
      EXPECT_EQ(robots.decide(agent, url_of("/aab0")).text, "Allow:/a*b0");
      EXPECT_TRUE(robots.allowed(agent, url_of("/x")));
    }
    EXPECT_LT(robots.memory(), parsed + (8u << 20) + 1000);
  }
  EXPECT_GT(robots.memory(), parsed + (4u << 20));
}

// Parsing the hosts of the URLs takes the time; the sitemaps of many robots.txt files are never
// needed.
TEST(Robots, SitemapsAreParsedWhenAskedFor) {
  std::string bytes = "# much that is forgotten, as it is more than a quarter of the file\n";
  for (int i = 0; i < 20; ++i)
    bytes += fmt::format("Sitemap: http://m\u00fcller.example/{}\n# comment comment\n", i);
  const Robots robots = Robots::parse(bytes);
  const std::size_t parsed = robots.memory();
  EXPECT_EQ(robots.sitemaps().size(), 20u);
  const std::size_t with_urls = robots.memory();
  EXPECT_GT(with_urls, parsed + 20 * sizeof(std::string));
  EXPECT_EQ(robots.sitemaps().back(), "http://xn--mller-kva.example/19");
  EXPECT_EQ(robots.memory(), with_urls);
}

std::string full_of(std::string_view line) {
  std::string text = "User-agent:*\n";
  for (int i = 0; text.size() < 500u << 10; ++i)
    text += fmt::format(fmt::runtime(line), fmt::format("{:x}", i));
  return text;
}

// 500 KiB are read; what they take is documented in docs/robots.md.
TEST(Robots, M1_NoFileTakesMoreThanSixMegabytes) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const char* line :
       {"Allow:/\n", "Allow:/{}\n", "Allow:*a\n", "Allow:*\xFF\n", "Allow:*a*{}\n", "Allow:*{}$\n",
        "User-agent:{}\n", "User-agent:*\nAllow:/{}\n", "User-agent:{}\nAllow:/\n",
        "Sitemap:http:{}\n", "Sitemap:http:\u00fc{}\n",
        "Allow:/\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc*{}\n"}) {
    files.emplace_back(line, full_of(line));
  }
  for (const HostileRobots& file : hostile_robots())
    files.emplace_back(file.name, file.text);
  std::size_t most = 0;
  for (const auto& [name, text] : files) {
    const Robots robots = Robots::parse(text);
    robots.allowed("trawl", url_of("/a"));
    robots.sitemaps();
    EXPECT_LT(robots.memory(), 6u << 20) << name;
    most = std::max(most, robots.memory());
  }
  EXPECT_GT(most, 1u << 20);
}

}  // namespace
}  // namespace trawl
