// Pages made to take a tokenizer more than linear time or memory.
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "crawler/parse/html/html_tokenizer.h"
#include "crawler/parse/html/tokenizer_kernel.h"
#include "tests/support/repeated.h"

namespace trawl {
namespace {

using test::repeated;

struct Counts {
  std::size_t tags = 0;
  std::size_t others = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

void enter_script(HtmlTokenizer& tokenizer) {
  if (tokenizer.tag_name() == "script") tokenizer.set_content(ContentModel::kScriptData, "script");
}

// Of next(); next_tag() must find as many tags.
Counts count(std::string_view page, const TokenizerKernel& kernel) {
  Counts counts;
  HtmlTokenizer tokenizer(page, kernel);
  for (TokenKind kind; (kind = tokenizer.next()) != TokenKind::kEnd;) {
    const bool tag = kind == TokenKind::kStartTag || kind == TokenKind::kEndTag;
    ++(tag ? counts.tags : counts.others);
    if (kind == TokenKind::kStartTag) enter_script(tokenizer);
  }
  std::size_t tags = 0;
  tokenizer.reset(page);
  for (TokenKind kind; (kind = tokenizer.next_tag()) != TokenKind::kEnd; ++tags) {
    if (kind == TokenKind::kStartTag) enter_script(tokenizer);
  }
  EXPECT_EQ(tags, counts.tags);
  return counts;
}

TEST(HtmlTokenizerHostile, FiftyMegabytesOfOpenBrackets) {
  const std::string page(50'000'000, '<');
  for (const TokenizerKernel& kernel : tokenizer_kernels()) {
    HtmlTokenizer tokenizer(page, kernel);
    EXPECT_EQ(tokenizer.next_tag(), TokenKind::kEnd) << kernel.name;
  }
  HtmlTokenizer tokenizer(page);
  ASSERT_EQ(tokenizer.next(), TokenKind::kText);
  EXPECT_EQ(tokenizer.text().size(), page.size());
  EXPECT_EQ(tokenizer.next(), TokenKind::kEnd);
}

TEST(HtmlTokenizerHostile, WhatIsNeverClosedIsReadOnce) {
  constexpr std::size_t kTimes = 400'000;
  struct Case {
    std::string_view unit;
    Counts expected;
  };
  for (const Case& test :
       {Case{"<a \"", {0, 0}}, Case{"<a b=\"", {0, 0}}, Case{"<a b='", {0, 0}},
        Case{"<!--", {0, 1}}, Case{"<!-- --", {0, 1}}, Case{"<script><!--", {1, 1}},
        Case{"<script><!--<script>", {1, 1}}, Case{"<script></scrip", {1, 1}},
        Case{"<![CDATA[", {0, 1}}, Case{"<!doctype", {0, 1}}, Case{"<?", {0, 1}},
        Case{"</ ", {0, 1}}, Case{"</>", {0, 0}}, Case{"<a/", {0, 0}}, Case{"<a =", {0, 0}}}) {
    const std::string page = repeated(test.unit, kTimes);
    for (const TokenizerKernel& kernel : tokenizer_kernels()) {
      EXPECT_EQ(count(page, kernel), test.expected) << test.unit << ' ' << kernel.name;
    }
  }
}

TEST(HtmlTokenizerHostile, AMillionAttributes) {
  constexpr std::size_t kTimes = 1'000'000;
  constexpr std::size_t kKept = 262'144;
  const std::string page = "<a" + repeated(" b=\"c\"", kTimes) + "><p d>";
  for (const TokenizerKernel& kernel : tokenizer_kernels()) {
    HtmlTokenizer tokenizer(page, kernel);
    ASSERT_EQ(tokenizer.next_tag(), TokenKind::kStartTag);
    ASSERT_EQ(tokenizer.attributes().size(), kKept);
    for (const RawAttribute& attribute : tokenizer.attributes()) {
      ASSERT_EQ(tokenizer.name_of(attribute), "b");
      ASSERT_EQ(tokenizer.value_of(attribute), "c");
    }
    ASSERT_EQ(tokenizer.next_tag(), TokenKind::kStartTag);
    ASSERT_EQ(tokenizer.attributes().size(), 1u);
    tokenizer.reset("<a b c>");
    ASSERT_EQ(tokenizer.next_tag(), TokenKind::kStartTag);
    ASSERT_EQ(tokenizer.attributes().size(), 2u);
  }
}

}  // namespace
}  // namespace trawl
