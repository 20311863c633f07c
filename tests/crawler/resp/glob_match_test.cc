#include "crawler/resp/glob_match.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace trawl::resp {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  std::uint64_t work = 0;
  return glob_match(pattern, text, work);
}

TEST(GlobMatch, MatchesAsRedisDoes) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*", "abc"));
  EXPECT_TRUE(matches("a*c", "abbbc"));
  EXPECT_FALSE(matches("a*c", "abbbd"));
  EXPECT_TRUE(matches("h?llo", "hello"));
  EXPECT_FALSE(matches("h?llo", "hllo"));
  EXPECT_TRUE(matches("h[ae]llo", "hallo"));
  EXPECT_FALSE(matches("h[ae]llo", "hillo"));
  EXPECT_TRUE(matches("h[^e]llo", "hbllo"));
  EXPECT_FALSE(matches("h[^e]llo", "hello"));
  EXPECT_TRUE(matches("h[a-c]llo", "hbllo"));
  EXPECT_TRUE(matches("h[c-a]llo", "hbllo"));
  EXPECT_TRUE(matches("a\\*b", "a*b"));
  EXPECT_FALSE(matches("a\\*b", "axb"));
  EXPECT_TRUE(matches("[\\]]", "]"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("abc", "ab"));
  EXPECT_FALSE(matches("[", "a"));
  EXPECT_FALSE(matches("[abc", "d"));
  EXPECT_TRUE(matches("*a*b*", "xxaxxbxx"));
}

TEST(GlobMatch, ManyStarsTakeNoLongerThanTheProductOfTheLengths) {
  std::string pattern;
  for (int i = 0; i < 1000; ++i)
    pattern += "*a";
  std::uint64_t work = 0;
  EXPECT_FALSE(glob_match(pattern + "b", std::string(4000, 'a'), work));
  EXPECT_GT(work, 1000u);
  EXPECT_LT(work, pattern.size() * 4000);
  // A set is read again for each byte of the text.
  work = 0;
  EXPECT_FALSE(glob_match("*[" + std::string(1000, 'b') + "]", std::string(4000, 'a'), work));
  EXPECT_GT(work, 4'000'000u);
}

}  // namespace
}  // namespace trawl::resp
