#include "base/safe_text.h"

#include <random>

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(SafeText, TextOfAnyLanguageStays) {
  for (const char* text :
       {"", "plain ASCII ~", "Grüße, Ελλάδα, Привет, 日本語, العربية, עברית, हिन्दी",
        "\u00A0\u200B\u200D\uFEFF", "\U0001F600 \U00010000 \U0010FFFF \uFFFD"}) {
    EXPECT_TRUE(is_safe(text)) << text;
    EXPECT_EQ(escape_unsafe(text), text);
    EXPECT_EQ(replace_unsafe(text), text);
  }
}

TEST(SafeText, ControlsAreEscaped) {
  EXPECT_EQ(escape_unsafe("a\x1b]0;x\a\x7f"), "a\\u001b]0;x\\u0007\\u007f");
  EXPECT_EQ(escape_unsafe(std::string_view("\0\b\f\n\r\t", 6)), "\\u0000\\b\\f\\n\\r\\t");
  EXPECT_EQ(escape_unsafe("\u0080\u0085\u009b31m\u009f"), "\\u0080\\u0085\\u009b31m\\u009f");
  EXPECT_EQ(escape_unsafe("\u061c\u200e\u200f\u202a\u202e\u2028\u2029\u2066\u2069\u206f\ufff9"),
            "\\u061c\\u200e\\u200f\\u202a\\u202e\\u2028\\u2029\\u2066\\u2069\\u206f\\ufff9");
  EXPECT_EQ(escape_unsafe("\U000E0041"), "\\udb40\\udc41");
}

TEST(SafeText, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ(escape_unsafe("\x9b"
                          "31m \xff \xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xe2\x82"),
            "\\x9b31m \\xff \\xc0\\x80 \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xe2\\x82");
}

TEST(SafeText, WhatIsKeptStays) {
  EXPECT_EQ(escape_unsafe("a\tb\nc\r\x1b", "\t\n"), "a\tb\nc\\r\\u001b");
  EXPECT_TRUE(is_safe("a\tb\n", "\t\n"));
  EXPECT_FALSE(is_safe("a\tb\n", "\t"));
}

TEST(SafeText, ReplacedForReaders) {
  EXPECT_EQ(replace_unsafe("a\tb\r\n\x1b[m\u202e\xff"), "a b  \uFFFD[m\uFFFD\uFFFD");
}

TEST(SafeText, OfAnyBytesNothingUnsafeIsLeft) {
  const auto seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 random(seed);
  constexpr std::string_view kPieces[] = {"\xc2", "\x9b", "\xe2", "\x80", "\xae", "\x1b", "[",
                                          "a",    "\xf3", "\xa0", "\x81", "\n",   "\xef", "\xbf"};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t n = random() % 12; n > 0; --n)
      text += kPieces[random() % std::size(kPieces)];
    EXPECT_TRUE(is_safe(escape_unsafe(text))) << "seed " << seed;
    EXPECT_TRUE(is_safe(replace_unsafe(text))) << "seed " << seed;
    EXPECT_EQ(is_safe(text), escape_unsafe(text) == text) << "seed " << seed;
  }
}

}  // namespace
}  // namespace trawl
