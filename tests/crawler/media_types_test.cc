// Which content types a list covers.
#include "crawler/config/media_types.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace trawl::test {
namespace {

bool matches(std::vector<std::string> patterns, std::string_view type) {
  return MediaTypes(patterns).matches(type);
}

TEST(MediaTypes, ParametersAndLetterCaseDoNotCount) {
  EXPECT_TRUE(matches({"text/html"}, "text/html"));
  EXPECT_TRUE(matches({"Text/HTML"}, " TEXT/html ; charset=utf-8"));
  EXPECT_FALSE(matches({"text/html"}, "text/html5"));
  EXPECT_FALSE(matches({"text/html"}, "text/htm"));
  EXPECT_FALSE(matches({"text/html"}, "application/text/html"));
  EXPECT_FALSE(matches({"text/html"}, "x; text/html"));
  EXPECT_TRUE(matches({"a/b", "image/*"}, "image/PNG"));
  EXPECT_FALSE(matches({"image/*"}, "image"));
  EXPECT_FALSE(matches({"image/*"}, "images/png"));
  EXPECT_TRUE(matches({"*/*"}, "anything"));
  EXPECT_TRUE(matches({"*/*"}, ""));
  EXPECT_FALSE(matches({"text/*"}, ""));
  EXPECT_FALSE(matches({"text/*"}, ";"));
}

TEST(MediaTypes, AnEmptyListCoversNothing) {
  EXPECT_TRUE(MediaTypes().empty());
  EXPECT_FALSE(MediaTypes().matches("text/html"));
  EXPECT_TRUE(MediaTypes(std::vector<std::string>{"html"}).empty());
}

TEST(MediaTypes, PatternsAreTypesOrTheirStars) {
  for (const std::string_view good :
       {"text/html", "image/*", "*/*", "application/xhtml+xml", "a/b.c-d_e"})
    EXPECT_TRUE(MediaTypes::is_pattern(good)) << good;
  for (const std::string_view bad : {"", "/", "text", "text/", "/html", "*", "*/html", "text/h*",
                                     "te xt/html", "text/html;a=b", "text/html/x", "text/\xc3\xa9"})
    EXPECT_FALSE(MediaTypes::is_pattern(bad)) << bad;
}

}  // namespace
}  // namespace trawl::test
