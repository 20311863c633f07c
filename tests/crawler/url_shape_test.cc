#include "crawler/decide/url_shape.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

std::string pattern_of(std::string_view text) {
  return url_pattern_of(*Url::parse(text));
}

bool repeated(std::string_view path, std::uint32_t max_times) {
  return has_repeated_segments(path, count_path_segments(path), max_times);
}

TEST(UrlShape, SegmentsAreBetweenSlashes) {
  EXPECT_EQ(count_path_segments("/"), 0u);
  EXPECT_EQ(count_path_segments("/a"), 1u);
  EXPECT_EQ(count_path_segments("/a/"), 1u);
  EXPECT_EQ(count_path_segments("/a/b.html"), 2u);
  EXPECT_EQ(count_path_segments("//"), 1u);
  EXPECT_EQ(count_path_segments("/a//b"), 3u);
  EXPECT_EQ(count_path_segments(std::string(1000, '/')), 999u);
}

TEST(UrlShape, ASegmentThatComesTooOftenInARow) {
  EXPECT_FALSE(repeated("/a/a", 2));
  EXPECT_TRUE(repeated("/a/a/a", 2));
  EXPECT_TRUE(repeated("/x/a/a/a/y", 2));
  EXPECT_TRUE(repeated("/a/a/a/", 2));
  EXPECT_FALSE(repeated("/a/a/b/a/a", 2));
  EXPECT_TRUE(repeated("/a/a", 1));
  EXPECT_TRUE(repeated("////", 2)) << "empty segments are segments";
}

TEST(UrlShape, ARunOfSegmentsThatComesTooOftenInARow) {
  EXPECT_FALSE(repeated("/a/b/a/b", 2));
  EXPECT_TRUE(repeated("/a/b/a/b", 1));
  EXPECT_TRUE(repeated("/a/b/a/b/a/b", 2));
  EXPECT_TRUE(repeated("/calendar/x/calendar/x/calendar/x/y", 2));
  EXPECT_FALSE(repeated("/a/b/a/c/a/b", 2));
  EXPECT_TRUE(repeated("/s/a/b/c/d/e/a/b/c/d/e/a/b/c/d/e", 2)) << "longer runs, too";
  EXPECT_FALSE(repeated("/s/a/b/c/d/e/a/b/c/d/e/a/b/c/d/f", 2));
  std::string loop;
  for (int i = 0; i < 3; ++i) {
    for (std::uint32_t n = 0; n < kMaxRepeatedRun; ++n)
      loop += fmt::format("/{}", n);
  }
  EXPECT_TRUE(repeated(loop, 2));
  EXPECT_FALSE(repeated(loop, 3));
}

TEST(UrlShape, OrdinaryPathsDoNotRepeat) {
  for (const char* path :
       {"/2024/11/11/11/", "/a/a/a/a", "/tiles/3/3/3/3.png", "/en/docs/en/docs/"})
    EXPECT_FALSE(repeated(path, 4)) << path;
}

TEST(UrlShape, NoLimitOnRepetitionIsNone) {
  EXPECT_FALSE(repeated("/a/a/a/a/a/a/a/a", 0));
}

TEST(UrlShape, ParametersAreBetweenAmpersands) {
  EXPECT_EQ(count_query_parameters(""), 0u);
  EXPECT_EQ(count_query_parameters("a"), 1u);
  EXPECT_EQ(count_query_parameters("a=1&b=2&c"), 3u);
  EXPECT_EQ(count_query_parameters("&&"), 3u);
}

TEST(UrlPatternOf, NumbersAndValuesDoNotCount) {
  EXPECT_EQ(pattern_of("http://h.test/cal/2024/11?day=3&x"), "h.test/cal/0/0?day&x");
  EXPECT_EQ(pattern_of("https://h.test/cal/1999/7?x=2&day=31&x=5#f"), "h.test/cal/0/0?day&x");
  EXPECT_EQ(pattern_of("http://h.test/page-12.html"), "h.test/page-0.html");
  EXPECT_EQ(pattern_of("http://h.test:8080/v2x3"), "h.test:8080/v0x0");
  EXPECT_EQ(pattern_of("http://h.test/?p1=a&p2=b"), "h.test/?p0");
  EXPECT_EQ(pattern_of("http://h.test/?&&"), "h.test/");
  EXPECT_EQ(pattern_of("http://u:p@h.test/"), "h.test/");
}

TEST(UrlPatternOf, IdentifiersAreAllOne) {
  for (const char* id : {"550e8400-e29b-41d4-a716-446655440000", "DEADBEEF01",
                         "d41d8cd98f00b204e9800998ecf8427e", "12ab34cd"})
    EXPECT_EQ(pattern_of("http://h.test/f/" + std::string(id) + ".jpg"), "h.test/f/{id}.jpg") << id;
  EXPECT_EQ(pattern_of("http://h.test/2024-11-03"), "h.test/0-0-0");
  EXPECT_EQ(pattern_of("http://h.test/face-2-face"), "h.test/face-0-face");
  EXPECT_EQ(pattern_of("http://h.test/12ab34c"), "h.test/0ab0c") << "too short";
  EXPECT_EQ(pattern_of("http://h.test/x12ab34cd"), "h.test/x0ab0cd") << "a letter touches it";
  EXPECT_EQ(pattern_of("http://h.test/12ab34cdz"), "h.test/0ab0cdz");
  EXPECT_EQ(pattern_of("http://h.test/;jsessionid=12AB34CD56EF"), "h.test/;jsessionid={id}");
}

// Takes minutes if it is quadratic.
TEST(UrlPatternOf, LongHostileUrlsTakeLinearTime) {
  std::string path = "http://h.test/";
  for (int i = 0; i < 500'000; ++i)
    path += "a-";
  EXPECT_EQ(pattern_of(path + "z").size(), path.size() - 7 + 1);
  std::string query = "http://h.test/?";
  for (int i = 0; i < 200'000; ++i)
    query += "a&";
  EXPECT_EQ(pattern_of(query), "h.test/?a");
  std::string deep = "/";
  for (int i = 0; i < 500'000; ++i)
    deep += fmt::format("{}/", i % 17);
  EXPECT_FALSE(repeated(deep, 1)) << "runs of 17 are too long to be looked for";
}

}  // namespace
}  // namespace trawl
