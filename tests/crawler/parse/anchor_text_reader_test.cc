// Link::text, with both engines.
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/links.h"

#include "base/utf8_validation.h"
#include "tests/support/repeated.h"

namespace trawl {
namespace {

using namespace std::string_view_literals;
using test::repeated;
using testing::ElementsAre;
using testing::IsEmpty;

const Url kPage = *Url::parse("http://site.example/dir/page.html");

class AnchorText : public testing::TestWithParam<LinkEngine> {
 protected:
  PageLinks links_of(std::string_view html, std::string_view type = "text/html; charset=utf-8",
                     LinkOptions options = {}) const {
    options.engine = GetParam();
    options.texts = true;
    return LinkExtractor(options).extract(html, type, kPage);
  }
  // Of every link.
  std::vector<std::string> texts_of(std::string_view html,
                                    std::string_view type = "text/html; charset=utf-8") const {
    std::vector<std::string> texts;
    for (const Link& link : links_of(html, type).links)
      texts.push_back(link.text);
    return texts;
  }
  // Of the first link.
  std::string text_of(std::string_view html) const {
    const std::vector<std::string> texts = texts_of(html);
    return texts.empty() ? "(no link)" : texts.front();
  }
};

INSTANTIATE_TEST_SUITE_P(LinkExtractor, AnchorText,
                         testing::Values(LinkEngine::kScanner, LinkEngine::kGumbo),
                         [](const auto& engine) {
                           return engine.param == LinkEngine::kGumbo ? "Gumbo" : "Scanner";
                         });

TEST_P(AnchorText, IsWhatStandsBetweenTheTags) {
  EXPECT_EQ(text_of("<p>before <a href=x>Read\n  the <b>ma</b>nual </a> after"), "Read the manual");
  EXPECT_EQ(text_of("<a href=x></a>after"), "");
  EXPECT_EQ(text_of("<A HREF=x>Upper</A>case"), "Upper");
  EXPECT_EQ(text_of("<a href='x>y' title='>'>Quoted</a>"), "Quoted");
  EXPECT_THAT(texts_of("<a href=1>one</a>, <a href=2>two</a>, <a href=3>three</a>"),
              ElementsAre("one", "two", "three"));
}

TEST_P(AnchorText, IsGatheredOnRequestAndOfAnchorsOnly) {
  EXPECT_THAT(texts_of("<link rel=next href=n><a href=x>text</a><area href=y alt=no>"
                       "<iframe src=z>no</iframe><meta http-equiv=refresh content='1;u'>"),
              ElementsAre("", "text", "", "", ""));
  LinkOptions options{.engine = GetParam()};
  LinkExtractor without(options);
  options.texts = true;
  LinkExtractor with(options);
  PageLinks page;
  with.extract_into("<a href=x>text</a>", "", kPage, page);
  EXPECT_EQ(page.links.at(0).text, "text");
  without.extract_into("<a href=x>text</a>", "", kPage, page);
  EXPECT_EQ(page.links.at(0).text, "");
}

TEST_P(AnchorText, BelongsToItsOwnLink) {
  // Links without a URL, other links in the anchor, links of its style attribute.
  const PageLinks page = links_of(
      "<a name=top>no</a><a href=mailto:a@b>mail</a><a href='http://['>bad</a>"
      "<a href=1 style='background:url(bg)'>one<img src=i></a><a style='background:url(b2)'>no</a>"
      "<a href=2>two</a><a>no</a><img src=j><svg><a xlink:href=3>three</a></svg>",
      "", {.kinds = LinkKinds::all()});
  std::vector<std::string> found;
  for (const Link& link : page.links)
    found.push_back(fmt::format("{}={}", link.url.path().substr(5), link.text));
  EXPECT_THAT(found, ElementsAre("1=one", "bg=", "i=", "b2=", "2=two", "j=", "3=three"));
}

TEST_P(AnchorText, OfImagesIsTheirAlternative) {
  EXPECT_EQ(text_of("<a href=x><img src=i alt='To the\n start'></a>"), "To the start");
  EXPECT_EQ(text_of("<a href=x>Go<IMG ALT=home>now<img><img alt><img alt=''></a>"), "Go home now");
  EXPECT_EQ(text_of("<a href=x><image alt=old></a>"), "old");
  EXPECT_EQ(text_of("<a href=x><img alt='a &amp; b&copy=1' alt=second></a>"), "a & b&copy=1");
  EXPECT_EQ(text_of("<a href=x><picture><source srcset=s><img alt=a></picture></a>"), "a");
  EXPECT_EQ(text_of("<a href=x><svg><title>Icon</title><path d=m/></svg> label</a>"), "Icon label");
}

TEST_P(AnchorText, LeavesOutWhatIsNoText) {
  EXPECT_EQ(text_of("<a href=x>a<script>b</script>c<style>d</style>e<!-- f -->g<!h>i<?j>k</a>"),
            "acegik");
  EXPECT_EQ(text_of("<a href=x>a<script><!--<script></a>--></script>z</a>"), "az");
  EXPECT_EQ(text_of("<a href=x>a<textarea>b</a></textarea><iframe>c</iframe>d</a>"), "ad");
  EXPECT_EQ(text_of("<a href=x>a<template>b<template>c</template></a><img alt=d></template>e</a>"),
            "ae");
  EXPECT_EQ(text_of("<a href=x>a<noscript>b</noscript>c</a>"), "abc");
  EXPECT_EQ(text_of("<a href=x>a<svg><style>b</style><script>c</script></svg>d</a>"), "ad");
  EXPECT_EQ(text_of("<a href=x>a<svg><style/>b<script/>c</svg>d</a>"), "abcd");
  EXPECT_EQ(text_of("<a href=x>a<script>b"), "a");
  EXPECT_EQ(text_of("<a href=x>a<plaintext>b</a>"), "a");
  EXPECT_EQ(text_of("<a href=x>a</></1>b< c<</a>"), "ab< c<");
}

TEST_P(AnchorText, HasSpacesWhereLinesEnd) {
  EXPECT_EQ(text_of("<a href=x><h2>Title</h2><p>One<p>Two<br>Three<ul><li>4<li>5</ul>6</a>"),
            "Title One Two Three 4 5 6");
  EXPECT_EQ(text_of("<a href=x><span>a</span><em>b</em><wbr>c<unknown>d</unknown></a>"), "abcd");
  EXPECT_EQ(text_of("<a href=x><div></div><div> </div>a<div></div></a>"), "a");
}

TEST_P(AnchorText, IsDecoded) {
  EXPECT_EQ(text_of("<a href=x>R&amp;D &lt;b&gt; &eacute;&#33;&#x21; &nosuch; A&B</a>"),
            "R&D <b> \xC3\xA9!! &nosuch; A&B");
  EXPECT_EQ(text_of("<a href=x>a&#32;&Tab;&NewLine;&#13;b&nbsp;c</a>"),
            "a b\xC2\xA0"
            "c");
  EXPECT_EQ(text_of("<a href=x>a&am<b>p;</b></a>"), "a&amp;");
  EXPECT_EQ(text_of("<svg><a href=x>a<![CDATA[ <b> &amp; </a>]]></a>"), "a <b> &amp; </a>");
  EXPECT_EQ(text_of("<a href=x>a<svg><![CDATA[<b>]]></svg><![CDATA[c>d</a>"), "a<b>d");
}

TEST_P(AnchorText, IsUtf8WhateverThePageIs) {
  EXPECT_THAT(texts_of("<a href=x>caf\xE9 \x80</a>", "text/html; charset=windows-1252"),
              ElementsAre("caf\xC3\xA9 \xE2\x82\xAC"));
  EXPECT_THAT(
      texts_of("<a href=x>\x93\xFA\x96{<img alt='\x83\\'></a>", "text/html; charset=Shift_JIS"),
      ElementsAre("\xE6\x97\xA5\xE6\x9C\xAC \xE3\x82\xBD"));
  const std::string utf16 = [] {
    std::string bytes;
    for (const char c : "<a href=x>a\xDFz</a>"sv)
      (bytes += c) += '\0';
    return bytes;
  }();
  EXPECT_THAT(texts_of(utf16, "text/html; charset=utf-16le"), ElementsAre("a\xC3\x9Fz"));
  // Invalid UTF-8 is replaced, by byte or by part of a character.
  EXPECT_EQ(text_of("<a href=x>a\xFF\xE6\x97z\xC3</a>"), "a\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD");
  EXPECT_EQ(text_of("<a href=x>\xE6\x97<b>\xA5</b></a>"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  // Controls stay, as in the page.
  EXPECT_EQ(text_of("<a href=x>a\x01\xEF\xBF\xBE\x7Fz</a>"), "a\x01\xEF\xBF\xBE\x7Fz");
  EXPECT_EQ(text_of("<a href=x title=\xF3\xB0\x80\x80>a\x01z</a>"), "a\x01z");
}

TEST_P(AnchorText, EndsAtTheNextAnchor) {
  EXPECT_THAT(texts_of("<a href=1>one<a href=2>two</a>"), ElementsAre("one", "two"));
  EXPECT_THAT(texts_of("<p><a href=1>one<p>1<a href=2>two<p>2<a name=n>no"),
              ElementsAre("one 1", "two 2"));
  // The text of an anchor in another one is that of the inner one.
  EXPECT_THAT(texts_of("<a href=1>a<table><td>b<a href=2>c</a>d</table>e</a>"),
              ElementsAre("a b", "c"));
  // A tag that makes no element of the document ends nothing.
  EXPECT_THAT(texts_of("<a href=1>a<template><a href=2>b</a></template>c</a>"), ElementsAre("ac"));
  EXPECT_THAT(texts_of("<a href=1>a<!--<a href=2>--><script>'<a href=3>'</script>b</a>"),
              ElementsAre("ab"));
  EXPECT_THAT(texts_of("<a href=1>a<template shadowrootmode=open>b<a href=2>c</a></template>d</a>"),
              ElementsAre("ab", "c"));
}

TEST_P(AnchorText, OfAnAnchorThatDoesNotEndGoesOn) {
  EXPECT_EQ(text_of("<div><p><a href=x>a</p>b</div>c</body></html>d"), "a b cd");
  EXPECT_EQ(text_of("<a href=x>a<b"), "a");
  EXPECT_EQ(text_of("<a href=x>a<!-- b </a>"), "a");
  EXPECT_EQ(text_of("<a href=x>" + repeated("word ", 1000)), [] {
    std::string words = repeated("word ", 40);
    words.pop_back();
    return words;
  }());
}

TEST_P(AnchorText, EndsWithTheTableCellAround) {
  EXPECT_THAT(texts_of("<table><tr><td><a href=1>one<td>no<tr><th><a href=2>two</th>no</table>"
                       "<table><caption><a href=3>three</caption><td><a href=4>four</table>no"),
              ElementsAre("one", "two", "three", "four"));
  EXPECT_THAT(texts_of("<table><tr><td><a href=1>one</tbody></table>no"), ElementsAre("one"));
  EXPECT_THAT(texts_of("<object><a href=1>one</object>no<marquee><a href=2>two</marquee>no"),
              ElementsAre("one", "two"));
  EXPECT_EQ(text_of("<div><template shadowrootmode=open><a href=x>a</template>no</div>"), "a");
  EXPECT_EQ(text_of("<svg><a href=x>a<g>b</g></svg>no"), "ab");
  // And not with those in it.
  EXPECT_EQ(text_of("<a href=x>a<table><tr><td>b</a><td>c</table>d</a>no"), "a b c d");
  EXPECT_EQ(text_of("<a href=x>a<object>b</a></object>c</a>no"), "abc");
  EXPECT_EQ(text_of("<a href=x>a<svg><a>b"), "a");
  EXPECT_EQ(text_of("<a href=x>a<svg><g>b</a>no"), "ab");
}

TEST_P(AnchorText, IsCutBetweenCharacters) {
  EXPECT_EQ(text_of("<a href=x>" + repeated("\xE6\x97\xA5", 100)), repeated("\xE6\x97\xA5", 66));
  EXPECT_EQ(text_of("<a href=x>" + std::string(199, 'a') + " b</a>"), std::string(199, 'a'));
  EXPECT_EQ(text_of("<a href=x>" + std::string(198, 'a') + " b</a>"), std::string(198, 'a') + " b");
  // References and spaces may take more room in the page than what they stand for.
  EXPECT_EQ(
      text_of("<a href=x>" + repeated("&#32;&Tab;", 10'000) + "x" + repeated("&quot;", 10'000)),
      "x" + std::string(199, '"'));
  EXPECT_EQ(text_of("<a href=x>" + std::string(100'000, ' ') + "x" + repeated("&#000000034;", 200)),
            "x" + std::string(199, '"'));
}

TEST_P(AnchorText, IsBoundedInTimeAndMemory) {
  const auto check = [this](std::string_view what, const std::string& html) {
    SCOPED_TRACE(what);
    LinkOptions options;
    // Under sanitizers the scanner, which is linear, may take longer than the default.
    if (GetParam() == LinkEngine::kScanner) options.max_time = std::chrono::milliseconds(60'000);
    const PageLinks page = links_of(html, "text/html; charset=utf-8", options);
    if (GetParam() == LinkEngine::kScanner) {
      EXPECT_EQ(page.skipped, LinksSkipped::kNo);
    }
    std::size_t bytes = 0;
    for (const Link& link : page.links) {
      EXPECT_LE(link.text.size(), kMaxLinkText);
      bytes += link.text.size();
    }
    // What is replaced takes three bytes for one.
    EXPECT_LE(bytes, 3 * html.size());
  };
  check("unclosed", repeated("<a href=x>text ", 400'000));
  check("nested", repeated("<a href=x>t<table><td>", 200'000));
  check("nested objects", repeated("<a href=x>t<object>", 200'000));
  check("hidden", "<a href=x><template>" + repeated("<a href=x>t", 500'000));
  check("shadow roots", repeated("<template shadowrootmode=open><a href=x>t", 150'000));
  check("one long word", "<a href=x>" + std::string(8'000'000, 'a'));
  check("one long space", "<a href=x>" + std::string(8'000'000, ' '));
  check("no text", "<a href=x>" + repeated("<b></b>", 1'000'000));
  check("comments that do not end", repeated("<a href=x><!--", 500'000));
  check("invalid", repeated("<a href=x>" + std::string(300, '\xFF'), 10'000));
  check("SVG", "<svg>" + repeated("<a href=x><![CDATA[", 500'000));
}

TEST_P(AnchorText, OfAnyBytesIsShortAndValid) {
  static constexpr std::string_view kParts[] = {
      "<a href=x>", "</a>",     "<table>",        "<td>",        "</table>",  "text",
      " ",          "&amp;",    "<template>",     "</template>", "<svg>",     "</svg>",
      "<style>",    "</style>", "<img alt='\xE6", "<script>",    "</script>", "\xFF",
      "<!--",       "-->",      "\xC3\xA9",       "'>",          "<select>",  "<![CDATA[",
      "]]>",        "<object>", "</object>",      "<p>",         "</",        "&#",
      "\x01\0"sv,
  };
  const std::uint32_t seed = 17;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 5'000; ++i) {
    std::string html;
    for (std::size_t parts = random() % 40; parts > 0; --parts)
      html += kParts[random() % std::size(kParts)];
    for (const std::string& text : texts_of(html)) {
      EXPECT_LE(text.size(), kMaxLinkText) << html;
      EXPECT_EQ(text.find_first_of("\t\n\f\r"), std::string::npos) << html;
      EXPECT_EQ(text.find("  "), std::string::npos) << html;
      EXPECT_FALSE(text.starts_with(' ') || text.ends_with(' ')) << html;
      EXPECT_TRUE(is_utf8(text)) << html;
      EXPECT_EQ(text.find('\0'), std::string::npos) << html;
    }
  }
}

}  // namespace
}  // namespace trawl
