// Whether bytes are UTF-8, with and without vector instructions.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/ascii_prefix.h"
#include "base/utf8_validation.h"

namespace trawl {
namespace {

// `piece` at each place around the ends of the blocks that are looked at in one.
void expect_everywhere(std::string_view piece, bool valid) {
  for (std::size_t before = 0; before < 300; ++before) {
    for (const std::size_t after : {0, 1, 40, 300}) {
      const std::string text = std::string(before, 'x').append(piece) + std::string(after, 'y');
      ASSERT_EQ(is_utf8(text), valid) << testing::PrintToString(std::string(piece)) << before;
      ASSERT_EQ(is_utf8_portable(text), valid) << testing::PrintToString(std::string(piece));
    }
  }
}

TEST(EncodingUtf8, WellFormedSequences) {
  for (const std::string_view piece :
       {"", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "\xF0\x9F\x98\x80\xC3\xA9"})
    expect_everywhere(piece, true);
}

TEST(EncodingUtf8, IllFormedSequences) {
  for (const std::string_view piece : {"\x80",
                                       "\xBF",
                                       "\xC0\x80",
                                       "\xC1\xBF",
                                       "\xC3",
                                       "\xC3\xC3\xA9",
                                       "\xC3\xA9\xA9",
                                       "\xE0\x9F\xBF",
                                       "\xED\xA0\x80",
                                       "\xED\xBF\xBF",
                                       "\xE6\x97",
                                       "\xE6\x97\xC3\xA9",
                                       "\xE6\x97\xA5\xA5",
                                       "\xF0\x8F\xBF\xBF",
                                       "\xF4\x90\x80\x80",
                                       "\xF5\x80\x80\x80",
                                       "\xF7\xBF\xBF\xBF",
                                       "\xF8\x88\x80\x80\x80",
                                       "\xF0\x9F\x98",
                                       "\xF0\x9F",
                                       "\xF0",
                                       "\xF0\x9F\x98\x80\x80",
                                       "\xFE",
                                       "\xFF"})
    expect_everywhere(piece, false);
}

// All pairs and, by their classes, all sequences of four bytes, one by one.
TEST(EncodingUtf8, BothWaysAgree) {
  const std::vector<unsigned char> bytes = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                            0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
                                            0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
  std::string text(4, '\0');
  for (const unsigned char a : bytes) {
    for (const unsigned char b : bytes) {
      for (const unsigned char c : bytes) {
        for (const unsigned char d : bytes) {
          text = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c),
                  static_cast<char>(d)};
          ASSERT_EQ(is_utf8(text), is_utf8_portable(text)) << testing::PrintToString(text);
        }
      }
    }
  }
}

TEST(EncodingUtf8, BothWaysAgreeOnDamagedText) {
  constexpr unsigned kSeed = 52;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  constexpr std::string_view kPieces[] = {"a", "bcdefgh", "é", "日", "😀", "<p>", "\uFFFD"};
  int valid = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    while (text.size() < 400)
      text += kPieces[random() % std::size(kPieces)];
    text.resize(random() % text.size());
    if (round % 2 == 0 && !text.empty()) text[random() % text.size()] = static_cast<char>(random());
    ASSERT_EQ(is_utf8(text), is_utf8_portable(text)) << testing::PrintToString(text);
    valid += is_utf8(text);
  }
  EXPECT_GT(valid, 500);
  EXPECT_LT(valid, 4500);
}

TEST(EncodingUtf8, AsciiPrefix) {
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string text(length, 'x');
    ASSERT_EQ(ascii_prefix_length(text), length);
    ASSERT_EQ(ascii_prefix_length(text + "\x80" + text), length);
  }
}

}  // namespace
}  // namespace trawl
