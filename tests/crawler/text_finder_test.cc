#include "crawler/patterns/text_finder.h"

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> find(const TextFinder& finder, std::string_view in) {
  std::vector<int> found{99};  // what is there is replaced
  finder.find(in, found);
  std::ranges::sort(found);
  return found;
}

TEST(TextFinder, FindsTextsWithinOthersAndEachOnce) {
  const TextFinder finder({"he", "she", "his", "hers", "he"});
  EXPECT_THAT(find(finder, "ushers"), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(find(finder, "hehehe"), ElementsAre(0, 4));
  EXPECT_THAT(find(finder, "this"), ElementsAre(2));
  EXPECT_THAT(find(finder, "h s"), IsEmpty());
  EXPECT_THAT(find(finder, ""), IsEmpty());
}

TEST(TextFinder, CaseDoesNotCount) {
  EXPECT_THAT(find(TextFinder({"abc"}), "xABcx"), ElementsAre(0));
}

TEST(TextFinder, OfNothingFindsNothing) {
  EXPECT_THAT(find(TextFinder({}), "abc"), IsEmpty());
  EXPECT_THAT(find(TextFinder({"", "b"}), "abc"), ElementsAre(1));
}

TEST(TextFinder, OfLongTextsTheEndCounts) {
  const std::string end(TextFinder::kLongest, 'e');
  const TextFinder finder({"long beginning " + end});
  EXPECT_THAT(find(finder, "other beginning " + end), ElementsAre(0));
  EXPECT_THAT(find(finder, "long beginning " + end.substr(1)), IsEmpty());
}

TEST(TextFinder, FindsWhatALoopFinds) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto text = [&random](std::size_t longest) {
    std::string out;
    for (std::size_t n = random() % (longest + 1); n > 0; --n)
      out += static_cast<char>('a' + random() % 3);
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 20; ++i)
      texts.push_back(text(6));
    const TextFinder finder(texts);
    const std::string in = text(40) + "\xFF" + text(5);
    std::vector<int> expected;
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (!texts[i].empty() && in.find(texts[i]) != std::string::npos)
        expected.push_back(static_cast<int>(i));
    ASSERT_EQ(find(finder, in), expected) << in;
  }
}

}  // namespace
}  // namespace trawl
