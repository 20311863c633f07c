#include "trawl/robots.h"

#include <chrono>
#include <random>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

using std::chrono::milliseconds;

Url url(std::string_view path) {
  return *Url::parse(fmt::format("http://site.example{}", path));
}

bool allowed(std::string_view robots, std::string_view path, std::string_view agent = "trawl") {
  return Robots::parse(robots).allowed(agent, url(path));
}

// Whether "Disallow: <pattern>" alone keeps `path` from being fetched.
bool matches(std::string_view pattern, std::string_view path) {
  return !allowed(fmt::format("User-agent: *\nDisallow: {}\n", pattern), path);
}

TEST(Robots, EmptyFileAllowsAll) {
  EXPECT_TRUE(allowed("", "/"));
  EXPECT_TRUE(allowed("\n\n# nothing\n", "/a"));
  EXPECT_TRUE(Robots::allow_all().allowed("trawl", url("/a?b")));
}

TEST(Robots, DisallowAllLeavesRobotsTxtItself) {
  const Robots robots = Robots::disallow_all();
  EXPECT_FALSE(robots.allowed("trawl", url("/")));
  EXPECT_FALSE(robots.allowed("other", url("/a/b?c")));
  EXPECT_TRUE(robots.allowed("trawl", url("/robots.txt")));
  EXPECT_FALSE(robots.allowed("trawl", url("/robots.txt.html")));
  EXPECT_FALSE(robots.allowed("trawl", url("/a/robots.txt")));
}

TEST(Robots, RulesMatchPrefixesOfPathAndQuery) {
  EXPECT_TRUE(matches("/fish", "/fish"));
  EXPECT_TRUE(matches("/fish", "/fishheads/yummy.html"));
  EXPECT_TRUE(matches("/fish", "/fish.php?id=1"));
  EXPECT_FALSE(matches("/fish", "/catfish"));
  EXPECT_FALSE(matches("/fish", "/Fish"));
  EXPECT_FALSE(matches("/fish/", "/fish"));
  EXPECT_TRUE(matches("/fish?id=", "/fish?id=3"));
  EXPECT_TRUE(matches("/fish?", "/fish?"));
  EXPECT_FALSE(matches("/fish?", "/fish"));
  EXPECT_TRUE(matches("/a#b", "/ac"));
  EXPECT_TRUE(matches("/a", "/a#fragment"));
  EXPECT_FALSE(matches("fish", "/fish"));
}

TEST(Robots, StarMatchesAnyOctetsAndDollarTheEnd) {
  EXPECT_TRUE(matches("*", "/"));
  EXPECT_TRUE(matches("/*.php", "/index.php?x=1"));
  EXPECT_TRUE(matches("/*.php", "/folder/any.php.file.html"));
  EXPECT_FALSE(matches("/*.php", "/windows.PHP"));
  EXPECT_TRUE(matches("/*.php$", "/a.php/b.php"));
  EXPECT_FALSE(matches("/*.php$", "/a.php?x"));
  EXPECT_FALSE(matches("/*.php$", "/a.php5"));
  EXPECT_TRUE(matches("/a*b*c", "/axxbxxcxx"));
  EXPECT_FALSE(matches("/a*b*c", "/axxcxxb"));
  EXPECT_TRUE(matches("/a**b", "/ab"));
  EXPECT_TRUE(matches("/$", "/"));
  EXPECT_FALSE(matches("/$", "/a"));
  EXPECT_TRUE(matches("/a*$", "/abc"));
  EXPECT_TRUE(matches("/ab*ab$", "/abab"));
  EXPECT_FALSE(matches("/ab*ab$", "/ab"));
  EXPECT_TRUE(matches("/*aab$", "/aaab"));
  EXPECT_TRUE(matches("/a$b", "/a$bc"));
  EXPECT_FALSE(matches("/a$b", "/ab"));
}

TEST(Robots, LiteralStarsAndDollarsAreWrittenEscaped) {
  EXPECT_TRUE(matches("/file-%2A.html", "/file-*.html"));
  EXPECT_FALSE(matches("/file-%2A.html", "/file-x.html"));
  EXPECT_TRUE(matches("/a%24", "/a$b"));
  EXPECT_FALSE(matches("/a%24", "/a"));
}

TEST(Robots, PercentEncodingIsNormalisedOnBothSides) {
  EXPECT_TRUE(matches("/~joe", "/%7Ejoe"));
  EXPECT_TRUE(matches("/%7Ejoe", "/~joe"));
  EXPECT_TRUE(matches("/%7ejoe/%61", "/~joe/a"));
  EXPECT_TRUE(matches("/foo/\xE3\x83\x84", "/foo/%E3%83%84"));
  EXPECT_TRUE(matches("/foo/%e3%83%84", "/foo/\xE3\x83\x84"));
  EXPECT_FALSE(matches("/a%2Fb", "/a/b"));
  EXPECT_FALSE(matches("/a/b", "/a%2fb"));
  EXPECT_TRUE(matches("/a%2fb", "/a%2Fb"));
  EXPECT_TRUE(matches("/a%", "/a%"));
  EXPECT_TRUE(matches("/a%z", "/a%zz"));
  EXPECT_TRUE(matches("/q?n='x'", "/q?n='x'"));
  EXPECT_TRUE(matches("/a|b", "/a%7cb"));
}

TEST(Robots, LongestMatchWins) {
  constexpr std::string_view kRobots =
      "User-agent: *\n"
      "Disallow: /a/\n"
      "Allow: /a/open/\n"
      "Disallow: /a/open/not/\n"
      "Allow: /*.gif$\n";
  EXPECT_FALSE(allowed(kRobots, "/a/x"));
  EXPECT_TRUE(allowed(kRobots, "/a/open/x"));
  EXPECT_FALSE(allowed(kRobots, "/a/open/not/x"));
  EXPECT_TRUE(allowed(kRobots, "/a/x.gif"));
  EXPECT_FALSE(allowed(kRobots, "/a/open/not/x.gif"));
}

TEST(Robots, AllowWinsTies) {
  EXPECT_TRUE(allowed("User-agent: *\nDisallow: /page\nAllow: /page\n", "/page"));
  EXPECT_TRUE(allowed("User-agent: *\nAllow: /page\nDisallow: /page\n", "/page"));
  EXPECT_TRUE(allowed("User-agent: *\nDisallow: /page\nUser-agent: *\nAllow: /*age\n", "/page"));
  EXPECT_TRUE(allowed("User-agent: *\nDisallow: /%7Ea\nAllow: /~a\n", "/~a"));
}

TEST(Robots, EmptyDisallowAllowsAll) {
  EXPECT_TRUE(allowed("User-agent: *\nDisallow:\n", "/a"));
  EXPECT_TRUE(allowed("User-agent: *\nDisallow: /\nUser-agent: trawl\nDisallow:\n", "/a"));
  EXPECT_FALSE(allowed("User-agent: *\nDisallow: /a\nAllow:\n", "/a"));
}

TEST(Robots, GroupsAreChosenByProductToken) {
  constexpr std::string_view kRobots =
      "User-agent: *\nDisallow: /all\n"
      "User-Agent: TRAWL/2.0 (some words)\nDisallow: /trawl\n"
      "user-agent: trawl-images\nDisallow: /images\n";
  EXPECT_FALSE(allowed(kRobots, "/trawl"));
  EXPECT_TRUE(allowed(kRobots, "/all"));
  EXPECT_FALSE(allowed(kRobots, "/trawl", "Trawl/0.1 (+http://trawl.example/)"));
  EXPECT_FALSE(allowed(kRobots, "/images", "Trawl-Images"));
  EXPECT_TRUE(allowed(kRobots, "/trawl", "Trawl-Images"));
  EXPECT_FALSE(allowed(kRobots, "/all", "trawler"));
  EXPECT_FALSE(allowed(kRobots, "/all", ""));
  EXPECT_FALSE(allowed("User-agent: bot42\nDisallow: /a\n", "/a", "Bot42/1.0"));
  EXPECT_TRUE(allowed("User-agent: bot42\nDisallow: /a\n", "/a", "Bot4"));
}

TEST(Robots, GroupsShareRulesAndAreMerged) {
  constexpr std::string_view kRobots =
      "User-agent: one\nUser-agent: trawl\n# a comment\n\nDisallow: /first\n"
      "User-agent: two\nDisallow: /two\n"
      "User-agent: trawl\nDisallow: /second\n";
  EXPECT_FALSE(allowed(kRobots, "/first"));
  EXPECT_FALSE(allowed(kRobots, "/second"));
  EXPECT_TRUE(allowed(kRobots, "/two"));
  EXPECT_FALSE(allowed(kRobots, "/first", "one"));
  EXPECT_TRUE(allowed(kRobots, "/second", "one"));
}

TEST(Robots, UnknownAndSitemapLinesDoNotEndAGroup) {
  constexpr std::string_view kRobots =
      "User-agent: trawl\nNoindex: /x\nSitemap: http://site.example/map.xml\nUser-agent: other\n"
      "what is this\nDisallow: /a\nHost: site.example\nDisallow: /b\n";
  EXPECT_FALSE(allowed(kRobots, "/a"));
  EXPECT_FALSE(allowed(kRobots, "/b"));
  EXPECT_FALSE(allowed(kRobots, "/a", "other"));
}

TEST(Robots, RulesBeforeAnyAgentAreIgnored) {
  constexpr std::string_view kRobots = "Disallow: /\nCrawl-delay: 9\nUser-agent: *\nDisallow: /a\n";
  EXPECT_TRUE(allowed(kRobots, "/b"));
  EXPECT_FALSE(allowed(kRobots, "/a"));
  EXPECT_FALSE(Robots::parse(kRobots).crawl_delay("trawl"));
}

TEST(Robots, ReadsAnyLineEndsSpacesCommentsAndByteOrderMark) {
  for (const std::string_view end : {"\n", "\r", "\r\n"}) {
    const std::string robots = fmt::format(
        "\xEF\xBB\xBF  User-Agent\t: trawl # us{0}{0}DISALLOW :\t/a # this{0}allow:/a/b", end);
    EXPECT_FALSE(allowed(robots, "/a"));
    EXPECT_TRUE(allowed(robots, "/a/b"));
    EXPECT_TRUE(allowed(robots, "/c"));
  }
}

TEST(Robots, ReadsHalfAMegabyteAndNoHalfLine) {
  std::string robots = "User-agent: *\n";
  while (robots.size() < (500u << 10) - 20)
    robots += "#2345678\n";
  EXPECT_FALSE(allowed(robots + "Disallow: /a\n", "/a"));

  // The limit falls into the second of these lines, which must not become "Disallow: /".
  robots.resize((500u << 10) - 11 - 12, '#');
  robots += "\nDisallow: /b\nDisallow: /b/c\n";
  EXPECT_TRUE(allowed(robots, "/other"));
  EXPECT_FALSE(allowed(robots + std::string(1000, '#'), "/b/x"));
}

TEST(Robots, CutsLongLines) {
  const std::string path = "/" + std::string((16u << 10) + 100, 'a');
  const std::string robots = fmt::format("User-agent: *\nDisallow: {}\nDisallow: /b\n", path);
  EXPECT_FALSE(allowed(robots, path.substr(0, path.size() - 100)));
  EXPECT_FALSE(allowed(robots, "/b"));
  EXPECT_TRUE(allowed(robots, "/aaaa"));
}

TEST(Robots, CrawlDelay) {
  const auto delay = [](std::string_view value) {
    return Robots::parse(fmt::format("User-agent: *\nCrawl-delay: {}\n", value))
        .crawl_delay("trawl");
  };
  EXPECT_EQ(delay("10"), milliseconds(10'000));
  EXPECT_EQ(delay("0.5"), milliseconds(500));
  EXPECT_EQ(delay("1.0001"), milliseconds(1001));
  EXPECT_EQ(delay("0"), milliseconds(0));
  EXPECT_EQ(delay("2 # seconds"), milliseconds(2000));
  for (const std::string_view bad : {"", "-1", "ten", "1e9", "86401", "nan", "inf", "5s", "0x10",
                                     "999999999999999999999999999999999999"}) {
    EXPECT_EQ(delay(bad), std::nullopt) << bad;
  }
}

TEST(Robots, CrawlDelayIsThatOfTheAgentsGroups) {
  const Robots robots = Robots::parse(
      "User-agent: *\nCrawl-delay: 30\nUser-agent: trawl\nCrawl-delay: 5\nCrawl-delay: 3\n"
      "User-agent: other\nDisallow: /\nUser-agent: trawl\nCrawl-delay: 4\n");
  EXPECT_EQ(robots.crawl_delay("Trawl/1.0"), milliseconds(3000));
  EXPECT_EQ(robots.crawl_delay("another"), milliseconds(30'000));
  EXPECT_EQ(robots.crawl_delay("other"), std::nullopt);
  EXPECT_TRUE(robots.allowed("another", url("/")));
  EXPECT_FALSE(robots.allowed("other", url("/")));
}

TEST(Robots, Sitemaps) {
  const Robots robots = Robots::parse(
      "Sitemap: http://site.example/one.xml\nUser-agent: *\nsitemap:  https://cdn.example/two.xml\n"
      "Sitemap: /relative.xml\nSitemap: ftp://site.example/x\nSitemap:\nDisallow: /\n");
  const std::vector<std::string> expected = {"http://site.example/one.xml",
                                             "https://cdn.example/two.xml"};
  EXPECT_EQ(robots.sitemaps(), expected);
}

TEST(Robots, CopiesAreIndependentOfTheOriginalsLife) {
  Robots copy = Robots::allow_all();
  {
    const std::string bytes = "User-agent: *\nDisallow: /a\n";
    const Robots original = Robots::parse(bytes);
    copy = original;
  }
  EXPECT_FALSE(copy.allowed("trawl", url("/a")));
}

// What '*' and '$' mean, by exhaustive search.
bool matches_by_definition(std::string_view pattern, std::string_view path) {
  if (pattern.empty()) return true;
  if (pattern == "$") return path.empty();
  if (pattern[0] == '*') {
    for (std::size_t skip = 0; skip <= path.size(); ++skip) {
      if (matches_by_definition(pattern.substr(1), path.substr(skip))) return true;
    }
    return false;
  }
  return !path.empty() && path[0] == pattern[0] &&
         matches_by_definition(pattern.substr(1), path.substr(1));
}

TEST(Robots, MatchingAgreesWithItsDefinition) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const auto letters = [&](std::string_view alphabet, std::size_t most) {
    std::string text = "/";
    for (std::size_t length = random() % (most + 1); length > 0; --length) {
      text += alphabet[random() % alphabet.size()];
    }
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string pattern = letters("aab**", 8) + (random() % 3 == 0 ? "$" : "");
    const std::string path = letters("aab", 10);
    ASSERT_EQ(matches(pattern, path), matches_by_definition(pattern, path))
        << pattern << " on " << path;
  }
}

// Without linear matching and shared groups these would not end.
TEST(Robots, HostileFilesAreCheap) {
  const std::string path = "/" + std::string(2000, 'a');
  std::string stars = "User-agent: *\nDisallow: ";
  while (stars.size() < (500u << 10)) {
    for (int i = 0; i < 1000; ++i)
      stars += "*a";
    stars += "b\nDisallow: ";
  }
  EXPECT_TRUE(allowed(stars, path));

  std::string cross_product;
  while (cross_product.size() < (200u << 10))
    cross_product += "User-agent: *\nUser-agent: trawl\n";
  for (int i = 0; i < 10'000; ++i)
    cross_product += fmt::format("Disallow: /*a{}$\n", i);
  EXPECT_TRUE(allowed(cross_product, path));
  EXPECT_FALSE(allowed(cross_product, "/xa9999"));
}

}  // namespace
}  // namespace trawl
