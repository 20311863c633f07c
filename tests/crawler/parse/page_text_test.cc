// PageLinks::text and PageLinks::language.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "trawl/links.h"

#include "base/utf8_validation.h"
#include "tests/support/repeated.h"

namespace trawl {
namespace {

using test::repeated;

constexpr std::size_t kMost = 1 << 20;

class PageText : public testing::TestWithParam<LinkEngine> {
 protected:
  PageLinks read(std::string_view html, std::size_t most = kMost,
                 std::string_view type = "text/html; charset=utf-8") const {
    LinkOptions options;
    options.engine = GetParam();
    options.max_text = most;
    return LinkExtractor(options).extract(html, type, *Url::parse("http://site.example/"));
  }
  std::string text(std::string_view html, std::size_t most = kMost) const {
    return read(html, most).text;
  }
  std::string language(std::string_view html) const { return read(html).language; }
};

TEST_P(PageText, IsWhatAReaderSees) {
  EXPECT_EQ(text("<title>no</title><body> One\n <b>two</b><i>three</i> &amp; &uuml;"),
            "One twothree & \xC3\xBC");
  EXPECT_EQ(text("<p>a<p>b<br>c<div>d</div>e<table><tr><td>f<td>g</table>"), "a b c d e f g");
  EXPECT_EQ(text("<pre>x\n\n  y</pre>"), "x y");
}

TEST_P(PageText, LeavesOutWhatIsNotShown) {
  EXPECT_EQ(text("a<script>b</script>c<style>d</style>e<template>f<p>g</p></template>h"
                 "<textarea>i</textarea>j<!-- k -->l<iframe>m</iframe>n"),
            text("acehjln"));
  EXPECT_EQ(text("<script>var x = '<p>no</p>';</script>yes"), "yes");
  EXPECT_EQ(text("<svg><style>no</style><text>yes</text></svg>"), "yes");
  EXPECT_EQ(text(""), "");
}

TEST_P(PageText, IsCutBetweenCharacters) {
  const std::string page = repeated("\xE2\x82\xAC", 1000);  // euro signs
  for (std::size_t most = 1; most < 20; ++most) {
    const std::string cut = text(page, most);
    EXPECT_LE(cut.size(), most);
    EXPECT_EQ(cut.size(), most / 3 * 3) << most;
    EXPECT_TRUE(is_utf8(cut)) << most;
  }
  EXPECT_EQ(text("abc", 0), "");
}

TEST_P(PageText, IsValidUtf8WhateverThePageHolds) {
  for (const std::string_view type : {"text/html; charset=utf-8", "text/html; charset=shift_jis",
                                      "text/html; charset=utf-16le", "text/html"}) {
    std::string page = "<p>";
    for (int i = 0; i < 4096; ++i)
      page += static_cast<char>(i * 7 ^ i >> 3);
    EXPECT_TRUE(is_utf8(read(page, kMost, type).text)) << type;
  }
}

TEST_P(PageText, OfHostilePagesIsBounded) {
  for (const std::string_view piece :
       {"<div>", "<template>", "<svg>", "<script>", "&amp", "<", "<!--", "<p title='", "x", " "}) {
    EXPECT_LE(text(repeated(std::string(piece), 200'000), 1000).size(), 1000u) << piece;
  }
}

TEST_P(PageText, TheLanguageIsThatOfThePage) {
  EXPECT_EQ(language("<html lang=en-GB><p>x"), "en-GB");
  EXPECT_EQ(language("<html lang=' de '><meta http-equiv=content-language content=fr>"), "de");
  EXPECT_EQ(language("<meta http-equiv=Content-Language content=fr><p>x"), "fr");
  EXPECT_EQ(language("<html lang='not a language'><p>x"), "");
  EXPECT_EQ(language("<html lang='" + std::string(100, 'a') + "'>"), "");
  EXPECT_EQ(language("<p lang=it>x"), "");
}

INSTANTIATE_TEST_SUITE_P(Engines, PageText,
                         testing::Values(LinkEngine::kScanner, LinkEngine::kGumbo),
                         [](const auto& info) {
                           return info.param == LinkEngine::kScanner ? "Scanner" : "Gumbo";
                         });

}  // namespace
}  // namespace trawl
