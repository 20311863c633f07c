#include "crawler/parse/html/character_references.h"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::string_view_literals;

std::string in_text(std::string_view raw) {
  std::string out;
  decode_text(raw, ReferenceContext::kText, out);
  return out;
}

std::string in_attribute(std::string_view raw) {
  std::string out;
  decode_text(raw, ReferenceContext::kAttribute, out);
  return out;
}

TEST(CharacterReferences, NamedOnesStandForOneOrTwoCodePoints) {
  EXPECT_EQ(in_text("&lt;a&gt; &amp; b"), "<a> & b");
  EXPECT_EQ(in_text("&AElig;&aelig;"), "\u00C6\u00E6");
  EXPECT_EQ(in_text("&NotEqualTilde;"), "\u2242\u0338");
  EXPECT_EQ(in_text("&fjlig;"), "fj");
  EXPECT_EQ(in_text("&CounterClockwiseContourIntegral;"), "\u2233");
  EXPECT_EQ(in_text("&zopf;"), "\U0001D56B");
}

TEST(CharacterReferences, TheLongestNameWins) {
  EXPECT_EQ(in_text("&notin;"), "\u2209");
  EXPECT_EQ(in_text("&notit;"), "\u00ACit;");
  EXPECT_EQ(in_text("&not"), "\u00AC");
  EXPECT_EQ(in_text("&ampere"), "&ere");
  EXPECT_EQ(in_text("&Yacutex;"), "\u00DDx;");
}

TEST(CharacterReferences, WhatIsNoNameIsText) {
  for (const std::string_view raw :
       {"&", "&&", "&;", "&x", "&unknown;", "&Lt", "& amp;", "&hellip", "&a;",
        "&CounterClockwiseContourIntegrals;", "&\xC3\xA9;", "a&", "&l&t;"}) {
    EXPECT_EQ(in_text(raw), raw);
  }
  EXPECT_EQ(in_text("&&amp;&"), "&&&");
}

TEST(CharacterReferences, InAttributesNoneWithoutASemicolonEndsBeforeALetterDigitOrEqualsSign) {
  EXPECT_EQ(in_attribute("?a=b&copy=1"), "?a=b&copy=1");
  EXPECT_EQ(in_attribute("?a=b&copyb"), "?a=b&copyb");
  EXPECT_EQ(in_attribute("?a=b&copy1"), "?a=b&copy1");
  EXPECT_EQ(in_attribute("?a=b&notit;"), "?a=b&notit;");
  EXPECT_EQ(in_attribute("?a=b&copy;=1"), "?a=b\u00A9=1");
  EXPECT_EQ(in_attribute("?a=b&copy"), "?a=b\u00A9");
  EXPECT_EQ(in_attribute("?a=b&copy&amp;c"), "?a=b\u00A9&c");
  EXPECT_EQ(in_attribute("?a=b&copy-"), "?a=b\u00A9-");
  EXPECT_EQ(in_text("?a=b&copy=1"), "?a=b\u00A9=1");
  EXPECT_EQ(in_attribute("&#65=&#x42c"), "A=\u042C");
}

TEST(CharacterReferences, NumericOnesNeedADigitAndNoSemicolon) {
  EXPECT_EQ(in_text("&#65;&#x41;&#X41;&#65&#x41"), "AAAAA");
  EXPECT_EQ(in_text("&#65a&#x41g"), "AaAg");
  EXPECT_EQ(in_text("&#xaF;&#0000000000000000000065;"), "\u00AFA");
  for (const std::string_view raw :
       {"&#", "&#;", "&#x", "&#x;", "&#xg;", "&#-1;", "&#a;", "&# 1"}) {
    EXPECT_EQ(in_text(raw), raw);
  }
}

TEST(CharacterReferences, NumbersThatAreNoCharacters) {
  const std::string replacement = "\uFFFD";
  for (const std::string_view raw :
       {"&#0;", "&#xD800;", "&#xDFFF;", "&#x110000;", "&#1114112;", "&#4294967296;",
        "&#4294967361;", "&#x100000041;", "&#99999999999999999999999999999999999999;"}) {
    EXPECT_EQ(in_text(raw), replacement) << raw;
  }
  EXPECT_EQ(in_text("&#xD7FF;&#xE000;&#x10FFFF;&#xFFFE;"), "\uD7FF\uE000\U0010FFFF\uFFFE");
  EXPECT_EQ(in_text("&#13;&#x7F;&#1;"), "\r\x7F\x01");
}

TEST(CharacterReferences, C1ControlsAreThoseOfWindows1252) {
  EXPECT_EQ(in_text("&#x80;&#x85;&#x92;&#x9F;"), "\u20AC\u2026\u2019\u0178");
  EXPECT_EQ(in_text("&#x81;&#x8D;&#x8F;&#x90;&#x9D;"), "\u0081\u008D\u008F\u0090\u009D");
  EXPECT_EQ(in_text("&#xA0;"), "\u00A0");
}

TEST(CharacterReferences, NulsAndCarriageReturns) {
  EXPECT_EQ(in_text("a\0b\0"sv), "a\uFFFDb\uFFFD");
  EXPECT_EQ(in_text("a\rb\r\nc\r\r\n\n"), "a\nb\nc\n\n\n");
  EXPECT_EQ(in_text("&am\0p;"sv), "&am\uFFFDp;");
}

TEST(CharacterReferences, AreAppended) {
  std::string out = "a&amp;";
  decode_text("&lt;", ReferenceContext::kText, out);
  EXPECT_EQ(out, "a&amp;<");
}

TEST(CharacterReferences, NeedOfDecodingIsSeenAnywhere) {
  EXPECT_FALSE(needs_decoding({}));
  for (std::size_t size = 1; size <= 70; ++size) {
    // Exactly sized, so that the address sanitizer detects reads beyond the end.
    const auto text = std::make_unique<char[]>(size);
    std::memset(text.get(), 'x', size);
    const std::string_view view(text.get(), size);
    EXPECT_FALSE(needs_decoding(view));
    EXPECT_EQ(in_text(view), view);
    for (std::size_t i = 0; i < size; ++i) {
      for (const char byte : {'&', '\0', '\r'}) {
        text[i] = byte;
        EXPECT_TRUE(needs_decoding(view)) << size << ' ' << i;
        const std::string decoded = byte == '\r' ? "\n" : byte == '\0' ? "\uFFFD" : "&";
        EXPECT_EQ(in_text(view), std::string(i, 'x') + decoded + std::string(size - i - 1, 'x'));
      }
      for (int byte = 1; byte < 256; ++byte) {
        if (byte == '&' || byte == '\r') continue;
        text[i] = static_cast<char>(byte);
        EXPECT_FALSE(needs_decoding(view)) << size << ' ' << byte;
      }
      text[i] = 'x';
    }
  }
}

TEST(CharacterReferences, NothingBehindTheEndIsRead) {
  const std::string_view page =
      "&amp;&notin;&#x1F4A9;&#128169;&copy=&CounterClockwiseContourIntegral;";
  for (std::size_t start = 0; start < page.size(); ++start) {
    for (std::size_t size = 0; size <= page.size() - start; ++size) {
      const auto text = std::make_unique<char[]>(size);
      std::memcpy(text.get(), page.data() + start, size);
      const std::string_view view(text.get(), size);
      EXPECT_EQ(in_text(view), in_text(std::string(view)));
      EXPECT_LE(in_attribute(view).size(), size);
    }
  }
}

TEST(CharacterReferences, HostileTextIsDecodedInLinearTime) {
  constexpr std::size_t kTimes = 1'000'000;
  for (const std::string_view unit : {"&", "&#", "&#x", "&abcdefghijklmnopqrstuvwxyzabcdef"}) {
    std::string text;
    for (std::size_t i = 0; i < kTimes; ++i)
      text.append(unit);
    EXPECT_EQ(in_text(text), text);
  }
  EXPECT_EQ(in_text("&#" + std::string(kTimes, '9')), "\uFFFD");
  EXPECT_EQ(in_text("&#" + std::string(kTimes, '0') + "65;"), "A");
  EXPECT_EQ(in_text(std::string(kTimes, '\r')), std::string(kTimes, '\n'));
}

}  // namespace
}  // namespace trawl
