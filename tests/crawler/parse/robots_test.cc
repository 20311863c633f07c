#include "trawl/robots.h"

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

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

TEST(Robots, OfAUserAgentTheProductTokenCounts) {
  const char* const file = "User-agent: Mozilla\nDisallow: /m\nUser-agent: mybot\nDisallow: /b\n";
  for (const char* agent : {"mybot", "mybot/1.0 (+https://my.site/)",
                            "Mozilla/5.0 (compatible; MyBot/1.0; +https://my.site/)"}) {
    EXPECT_TRUE(allowed(file, "/m", agent)) << agent;
    EXPECT_FALSE(allowed(file, "/b", agent)) << agent;
  }
  EXPECT_FALSE(allowed(file, "/m", "Mozilla/5.0 (X11; Linux)"));
  EXPECT_TRUE(allowed(file, "/b", "Mozilla/5.0 (X11; Linux)"));
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

TEST(Robots, WhatIsLeftOfAByteOrderMarkIsSkipped) {
  for (const std::string_view mark : {"", "\xEF", "\xEF\xBB", "\xEF\xBB\xBF"}) {
    const std::string robots = fmt::format("{}User-agent: *\nDisallow: /a\n", mark);
    EXPECT_FALSE(allowed(robots, "/a")) << mark.size();
    EXPECT_TRUE(allowed(std::string(mark), "/a"));
  }
  for (const std::string_view other : {"\xBB\xBF", "\xBF", "\xEF\xBF", "\xEF\xBB\xBF\xEF"}) {
    const std::string robots = fmt::format("{}User-agent: *\nDisallow: /a\n", other);
    EXPECT_TRUE(allowed(robots, "/a")) << "no user agent field";
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

TEST(Robots, TheFirstThousandSitemapLinesAreRead) {
  std::string bytes = "# much that is forgotten\nSitemap:\nSitemap: /relative.xml\nUser-agent: *\n";
  for (int i = 0; i < 1500; ++i)
    bytes += fmt::format("User-agent: a{0}\nSitemap: http://m\u00fcller.example/{0}\n", i);
  const Robots robots = Robots::parse(bytes + "Disallow: /a\nSitemap: http://site.example/z");
  const std::vector<std::string>& sitemaps = robots.sitemaps();
  ASSERT_EQ(sitemaps.size(), 999u) << "without the relative one";
  for (std::size_t i = 0; i < sitemaps.size(); ++i)
    EXPECT_EQ(sitemaps[i], fmt::format("http://xn--mller-kva.example/{}", i));
  const Robots copy = robots;
  EXPECT_EQ(&copy.sitemaps(), &sitemaps);
  EXPECT_FALSE(robots.allowed("a1499", url("/a")));
}

TEST(Robots, AgentsAskedForInTurnHaveEachTheirRules) {
  const Robots robots = Robots::parse(
      "User-agent: trawl\nDisallow: /a\nUser-agent: trawler\nDisallow: /b\n"
      "User-agent: *\nDisallow: /c\n");
  for (int round = 0; round < 3; ++round) {
    for (const std::string_view agent : {"trawl", "Trawl", "trawl/2.0", "trawl-x", "TRAWL ER"}) {
      EXPECT_FALSE(robots.allowed(agent, url("/a"))) << agent;
      EXPECT_TRUE(robots.allowed(agent, url("/b"))) << agent;
    }
    EXPECT_TRUE(robots.allowed("trawler", url("/a")));
    EXPECT_FALSE(robots.allowed("trawler", url("/b")));
    for (const std::string_view agent : {"", "traw", "other"})
      EXPECT_FALSE(robots.allowed(agent, url("/c"))) << agent;
  }
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

TEST(Robots, TheMostSpecificGroupHolds) {
  constexpr std::string_view kRobots =
      "User-agent: *\nDisallow: /all\n"
      "User-agent: foo\nDisallow: /foo\n"
      "User-agent: foo-news\nDisallow: /news\n"
      "User-agent: foo-news-video\nDisallow: /video\n";
  EXPECT_FALSE(allowed(kRobots, "/foo", "foo"));
  EXPECT_TRUE(allowed(kRobots, "/news", "foo"));
  EXPECT_FALSE(allowed(kRobots, "/news", "Foo-News"));
  EXPECT_TRUE(allowed(kRobots, "/foo", "foo-news"));
  // Without a group of its own a crawler obeys that of the family it names itself after.
  EXPECT_FALSE(allowed(kRobots, "/foo", "foo-images"));
  EXPECT_FALSE(allowed(kRobots, "/foo", "foo_images/1.0"));
  EXPECT_FALSE(allowed(kRobots, "/news", "foo-news-radio"));
  EXPECT_TRUE(allowed(kRobots, "/all", "foo-images"));
  // A name that merely begins alike is another name.
  EXPECT_FALSE(allowed(kRobots, "/all", "foobar"));
  EXPECT_TRUE(allowed(kRobots, "/foo", "fo"));
  EXPECT_TRUE(allowed(kRobots, "/foo", "news"));
  EXPECT_FALSE(allowed(kRobots, "/all", "-"));
}

TEST(Robots, ManyGroupsAndLongNamesAreFound) {
  std::string robots;
  for (int i = 0; i < 300; ++i) {
    robots += fmt::format("User-agent: a-long-common-name-{}\nDisallow: /{}/\n", i, i);
  }
  for (int i = 0; i < 300; ++i) {
    const std::string agent = fmt::format("A-LONG-common-name-{}", i);
    EXPECT_FALSE(allowed(robots, fmt::format("/{}/", i), agent));
    EXPECT_TRUE(allowed(robots, fmt::format("/{}/", i + 1), agent));
  }
  EXPECT_TRUE(allowed(robots, "/1/", "a-long-common-name"));
}

TEST(Robots, MisspeltFieldsAreReadUnlessToldNotTo) {
  const auto strictly = [](std::string_view robots, std::string_view path) {
    return Robots::parse(robots, {.accept_typos = false}).allowed("trawl", url(path));
  };
  for (const std::string_view field :
       {"dissallow:", "Dissalow:", "disalow:", "DIASLLOW:", "disallaw:", "Disallow", "disalow\t"}) {
    const std::string robots = fmt::format("User-agent: *\n{} /a\n", field);
    EXPECT_FALSE(allowed(robots, "/a")) << field;
    EXPECT_TRUE(strictly(robots, "/a")) << field;
  }
  for (const std::string_view field : {"useragent:", "User Agent:", "USER-AGENT", "UserAgent"}) {
    const std::string robots = fmt::format("{} trawl\nDisallow: /a\n", field);
    EXPECT_FALSE(allowed(robots, "/a")) << field;
    EXPECT_TRUE(strictly(robots, "/a")) << field;
  }
  for (const std::string_view field : {"crawldelay:", "Crawl delay:", "Crawl-Delay"}) {
    const std::string robots = fmt::format("User-agent: *\n{} 3\n", field);
    EXPECT_EQ(Robots::parse(robots).crawl_delay("trawl"), milliseconds(3000)) << field;
    EXPECT_FALSE(Robots::parse(robots, {.accept_typos = false}).crawl_delay("trawl")) << field;
  }
  for (const std::string_view field : {"site-map:", "Sitemap"}) {
    const std::string robots = fmt::format("{} http://site.example/a.xml\n", field);
    EXPECT_EQ(Robots::parse(robots).sitemaps().size(), 1u) << field;
    EXPECT_TRUE(Robots::parse(robots, {.accept_typos = false}).sitemaps().empty()) << field;
  }
}

TEST(Robots, AColonMayBeMissingBetweenTwoWordsOnly) {
  const auto rule = [](std::string_view line) {
    return !allowed(fmt::format("User-agent: *\n{}\n", line), "/a:b/c");
  };
  EXPECT_TRUE(rule("Disallow /a"));
  EXPECT_TRUE(rule("  Disallow\t /a # all of it"));
  EXPECT_TRUE(rule("Disallow /a:b"));
  EXPECT_FALSE(rule("Disallow /a and /b"));
  EXPECT_FALSE(rule("Disallow"));
  EXPECT_FALSE(rule("Disallow/a"));
  EXPECT_FALSE(rule("Disallow-this: /a"));
  EXPECT_FALSE(rule("x Disallow: /a"));
  EXPECT_FALSE(rule(": /a"));
}

TEST(Robots, MixedLineEndsAreCountedAsLines) {
  const Robots robots = Robots::parse(
      "\xEF\xBB\xBFUser-agent: trawl\r\n\r\n# comment\rDisallow: /a\n\rDisallow: /b # why\n"
      "Allow: /c");
  EXPECT_EQ(robots.decide("trawl", url("/a")).line, 4u);
  EXPECT_EQ(robots.decide("trawl", url("/b")).line, 6u);
  EXPECT_EQ(robots.decide("trawl", url("/b")).text, "Disallow: /b");
  EXPECT_EQ(robots.decide("trawl", url("/c")).line, 7u);
}

void expect_decision(const RobotsDecision& decision, bool is_allowed, RobotsReason reason,
                     std::size_t line = 0, std::string_view text = "") {
  EXPECT_EQ(decision.allowed, is_allowed);
  EXPECT_EQ(decision.reason, reason);
  EXPECT_EQ(decision.line, line);
  EXPECT_EQ(decision.text, text);
}

TEST(Robots, DecisionsSayWhatDecided) {
  const Robots robots = Robots::parse(
      "User-agent: trawl\n  DISALLOW:/a*  # no\nAllow: /a/b$\n\nUser-agent: two\n"
      "Disallow: /a\nDisallow: /a\nAllow: /%61\nDisallow: /z\nDisallow: /z\n");
  expect_decision(robots.decide("trawl", url("/a")), false, RobotsReason::kRule, 2, "DISALLOW:/a*");
  expect_decision(robots.decide("trawl", url("/a/b")), true, RobotsReason::kRule, 3,
                  "Allow: /a/b$");
  expect_decision(robots.decide("trawl", url("/b")), true, RobotsReason::kNoRuleMatches);
  expect_decision(robots.decide("three", url("/a")), true, RobotsReason::kNoGroup);
  expect_decision(robots.decide("two", url("/a")), true, RobotsReason::kRule, 8, "Allow: /%61");
  expect_decision(robots.decide("two", url("/z")), false, RobotsReason::kRule, 9, "Disallow: /z");
  expect_decision(robots.decide("two", url("/robots.txt")), true, RobotsReason::kRobotsTxt);
  expect_decision(Robots::allow_all().decide("x", url("/")), true, RobotsReason::kWholeSite);
  expect_decision(Robots::disallow_all().decide("x", url("/")), false, RobotsReason::kWholeSite);
  expect_decision(Robots::disallow_all().decide("x", url("/robots.txt")), true,
                  RobotsReason::kRobotsTxt);
}

TEST(Robots, RobotsTxtIsAllowedHoweverWritten) {
  constexpr std::string_view kRobots = "User-agent: *\nDisallow: /\n";
  EXPECT_TRUE(allowed(kRobots, "/robots.txt"));
  EXPECT_TRUE(allowed(kRobots, "/robots.txt#top"));
  EXPECT_TRUE(allowed(kRobots, "/%72obots%2etxt"));
  EXPECT_FALSE(allowed(kRobots, "/robots.txt?x"));
  EXPECT_FALSE(allowed(kRobots, "/ROBOTS.TXT"));
}

TEST(Robots, ACutLineIsAShorterRuleWithNoHalfEscape) {
  const std::string start = "/" + std::string((16u << 10) - 20, 'a');
  ASSERT_EQ(start.size() + std::string_view("Disallow: ").size(), (16u << 10) - 9);
  // The cut falls into the escape of '~'.
  const std::string rule = start + "1234567%7Ejoe";
  const std::string robots = fmt::format("User-agent: *\nDisallow: {}\nDisallow: /b\n", rule);
  EXPECT_FALSE(allowed(robots, start + "1234567~joe"));
  EXPECT_FALSE(allowed(robots, start + "1234567"));
  EXPECT_TRUE(allowed(robots, start + "123456"));
  EXPECT_FALSE(allowed(robots, "/b"));
}

TEST(Robots, OneLineLongerThanAllThatIsReadIsCut) {
  const std::string path = "/" + std::string(600u << 10, 'a');
  EXPECT_FALSE(allowed("User-agent: *\nDisallow: " + path, path));
  EXPECT_TRUE(allowed("User-agent: *\nDisallow: " + path, "/a"));
}

TEST(Robots, ALineThatEndsAtTheLimitIsRead) {
  std::string robots = "User-agent: *\n";
  robots += "#" + std::string((500u << 10) - robots.size() - 14, '-') + "\nDisallow: /a";
  ASSERT_EQ(robots.size(), 500u << 10);
  EXPECT_FALSE(allowed(robots, "/a"));
  EXPECT_FALSE(allowed(robots + "\n# more", "/a"));
  EXPECT_TRUE(allowed(robots + "b\n", "/ab"));
  EXPECT_TRUE(allowed(robots + "b\n", "/a"));
}

TEST(Robots, ThreadsMayAskForTheFirstTimeTogether) {
  std::string bytes = "Sitemap: http://a/\nUser-agent: *\nDisallow: /*x\nUser-agent: trawl\n";
  for (int i = 0; i < 500; ++i)
    bytes += fmt::format("Disallow: /{}/*b\n", i);
  for (int round = 0; round < 20; ++round) {
    const Robots robots = Robots::parse(bytes);
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const Robots copy = robots;
        right += !copy.allowed("trawl", url(fmt::format("/{}/ab", i))) &&
                 copy.allowed("trawl", url("/x")) && !copy.allowed("other", url("/x")) &&
                 copy.sitemaps().size() == 1;
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    EXPECT_EQ(right, 4);
  }
}

}  // namespace
}  // namespace trawl
