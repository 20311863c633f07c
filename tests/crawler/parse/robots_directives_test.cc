#include "trawl/robots_directives.h"

#include <cctype>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {

void PrintTo(const RobotsDirectives& directives, std::ostream* out) {
  *out << (directives.noindex ? "noindex " : "") << (directives.nofollow ? "nofollow " : "")
       << (directives.noarchive ? "noarchive" : "");
}

namespace {

constexpr RobotsDirectives kNothing;
constexpr RobotsDirectives kNoindex{.noindex = true};
constexpr RobotsDirectives kNofollow{.nofollow = true};
constexpr RobotsDirectives kNoarchive{.noarchive = true};
constexpr RobotsDirectives kNone{.noindex = true, .nofollow = true};

RobotsDirectives both(RobotsDirectives a, const RobotsDirectives& b) {
  return a |= b;
}

RobotsDirectives tag(std::string_view value) {
  return parse_x_robots_tag(value, "trawl");
}

TEST(RobotsMeta, DirectivesAreJoinedByCommas) {
  EXPECT_EQ(parse_robots_meta(""), kNothing);
  EXPECT_EQ(parse_robots_meta("noindex"), kNoindex);
  EXPECT_EQ(parse_robots_meta("nofollow"), kNofollow);
  EXPECT_EQ(parse_robots_meta("none"), kNone);
  EXPECT_EQ(parse_robots_meta("noarchive"), kNoarchive);
  EXPECT_EQ(parse_robots_meta("nocache"), kNoarchive);
  EXPECT_EQ(parse_robots_meta("noindex,nofollow"), kNone);
  EXPECT_EQ(parse_robots_meta(" NoIndex ,\t\nNOFOLLOW , NoCache\r"),
            (RobotsDirectives{.noindex = true, .nofollow = true, .noarchive = true}));
  EXPECT_EQ(parse_robots_meta(",,noindex,,"), kNoindex);
}

TEST(RobotsMeta, WhatForbidsNothingMeansNothing) {
  for (const char* content : {"all", "index, follow", "nosnippet, notranslate, noimageindex",
                              "nofollowing", "xnoindex", "no index", "no-follow", ",", " , ;"}) {
    EXPECT_EQ(parse_robots_meta(content), kNothing) << content;
  }
  EXPECT_EQ(parse_robots_meta("noindex, index, all"), kNoindex) << "what forbids wins";
}

TEST(RobotsMeta, TakesListsWithoutCommasToo) {
  EXPECT_EQ(parse_robots_meta("noindex nofollow"), kNone);
  EXPECT_EQ(parse_robots_meta("noindex; nofollow"), kNone);
  EXPECT_EQ(parse_robots_meta("noindex\nnofollow noarchive, max-snippet:-1"),
            both(kNone, kNoarchive));
}

TEST(RobotsMeta, ValuesOfDirectivesAreNoDirectives) {
  EXPECT_EQ(parse_robots_meta("max-image-preview:none"), kNothing);
  EXPECT_EQ(parse_robots_meta("max-image-preview : none , nofollow"), kNofollow);
  EXPECT_EQ(parse_robots_meta("noindex: yes"), kNothing);
  EXPECT_EQ(parse_robots_meta("noindex max-image-preview: none"), kNoindex);
  EXPECT_EQ(parse_robots_meta("max-snippet:-1, max-video-preview:-1, noindex"), kNoindex);
  EXPECT_EQ(parse_robots_meta("unavailable_after: 2030-06-25T15:00:00+00:00, nofollow"), kNofollow);
}

TEST(XRobotsTag, WithoutANameIsForAll) {
  EXPECT_EQ(tag(""), kNothing);
  EXPECT_EQ(tag("noindex"), kNoindex);
  EXPECT_EQ(tag(" NOINDEX , nofollow "), kNone);
  EXPECT_EQ(tag("none"), kNone);
  EXPECT_EQ(tag("nocache"), kNoarchive);
  EXPECT_EQ(tag("all, index, unheard-of"), kNothing);
}

TEST(XRobotsTag, ANameHoldsUpToTheNext) {
  EXPECT_EQ(tag("googlebot: noindex, nofollow"), kNothing);
  EXPECT_EQ(tag("trawl: noindex, nofollow"), kNone);
  EXPECT_EQ(tag("TRAWL : NOINDEX"), kNoindex);
  EXPECT_EQ(tag("trawler: noindex"), kNothing);
  EXPECT_EQ(tag("noarchive, googlebot: nofollow, otherbot: noindex, nofollow"), kNoarchive);
  EXPECT_EQ(tag("googlebot: nofollow, noarchive, trawl: noindex"), kNoindex);
  EXPECT_EQ(tag("trawl: noindex, googlebot: nofollow, trawl: noarchive"),
            both(kNoindex, kNoarchive));
  EXPECT_EQ(tag("googlebot: noindex, *: nofollow"), kNofollow);
  EXPECT_EQ(tag("googlebot: trawl: noindex"), kNoindex) << "the nearest name";
  EXPECT_EQ(tag("trawl:noindex"), kNoindex);
  EXPECT_EQ(tag("trawl:, noindex"), kNoindex);
}

TEST(XRobotsTag, NamesAreReadAsInRobotsTxt) {
  for (const char* agent : {"trawl", "Trawl/0.1 (+http://x)", "TRAWL 2", "trawl:"}) {
    SCOPED_TRACE(agent);
    EXPECT_EQ(parse_x_robots_tag("trawl: noindex", agent), kNoindex);
    EXPECT_EQ(parse_x_robots_tag("Trawl/1.0: noindex", agent), kNoindex);
    EXPECT_EQ(parse_x_robots_tag("trawl-news: noindex, trawl: nofollow", agent), kNofollow);
  }
  EXPECT_EQ(parse_x_robots_tag("trawl: noindex, trawl-news: nofollow", "Trawl-News/3"), kNofollow);
  for (const char* agent : {"", "(", "/1.0", "*", "\xC3\xBC"}) {
    SCOPED_TRACE(agent);
    EXPECT_EQ(parse_x_robots_tag("(: noindex, /1.0: nofollow", agent), kNothing) << "no token";
    EXPECT_EQ(parse_x_robots_tag("*: noindex, trawl: nofollow", agent), kNoindex);
  }
}

TEST(XRobotsTag, ABrowserLikeAgentHasTheNameOfItsCompatiblePart) {
  const char* const agent = "Mozilla/5.0 (compatible; trawl/1.0; +https://my.site/)";
  EXPECT_EQ(parse_x_robots_tag("trawl: noindex", agent), kNoindex);
  EXPECT_EQ(parse_x_robots_tag("Mozilla: noindex", agent), kNothing);
}

TEST(XRobotsTag, DirectivesWithValuesAreNoNames) {
  for (const char* value :
       {"unavailable_after: 25 Jun 2030 15:00:00 GMT", "max-snippet:-1", "max-snippet: 20",
        "max-image-preview: large", "max-image-preview: none", "max-video-preview:-1",
        "Max-Image-Preview : none", "unavailable_after: Wednesday, 25-Jun-30 15:00:00 GMT",
        "unavailable_after: Wed, 25 Jun 2030 15:00:00 GMT"}) {
    SCOPED_TRACE(value);
    EXPECT_EQ(tag(value), kNothing);
    EXPECT_EQ(tag(std::string(value) + ", noindex"), kNoindex);
    EXPECT_EQ(tag(std::string("nofollow, ") + value + ", noindex"), kNone);
    EXPECT_EQ(tag(std::string("googlebot: ") + value + ", noindex"), kNothing);
    EXPECT_EQ(tag(std::string("trawl: ") + value + ", noindex"), kNoindex);
  }
}

// As several headers of a page: what one is for says nothing about the next.
TEST(XRobotsTag, EachLineBeginsForAll) {
  EXPECT_EQ(tag("googlebot: noindex\nnofollow"), kNofollow);
  EXPECT_EQ(tag("googlebot: noindex, nofollow"), kNothing);
  EXPECT_EQ(tag("noindex\n\ntrawl: noarchive\r\nother: nofollow"), both(kNoindex, kNoarchive));
}

TEST(XRobotsTag, AnEmptyAgentHasOnlyWhatIsForAll) {
  EXPECT_EQ(parse_x_robots_tag("noindex, trawl: nofollow", ""), kNoindex);
  EXPECT_EQ(parse_x_robots_tag(": nofollow", ""), kNothing);
}

TEST(RobotsDirectives, AddUp) {
  RobotsDirectives directives;
  directives |= kNoindex;
  directives |= kNothing;
  directives |= kNofollow;
  EXPECT_EQ(directives, kNone);
}

// Against a model that knows only whole lists, one blank behind each comma.
TEST(XRobotsTag, AgreesWithAModelOnRandomLists) {
  const std::vector<std::string> words = {"noindex", "nofollow",       "none",
                                          "nocache", "max-snippet: 3", "all"};
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::string value;
    RobotsDirectives expected;
    bool ours = true;
    for (unsigned part = random() % 8; part > 0; --part) {
      if (!value.empty()) value += ", ";
      if (random() % 3 == 0) {
        ours = random() % 2 == 0;
        value += ours ? "Trawl: " : "other: ";
      }
      std::string word = words[random() % words.size()];
      if (ours) {
        expected.noindex |= word == "noindex" || word == "none";
        expected.nofollow |= word == "nofollow" || word == "none";
        expected.noarchive |= word == "nocache";
      }
      for (char& letter : word) {
        if (random() % 2 == 0)
          letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
      }
      value += word;
    }
    EXPECT_EQ(tag(value), expected) << value;
  }
}

// Half a MiB each: quadratic time would take minutes.
TEST(XRobotsTag, TakesLinearTime) {
  for (const char* part :
       {",", "a", "a:", ":", " ", "a,", "a: ", "x: noindex,", ";", "\n", "a b:"}) {
    std::string value;
    while (value.size() < 512u << 10)
      value += part;
    EXPECT_EQ(tag(value), kNothing) << part;
    EXPECT_EQ(tag(value + "\nnoindex"), kNoindex) << part;
    EXPECT_EQ(parse_robots_meta(value + ",none"), kNone) << part;
  }
}

}  // namespace
}  // namespace trawl
