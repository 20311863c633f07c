#include "crawler/parse/html/collapsed_text.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace trawl {
namespace {

std::string collapsed(std::initializer_list<std::string_view> pieces, std::size_t limit = 100) {
  std::string out;
  CollapsedText text(out, limit);
  for (const std::string_view piece : pieces)
    text.add(piece);
  EXPECT_LE(out.size(), limit);
  return out;
}

TEST(CollapsedText, WhiteSpaceIsOneSpaceAndNoneAtTheEdges) {
  EXPECT_EQ(collapsed({}), "");
  EXPECT_EQ(collapsed({" \t\r\n\f"}), "");
  EXPECT_EQ(collapsed({"  a \n\n b\tc  "}), "a b c");
  // Other spaces than those of HTML are text.
  EXPECT_EQ(collapsed({"a\xC2\xA0\xC2\xA0z\v"}), "a\xC2\xA0\xC2\xA0z\v");
}

TEST(CollapsedText, WordsGoOnInTheNextPiece) {
  EXPECT_EQ(collapsed({"He", "llo", " wor", "ld ", "!"}), "Hello world !");
  EXPECT_EQ(collapsed({"a", " ", "", " ", "z"}), "a z");
  EXPECT_EQ(collapsed({" ", "a"}), "a");
}

TEST(CollapsedText, SpacesCanBeAdded) {
  std::string out;
  CollapsedText text(out, 10);
  text.add_space();
  text.add("a");
  text.add_space();
  text.add_space();
  text.add("b");
  text.add_space();
  EXPECT_EQ(out, "a b");
  EXPECT_FALSE(text.full());
}

TEST(CollapsedText, IsCutBetweenCharacters) {
  EXPECT_EQ(collapsed({"abcdef"}, 4), "abcd");
  EXPECT_EQ(collapsed({"abc def"}, 5), "abc d");
  // No space is left at the end.
  EXPECT_EQ(collapsed({"abc def"}, 4), "abc");
  EXPECT_EQ(collapsed({"abc \xE6\x97\xA5"}, 6), "abc");
  EXPECT_EQ(collapsed({"\xE6\x97\xA5\xE6\x9C\xAC"}, 5), "\xE6\x97\xA5");
  EXPECT_EQ(collapsed({"\xF0\x9F\x98\x80"}, 3), "");
  // Of what follows a cut nothing is taken, even if it would fit.
  EXPECT_EQ(collapsed({"ab\xE6\x97\xA5", "c d"}, 4), "ab");
  EXPECT_EQ(collapsed({"abc", "d"}, 3), "abc");
}

TEST(CollapsedText, KnowsWhenItIsFull) {
  std::string out;
  CollapsedText text(out, 3);
  text.add("abc");
  EXPECT_FALSE(text.full());
  text.add(" ");
  EXPECT_FALSE(text.full());
  text.add("d");
  EXPECT_TRUE(text.full());
  EXPECT_EQ(out, "abc");
}

}  // namespace
}  // namespace trawl
