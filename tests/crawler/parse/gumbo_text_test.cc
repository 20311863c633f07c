#include "crawler/parse/html/gumbo_text.h"

#include <deque>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::string_view_literals;

TEST(GumboText, OrdinaryTextStaysWhereItIs) {
  GumboText text;
  for (const std::string_view page :
       {""sv, "<a href=x>\t\r\n\f"sv, "\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80"sv,
        "\xF3\xB0\x80\x81"sv}) {
    EXPECT_EQ(text.hide(page).data(), page.data());
  }
}

TEST(GumboText, ControlsAndNoncharactersComeBack) {
  GumboText text;
  std::deque<std::string> made;
  const std::string_view page = "a\x01z\x7F\xC2\x80\xEF\xBF\xBE\xEF\xB7\x90\xC3\xB3!"sv;
  const std::string_view hidden = text.hide(page);
  EXPECT_EQ(hidden.find('\x01'), std::string_view::npos);
  EXPECT_EQ(hidden.find('\x7F'), std::string_view::npos);
  EXPECT_EQ(text.restore(hidden, made), page);
  EXPECT_EQ(text.restore("plain", made), "plain");
  EXPECT_EQ(made.size(), 1u);
}

TEST(GumboText, InvalidBytesAndNulsAreReplacedAsDecodersDo) {
  GumboText text;
  EXPECT_EQ(text.hide("a\0b"sv),
            "a\xEF\xBF\xBD"
            "b");
  // A sequence cut short is one character, bytes that begin none are one each.
  EXPECT_EQ(text.hide("\xE6\x97<\xFF\xFE>"sv), "\xEF\xBF\xBD<\xEF\xBF\xBD\xEF\xBF\xBD>");
}

TEST(GumboText, WhoeverUsesTheHidingPlaceKeepsIt) {
  GumboText text;
  std::deque<std::string> made;
  const std::string_view page = "\xF3\xB0\x80\x81\x01"sv;
  EXPECT_EQ(text.restore(text.hide(page), made), page);
  // What an earlier page hid is forgotten.
  text.hide("\x01"sv);
  text.hide("x"sv);
  EXPECT_EQ(text.restore("\xF3\xB0\x80\x81"sv, made), "\xF3\xB0\x80\x81"sv);
}

}  // namespace
}  // namespace trawl
