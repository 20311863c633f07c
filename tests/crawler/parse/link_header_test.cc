#include "trawl/link_header.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/random_text.h"

namespace trawl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Url& base() {
  static const Url url = *Url::parse("https://site.example/dir/page?q#top");
  return url;
}

std::vector<HeaderLink> links(std::string_view value) {
  return parse_link_header(value, base());
}

// "url rel" of each link.
std::vector<std::string> texts(std::string_view value) {
  std::vector<std::string> out;
  for (const HeaderLink& link : links(value))
    out.push_back(fmt::format("{} {}", link.url.href(), link.rel));
  return out;
}

HeaderLink only(std::string_view value) {
  const auto found = links(value);
  EXPECT_EQ(found.size(), 1u) << value;
  return found.empty() ? HeaderLink{} : found.front();
}

std::string title(std::string_view parameters) {
  return only(fmt::format("<x>; {}", parameters)).title;
}

TEST(LinkHeader, TheExamplesOfTheRfc) {
  const HeaderLink chapter =
      only("<http://example.com/TheBook/chapter2>; rel=\"previous\"; title=\"previous chapter\"");
  EXPECT_EQ(chapter.url.href(), "http://example.com/TheBook/chapter2");
  EXPECT_EQ(chapter.rel, "previous");
  EXPECT_EQ(chapter.title, "previous chapter");
  EXPECT_THAT(texts("</>; rel=\"http://example.net/foo\""),
              ElementsAre("https://site.example/ http://example.net/foo"));
  EXPECT_THAT(texts("</terms>; rel=\"copyright\"; anchor=\"#foo\""),
              ElementsAre("https://site.example/terms copyright"));
  const auto two = links(
      "</TheBook/chapter2>; rel=\"previous\"; title*=UTF-8'de'letztes%20Kapitel, "
      "</TheBook/chapter4>; rel=\"next\"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].title, "letztes Kapitel");
  EXPECT_EQ(two[1].title, "n\u00e4chstes Kapitel");
  EXPECT_THAT(texts("<http://example.org/>; rel=\"start http://example.net/relation/other\""),
              ElementsAre("http://example.org/ start http://example.net/relation/other"));
}

TEST(LinkHeader, ReferencesAreResolved) {
  EXPECT_THAT(
      texts("<a>;rel=x,</b>;rel=x,<?c>;rel=x,<//other.example>;rel=x,<>;rel=x,<#f>;rel=x"),
      ElementsAre("https://site.example/dir/a x", "https://site.example/b x",
                  "https://site.example/dir/page?c x", "https://other.example/ x",
                  "https://site.example/dir/page?q x", "https://site.example/dir/page?q#f x"));
  EXPECT_THAT(texts("< a >; rel=x"), ElementsAre("https://site.example/dir/a x"));
}

TEST(LinkHeader, CommasAndSemicolonsWithinBracketsAndQuotes) {
  const auto found = links(
      "<a,b;c>; rel=one; title=\"x, <y>; rel=no\" , <d>;title=\"say \\\"hi\\\", \\\\\";rel=two");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].url.path(), "/dir/a,b;c");
  EXPECT_EQ(found[0].rel, "one");
  EXPECT_EQ(found[0].title, "x, <y>; rel=no");
  EXPECT_EQ(found[1].url.path(), "/dir/d");
  EXPECT_EQ(found[1].rel, "two");
  EXPECT_EQ(found[1].title, "say \"hi\", \\");
}

TEST(LinkHeader, ParametersInEveryWriting) {
  for (const char* value :
       {"<a>;rel=next", "<a>; rel=\"next\"", "<a> ; rel = next", "\t<a>\t;\trel\t=\t\"next\"\t",
        "<a>; REL=NEXT", "<a>;;;rel=next", "<a>; crossorigin; rel=next", "<a>; rel=next;",
        "<a>; =; rel=next", "<a>; x=\"\"; rel=next", "<a>; x=; rel=next", "<a>;rel=\"next"}) {
    EXPECT_THAT(texts(value), ElementsAre("https://site.example/dir/a next")) << value;
  }
}

TEST(LinkHeader, CandidatesOfAPreload) {
  EXPECT_EQ(only("<a.png>; rel=preload; as=image; ImageSrcset=\"b.png 2x, c.png\"").imagesrcset,
            "b.png 2x, c.png");
  EXPECT_EQ(only("<a.png>; rel=preload").imagesrcset, "");
}

TEST(LinkHeader, TheFirstOfAParameterCounts) {
  const HeaderLink link = only(
      "<a>; rel=next; rel=prev; type=text/html; type=x/y; hreflang=de; hreflang=fr; title=A; "
      "title=B");
  EXPECT_EQ(link.rel, "next");
  EXPECT_EQ(link.type, "text/html");
  EXPECT_EQ(link.hreflang, "de");
  EXPECT_EQ(link.title, "A");
  EXPECT_EQ(only("<a>; rel; rel=next").rel, "") << "one without a value is the first, too";
}

TEST(LinkHeader, RelationTypes) {
  const HeaderLink link = only("<a>; rel=\"  Canonical   nofollow\tPREV \"");
  EXPECT_EQ(link.rel, "canonical nofollow prev");
  EXPECT_TRUE(link.has_rel("canonical"));
  EXPECT_TRUE(link.has_rel("nofollow"));
  EXPECT_TRUE(link.has_rel("prev"));
  EXPECT_FALSE(link.has_rel("canon"));
  EXPECT_FALSE(link.has_rel("follow"));
  EXPECT_FALSE(link.has_rel("nofollow prev"));
  EXPECT_FALSE(link.has_rel(""));
  EXPECT_EQ(only("<a>; rel=next prev; title=t").rel, "next prev") << "unquoted, up to ; or ,";
  EXPECT_EQ(only("<a>").rel, "");
  EXPECT_FALSE(only("<a>").has_rel(""));
}

TEST(LinkHeader, ExtendedTitles) {
  EXPECT_EQ(title("title*=UTF-8''%e2%82%ac%20rates"), "\u20ac rates");
  EXPECT_EQ(title("title*=utf-8'en'plain"), "plain");
  EXPECT_EQ(title("title*=\"UTF-8''quoted%20too\""), "quoted too");
  EXPECT_EQ(title("title*=iso-8859-1'en'%A3%20rates"), "\u00a3 rates");
  EXPECT_EQ(title("title=A; title*=UTF-8''B"), "B");
  EXPECT_EQ(title("title*=UTF-8''B; title=A"), "B");
  EXPECT_EQ(title("title*=UTF-8''%EF%BF%BD"), "\uFFFD");
  // What cannot be decoded does not count.
  for (const char* broken : {"UTF-8''%ff", "UTF-8''%c3", "UTF-8''%", "UTF-8''%4", "UTF-8''%zz",
                             "UTF-8'x", "x", "", "utf-16''x", "''x", "ISO-8859-1''%4"}) {
    EXPECT_EQ(title(fmt::format("title*={}; title=A", broken)), "A") << broken;
    EXPECT_EQ(title(fmt::format("title*={}", broken)), "") << broken;
  }
}

TEST(LinkHeader, TextIsUtf8Afterwards) {
  EXPECT_EQ(title("title=\"caf\xc3\xa9\""), "caf\u00e9");
  EXPECT_EQ(title("title=\"caf\xe9\""), "caf\u00e9") << "invalid UTF-8 is ISO-8859-1";
  EXPECT_EQ(only("<a>; type=\xff; hreflang=\xe9; rel=\xc9").type, "\u00ff");
  EXPECT_EQ(only("<a>; rel=\xc9").rel, "\u00c9");
}

TEST(LinkHeader, LinksOfOtherResourcesAreLeftOut) {
  EXPECT_THAT(texts("<a>; rel=x; anchor=\"/other\", <b>; rel=x"),
              ElementsAre("https://site.example/dir/b x"));
  for (const char* anchor : {"\"\"", "\"#part\"", "page?q", "\"https://site.example/dir/page?q\"",
                             "\"?q\"", "/dir/page?q#other"}) {
    EXPECT_EQ(links(fmt::format("<a>; rel=x; anchor={}", anchor)).size(), 1u) << anchor;
  }
  for (const char* anchor : {"\"?\"", "page", "/", "\"mailto:a@b\"", "\"http://\"",
                             "\"http://site.example/dir/page?q\""}) {
    EXPECT_THAT(links(fmt::format("<a>; rel=x; anchor={}", anchor)), IsEmpty()) << anchor;
  }
  EXPECT_THAT(links("<a>; anchor=/other; anchor=\"\""), IsEmpty()) << "the first counts";
}

TEST(LinkHeader, OnlyHttpUrls) {
  EXPECT_THAT(texts("<mailto:a@b>;rel=x, <javascript:0>;rel=x, <http://>;rel=x, <ok>;rel=x, "
                    "<http://[>;rel=x, <data:,>;rel=x"),
              ElementsAre("https://site.example/dir/ok x"));
}

TEST(LinkHeader, WhatIsNoLinkIsSkippedUpToTheNextComma) {
  const char* const kNext = "https://site.example/dir/b y";
  for (const char* value :
       {"garbage, <b>; rel=y", ",,, ,<b>; rel=y", "x<a>; rel=x, <b>; rel=y", "a>; rel=x,<b>; rel=y",
        "x \"in, quotes\", <b>; rel=y", "x <in, brackets>, <b>; rel=y", ";rel=x,<b>;rel=y"}) {
    EXPECT_THAT(texts(value), ElementsAre(kNext)) << value;
  }
  EXPECT_THAT(texts("<a>; rel=\"x\"garbage; rel=z, <b>; rel=y"),
              ElementsAre("https://site.example/dir/a x", kNext));
  EXPECT_THAT(texts("<a> rel=x, <b>; rel=y"), ElementsAre("https://site.example/dir/a ", kNext));
  EXPECT_THAT(texts("<a>; rel=x <c>; rel=z, <b>; rel=y"),
              ElementsAre("https://site.example/dir/a x <c>", kNext));
  for (const char* nothing : {"", " ", ",", "<", "<a", "<a,<b", "garbage", "x \"<b>; rel=y", "\"",
                              "x<,<b>;rel=y", "\\", ";", "a, \"", "a \"\\"}) {
    EXPECT_THAT(links(nothing), IsEmpty()) << nothing;
  }
}

TEST(LinkHeader, AThousandLinksAtMost) {
  std::string value;
  for (int i = 0; i < 1500; ++i)
    value += fmt::format("<{}>;rel=next,", i);
  const auto found = links(value);
  ASSERT_EQ(found.size(), 1000u);
  EXPECT_EQ(found.back().url.path(), "/dir/999");
}

// Any text that is written is read back.
TEST(LinkHeader, ReadsBackRandomLinks) {
  const std::string alphabet = "ab ,;=<\"\\'%*\t/:";
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto word = [&] { return test::random_text(random, alphabet, random() % 12); };
    std::string value;
    std::vector<HeaderLink> expected;
    for (unsigned count = random() % 6; count > 0; --count) {
      HeaderLink link{
          .url = base(), .rel = "next", .type = word(), .hreflang = "", .title = word()};
      const std::string path = fmt::format("/{}/a,b;c=d", count);
      link.url = *Url::parse(path, &base());
      const auto quoted = [&](const std::string& text) {
        std::string out = "\"";
        for (const char byte : text) {
          if (byte == '"' || byte == '\\' || random() % 4 == 0) out.push_back('\\');
          out.push_back(byte);
        }
        return out + "\"";
      };
      const std::string space = random() % 2 == 0 ? "" : " \t";
      value += fmt::format("{0}<{1}>{0};{0}title{0}={0}{2};{0}x{0};type={3};rel=next{0},", space,
                           path, quoted(link.title), quoted(link.type));
      expected.push_back(std::move(link));
    }
    const auto found = links(value);
    ASSERT_EQ(found.size(), expected.size()) << value;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].url, expected[i].url);
      EXPECT_EQ(found[i].rel, expected[i].rel);
      EXPECT_EQ(found[i].type, expected[i].type);
      EXPECT_EQ(found[i].title, expected[i].title);
    }
  }
}

// Half a MiB each: quadratic time would take minutes.
TEST(LinkHeader, TakesLinearTime) {
  for (const char* part :
       {"<",  ">",   "\"",           "\\",   ",",  ";",     "=",        "a",
        " ",  "<>",  "<a>,",         "<a>;", ";a", ";a=\"", "<a>;rel=", "<a>;anchor=b,",
        "x<", "x\"", "<a>;title*=%", "%4"}) {
    for (const char* prefix : {"", "<a>;rel=", "<a>;rel=\"", "<a>;title*=UTF-8''"}) {
      std::string value = prefix;
      while (value.size() < 512u << 10)
        value += part;
      EXPECT_LE(links(value).size(), 1000u) << prefix << part;
    }
  }
}

}  // namespace
}  // namespace trawl
