#include "trawl/sitemap.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crawler/parse/sitemap_testing.h"

namespace trawl {
namespace {

using std::chrono::sys_seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

TEST(Sitemap, ReadsAllThatAnEntryHas) {
  const Sitemap sitemap = parse_sitemap(R"(<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:xhtml="http://www.w3.org/1999/xhtml">
  <url>
    <loc>
      http://site.example/a?b=1&amp;c=2
    </loc>
    <lastmod>2024-05-17T09:30:00+02:00</lastmod>
    <changefreq>Weekly</changefreq>
    <priority> 0.8 </priority>
    <xhtml:link rel="alternate" hreflang="de-AT" href="http://site.example/de?b&amp;c"/>
    <xhtml:link rel="alternate" hreflang="x-default" href="/x"/>
    <xhtml:link rel="canonical" href="/c"/>
  </url>
  <url><loc>http://site.example/b</loc></url>
</urlset>)");
  EXPECT_EQ(sitemap.kind, SitemapKind::kUrlSet);
  EXPECT_TRUE(sitemap.complete);
  EXPECT_FALSE(sitemap.gzip);
  EXPECT_THAT(sitemap.warnings, IsEmpty());
  ASSERT_EQ(sitemap.entries.size(), 2u);
  EXPECT_EQ(sitemap.accepted, 2u);
  const SitemapEntry& entry = sitemap.entries[0];
  EXPECT_EQ(entry.url.href(), "http://site.example/a?b=1&c=2");
  EXPECT_EQ(entry.last_modified, sys_seconds(1715931000s));
  EXPECT_EQ(entry.last_modified_text, "2024-05-17T09:30:00+02:00");
  EXPECT_EQ(entry.change_frequency, ChangeFrequency::kWeekly);
  EXPECT_EQ(entry.priority, 0.8);
  ASSERT_EQ(entry.alternates.size(), 2u);
  EXPECT_EQ(entry.alternates[0].hreflang, "de-AT");
  EXPECT_EQ(entry.alternates[0].url.href(), "http://site.example/de?b&c");
  EXPECT_EQ(entry.alternates[1].url.href(), "http://site.example/x");
  EXPECT_FALSE(sitemap.entries[1].last_modified || sitemap.entries[1].change_frequency ||
               sitemap.entries[1].priority);
  EXPECT_THAT(sitemap.entries[1].alternates, IsEmpty());
}

TEST(Sitemap, AnIndexListsSitemaps) {
  const Sitemap sitemap = parse_sitemap(
      "<sitemapindex><sitemap><loc>http://a.example/1.xml.gz</loc><lastmod>2024</lastmod></sitemap>"
      "<sitemap><loc>http://a.example/2.xml</loc></sitemap></sitemapindex>");
  EXPECT_EQ(sitemap.kind, SitemapKind::kIndex);
  EXPECT_THAT(urls(sitemap.entries),
              ElementsAre("http://a.example/1.xml.gz", "http://a.example/2.xml"));
  EXPECT_TRUE(sitemap.entries[0].last_modified.has_value());
}

TEST(Sitemap, TheFirstEntryTellsAnIndexFromPagesIfTheRootIsWrong) {
  EXPECT_EQ(parse_sitemap("<urlset><sitemap><loc>http://a.example/1</loc></sitemap></urlset>").kind,
            SitemapKind::kIndex);
  EXPECT_EQ(
      parse_sitemap("<sitemapindex><url><loc>http://a.example/1</loc></url></sitemapindex>").kind,
      SitemapKind::kUrlSet);
}

TEST(Sitemap, NamespacesMayBeMissingOrWrongOrPrefixed) {
  for (const std::string_view document :
       {"<urlset><url><loc>http://a.example/1</loc></url></urlset>"sv,
        "<URLSET><Url><LOC>http://a.example/1</LOC></Url></URLSET>"sv,
        "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'><url><loc>http://a.example/1"
        "</loc></url></urlset>"sv,
        "<ns0:urlset xmlns:ns0='x'><ns0:url><ns0:loc>http://a.example/1</ns0:loc></ns0:url>"
        "</ns0:urlset>"sv,
        "<s:urlset><s:url><s:loc>http://a.example/1</s:loc></s:url></s:urlset>"sv}) {
    const Sitemap sitemap = parse_sitemap(document);
    EXPECT_EQ(sitemap.kind, SitemapKind::kUrlSet) << document;
    EXPECT_THAT(urls(sitemap.entries), ElementsAre("http://a.example/1")) << document;
    EXPECT_THAT(sitemap.warnings, IsEmpty()) << document;
  }
}

TEST(Sitemap, TheLocOfAnExtensionIsNotThePages) {
  const std::string images =
      "<image:image><image:loc>http://a.example/i.png</image:loc><loc>http://a.example/no</loc>"
      "<lastmod>2001</lastmod></image:image><image:loc>http://a.example/j.png</image:loc>";
  for (const std::string& fields :
       {images + "<loc>http://a.example/page</loc>", "<loc>http://a.example/page</loc>" + images}) {
    const SitemapEntry entry = entry_of(fields);
    EXPECT_EQ(entry.url.href(), "http://a.example/page");
    EXPECT_EQ(entry.last_modified_text, "");
  }
  const Sitemap without = parse_sitemap("<urlset><url>" + images + "</url></urlset>");
  EXPECT_EQ(without.accepted, 0u);
  EXPECT_EQ(without.dropped.no_url, 1u);
}

TEST(Sitemap, FieldsOfAnotherPrefixStandInForThoseOfTheOwn) {
  EXPECT_THAT(
      urls_of("<urlset xmlns:sm='s'><url><sm:loc>http://a.example/1</sm:loc></url>"
              "<sm:url><loc>/2</loc></sm:url><url xml:base='/b/'><sm:loc>3</sm:loc></url>"
              "</urlset>"),
      ElementsAre("http://a.example/1", "http://site.example/2", "http://site.example/b/3"));
  const SitemapEntry dated = entry_of(
      "<sm:loc>/1</sm:loc><sm:lastmod>2024</sm:lastmod><sm:changefreq>daily</sm:changefreq>"
      "<sm:priority>0.5</sm:priority>");
  EXPECT_EQ(dated.last_modified_text, "2024");
  EXPECT_EQ(dated.change_frequency, ChangeFrequency::kDaily);
  EXPECT_EQ(dated.priority, 0.5);
  for (
      const std::string fields :
      {"<sm:loc>/other</sm:loc><sm:lastmod>1999</sm:lastmod><loc>/own</loc><lastmod>2024</lastmod>",
       "<loc>/own</loc><lastmod>2024</lastmod><sm:loc>/other</sm:loc><sm:lastmod>1999</sm:lastmod>",
       "<loc></loc><sm:loc> </sm:loc><sm:loc>/own</sm:loc><sm:loc>/other</sm:loc>"
       "<sm:lastmod>2024</sm:lastmod>"}) {
    const SitemapEntry entry = entry_of(fields);
    EXPECT_EQ(entry.url.href(), "http://site.example/own") << fields;
    EXPECT_EQ(entry.last_modified_text, "2024") << fields;
  }
  EXPECT_EQ(entry_of("<sm:loc xml:base='/b/'>other</sm:loc><loc>own</loc>").url.href(),
            "http://site.example/dir/own");
  // Not directly below the entry, or of an extension that has such fields.
  for (const std::string fields :
       {"<a:b><sm:loc>/no</sm:loc></a:b>", "<xhtml:link><sm:loc>/no</sm:loc></xhtml:link>",
        "<image:loc>/no</image:loc>", "<video:loc>/no</video:loc>", "<News:loc>/no</News:loc>"}) {
    const Sitemap sitemap = parse_sitemap("<urlset><url>" + fields + "</url></urlset>");
    EXPECT_THAT(urls(sitemap.entries), IsEmpty()) << fields;
    EXPECT_EQ(sitemap.dropped.no_url, 1u) << fields;
  }
  EXPECT_EQ(parse_sitemap("<urlset><url><sm:loc>http://a.example/" + std::string(10'000, 'x') +
                          "</sm:loc></url></urlset>")
                .dropped.too_long,
            1u);
}

TEST(Sitemap, TextBeforeTheXmlDoesNotCount) {
  const std::string urlset = "<urlset>\n<url><loc>http://a.example/1</loc></url></urlset>";
  for (const std::string& document :
       {"Warning: x in y.php on line 3\n<?xml version='1.0'?>" + urlset, "Notice: x " + urlset,
        " \r\nPHP Warning: <b> & >\r\n<?XML version='1.0'?>\r\n" + urlset,
        "<br />\n<b>Warning</b>:  x in <b>y.php</b> on line <b>3</b><br />\n" + urlset,
        std::string(900, 'x') + urlset}) {
    const Sitemap sitemap = parse_sitemap(document);
    EXPECT_EQ(sitemap.kind, SitemapKind::kUrlSet) << document;
    EXPECT_THAT(urls(sitemap.entries), ElementsAre("http://a.example/1")) << document;
    EXPECT_THAT(sitemap.warnings, ElementsAre("the text before the XML is ignored"));
    EXPECT_TRUE(sitemap.complete) << document;
  }
  EXPECT_EQ(parse_sitemap("x<sitemapindex>").kind, SitemapKind::kIndex);
  EXPECT_EQ(parse_sitemap("x<rss>").kind, SitemapKind::kRss);
  EXPECT_EQ(parse_sitemap("x<feed>").kind, SitemapKind::kAtom);
  EXPECT_TRUE(warns(parse_sitemap("a\nb\n<urlset>\n<url><loc>/1</url></urlset>"), "in line 4"))
      << "lines keep their numbers";
  EXPECT_EQ(parse_sitemap("http://a.example/1\nhttp://a.example/<rss>").kind, SitemapKind::kText);
  EXPECT_EQ(parse_sitemap("x<html><body>").kind, SitemapKind::kUnknown);
  EXPECT_EQ(parse_sitemap("<br><b>").kind, SitemapKind::kUnknown);
  EXPECT_EQ(parse_sitemap(std::string(2000, 'x') + urlset).kind, SitemapKind::kUnknown);
}

TEST(Sitemap, AnAmpersandThatBeginsNoReferenceStaysInTheUrl) {
  EXPECT_EQ(url_of("http://a.example/?x=1&y=2"), "http://a.example/?x=1&y=2");
  EXPECT_EQ(url_of("http://a.example/?x=1&amp;y=2"), "http://a.example/?x=1&y=2");
  EXPECT_EQ(url_of("http://a.example/?x=1&copy=2&lang=en"), "http://a.example/?x=1&copy=2&lang=en");
  EXPECT_EQ(url_of("http://a.example/?x&"), "http://a.example/?x&");
  EXPECT_EQ(url_of("http://a.example/?x&;&&#;&#x;"), "http://a.example/?x&;&&#;&#x;");
  EXPECT_EQ(url_of("http://a.example/?&unknown;"), "http://a.example/?&unknown;");
  EXPECT_EQ(entry_of("<loc>/</loc><xhtml:link rel='alternate' hreflang='de' href='/?a&b&amp;c'/>")
                .alternates.at(0)
                .url.href(),
            "http://site.example/?a&b&c");
}

TEST(Sitemap, ReferencesToCharactersAreRead) {
  EXPECT_EQ(url_of("http://a.example/&#x41;&#66;&#38;&#x3c;"), "http://a.example/AB&%3C");
  EXPECT_EQ(url_of("http://a.example/&eacute;&apos;&quot;&gt;"), "http://a.example/%C3%A9'%22%3E");
  // All named characters of HTML, including pairs, and characters that would be markup.
  EXPECT_EQ(url_of("http://a.example/&NotEqualTilde;"), "http://a.example/%E2%89%82%CC%B8");
  EXPECT_EQ(url_of("http://a.example/?a&AMP;b&LT;c&num;d"), "http://a.example/?a&b%3Cc#d");
  // Characters that XML forbids become U+FFFD.
  EXPECT_EQ(url_of("http://a.example/&#0;&#xD800;&#99999999999999999999;"),
            "http://a.example/%EF%BF%BD%EF%BF%BD%EF%BF%BD");
}

TEST(Sitemap, CdataAndCommentsInALoc) {
  EXPECT_EQ(url_of("<![CDATA[ http://a.example/?a&b&amp;c ]]>"), "http://a.example/?a&b&amp;c");
  EXPECT_EQ(url_of("<![CDATA[http://a.example/]]]]><![CDATA[>]]>"), "http://a.example/]]%3E");
  EXPECT_EQ(url_of("http://a.example<!-- <loc> & -- -->/b"), "http://a.example/b");
  EXPECT_EQ(url_of("http://a.example/<?php echo '<loc>' ?>b"), "http://a.example/b");
}

TEST(Sitemap, WhiteSpaceOrAMarkBeforeTheDeclarationDoesNotHurt) {
  const std::string rest =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?xml-stylesheet href='x'?><!DOCTYPE urlset>"
      "<urlset><url><loc>http://a.example/1</loc></url></urlset>\n<!-- made in 3 ms -->\n";
  for (const std::string_view front : {"", " \r\n\t", "\xEF\xBB\xBF", "\n\xEF\xBB\xBF\n",
                                       "\xEF\xBB\xBF\xEF\xBB\xBF", "<!-- c -->"}) {
    const Sitemap sitemap = parse_sitemap(std::string(front) + rest);
    EXPECT_THAT(urls(sitemap.entries), ElementsAre("http://a.example/1"));
    EXPECT_THAT(sitemap.warnings, IsEmpty());
  }
  // White space that fills whole blocks.
  EXPECT_THAT(urls_of(std::string(100'000, '\n') + rest), ElementsAre("http://a.example/1"));
}

TEST(Sitemap, Encodings) {
  const std::string document =
      "<urlset><url><loc>http://a.example/\u00E4\u20AC</loc></url></urlset>";
  const std::string expected = "http://a.example/%C3%A4%E2%82%AC";
  EXPECT_THAT(urls_of(document), ElementsAre(expected));
  EXPECT_THAT(urls_of("<?xml version='1.0' encoding='utf-16'?>" + document), ElementsAre(expected));
  EXPECT_THAT(urls_of("<?xml version='1.0' encoding='no-such'?>" + document),
              ElementsAre(expected));
  const std::string western = "<urlset><url><loc>http://a.example/\xE4\x80</loc></url></urlset>";
  for (const std::string_view label : {"ISO-8859-1", "windows-1252", "Latin1"}) {
    const Sitemap sitemap =
        parse_sitemap("<?xml version=\"1.0\" encoding=\"" + std::string(label) + "\"?>" + western);
    EXPECT_THAT(urls(sitemap.entries), ElementsAre(expected)) << label;
    EXPECT_THAT(sitemap.warnings, IsEmpty());
  }
  const Sitemap undeclared = parse_sitemap(western);
  EXPECT_THAT(urls(undeclared.entries), ElementsAre(expected));
  EXPECT_TRUE(warns(undeclared, "not UTF-8"));
  EXPECT_TRUE(undeclared.complete);
  EXPECT_THAT(urls_of("<?xml version='1.0' encoding='x-cp1251'?><urlset><url><loc>"
                      "http://a.example/\xEF</loc></url></urlset>"),
              ElementsAre("http://a.example/%D0%BF"))
      << "any of the labels that pages have";
  EXPECT_THAT(
      urls_of("<?xml version='1.0' encoding='windows-1251'?><urlset><url><loc>http://a.example/"
              "\xEF</loc></url></urlset>"),
      ElementsAre("http://a.example/%D0%BF"));
  EXPECT_THAT(
      urls_of("<?xml version='1.0' encoding='Shift_JIS'?><urlset><url><loc>http://a.example/"
              "\x83\x65</loc></url></urlset>"),
      ElementsAre("http://a.example/%E3%83%86"));
}

TEST(Sitemap, Utf16WithAndWithoutAMark) {
  const std::u16string document =
      u"<?xml version='1.0' encoding='UTF-16'?><urlset><url><loc>http://a.example/\u00E4\U0001F600"
      u"</loc></url></urlset>";
  for (const bool big : {false, true}) {
    for (const bool mark : {false, true}) {
      std::string bytes;
      for (const char16_t unit : (mark ? u"\uFEFF" : u"") + document) {
        const char high = static_cast<char>(unit >> 8);
        const char low = static_cast<char>(unit & 0xFF);
        bytes += big ? high : low;
        bytes += big ? low : high;
      }
      EXPECT_THAT(urls_of(bytes), ElementsAre("http://a.example/%C3%A4%F0%9F%98%80"));
      bytes.resize(bytes.size() / 2 * 2 - 1);
      EXPECT_THAT(urls_of(bytes), ElementsAre("http://a.example/%C3%A4%F0%9F%98%80"));
    }
  }
}

TEST(Sitemap, DroppedEntriesAreCountedByReason) {
  SitemapOptions options;
  options.max_url_length = 40;
  options.max_alternates = 1;
  const Sitemap sitemap = parse_sitemap(
      "<urlset><url><loc>http://[/</loc></url><url><loc>ftp://a.example/</loc></url>"
      "<url><loc>mailto:a@b</loc></url><url><loc> </loc></url><url></url>"
      "<url><loc>http://a.example/" +
          std::string(40, 'x') + "</loc></url><url><loc>http://a.example/" + std::string(23, 'y') +
          "</loc><link rel='alternate' hreflang='a' href='http://['/><link rel='alternate'"
          " hreflang='b' href='/b'/><link rel='alternate' hreflang='c' href='/c'/></url></urlset>",
      options);
  EXPECT_EQ(sitemap.dropped.invalid_url, 1u);
  EXPECT_EQ(sitemap.dropped.other_scheme, 2u);
  EXPECT_EQ(sitemap.dropped.no_url, 2u);
  EXPECT_EQ(sitemap.dropped.too_long, 1u);
  EXPECT_EQ(sitemap.dropped.alternates, 2u);
  EXPECT_TRUE(sitemap.complete);
  ASSERT_EQ(sitemap.entries.size(), 1u);
  EXPECT_EQ(sitemap.entries[0].url.href().size(), 40u);
  ASSERT_EQ(sitemap.entries[0].alternates.size(), 1u);
  EXPECT_EQ(sitemap.entries[0].alternates[0].hreflang, "b");
}

TEST(Sitemap, PrioritiesAndFrequenciesThatMeanNothingAreAbsent) {
  const auto priority = [](const std::string& text) {
    return entry_of("<loc>/</loc><priority>" + text + "</priority>").priority;
  };
  EXPECT_EQ(priority("0"), 0.0);
  EXPECT_EQ(priority("1.0"), 1.0);
  EXPECT_EQ(priority("0,5"), 0.5);
  for (const char* text : {"", "high", "1.1", "-0.1", "0.5x", "nan", "inf", "1e400"})
    EXPECT_EQ(priority(text), std::nullopt) << text;
  EXPECT_EQ(entry_of("<loc>/</loc><changefreq>sometimes</changefreq>").change_frequency,
            std::nullopt);
  const SitemapEntry entry = entry_of("<loc>/</loc><lastmod> yesterday </lastmod>");
  EXPECT_EQ(entry.last_modified, std::nullopt);
  EXPECT_EQ(entry.last_modified_text, "yesterday");
}

TEST(Sitemap, MoreEntriesThanMayBeAreNotRead) {
  std::string document = "<urlset>";
  for (int i = 0; i < 10; ++i)
    document += "<url><loc>http://a.example/" + std::to_string(i) + "</loc></url>";
  document += "</urlset>";
  SitemapOptions options;
  options.max_entries = 10;
  EXPECT_TRUE(parse_sitemap(document, options).complete);
  options.max_entries = 4;
  const Sitemap cut = parse_sitemap(document, options);
  EXPECT_EQ(cut.entries.size(), 4u);
  EXPECT_FALSE(cut.complete);
  EXPECT_THAT(cut.warnings, ElementsAre("more than 4 entries: the rest is not read"));
}

TEST(Sitemap, TheProtocolsLimitOfEntries) {
  std::string text;
  for (int i = 0; i < 50'001; ++i)
    text += "http://a.example/" + std::to_string(i) + "\n";
  const Sitemap sitemap = parse_sitemap(text);
  EXPECT_EQ(sitemap.accepted, 50'000u);
  EXPECT_THAT(sitemap.warnings, ElementsAre("more than 50000 entries: the rest is not read"));
  SitemapOptions more;
  more.max_entries = 60'000;
  EXPECT_EQ(parse_sitemap(text, more).accepted, 50'001u);
}

TEST(Sitemap, BytesOverTheLimitAreNotRead) {
  const std::string document =
      "<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/2</loc></url>"
      "</urlset>";
  SitemapOptions options;
  options.max_bytes = document.size();
  EXPECT_TRUE(parse_sitemap(document, options).complete);
  options.max_bytes = 80;
  const Sitemap cut = parse_sitemap(document, options);
  EXPECT_THAT(urls(cut.entries), ElementsAre("http://a.example/1"));
  EXPECT_EQ(cut.bytes, 80u);
  EXPECT_THAT(cut.warnings, ElementsAre("more than 80 bytes: the rest is not read"));
  EXPECT_FALSE(cut.complete);
  // Of a text, the line that is cut is not taken for a URL.
  options.max_bytes = 25;
  EXPECT_THAT(urls(parse_sitemap("http://a.example/\nhttp://a.example/long", options).entries),
              ElementsAre("http://a.example/"));
}

TEST(Sitemap, UrlsThatComeOutTooLongAreDropped) {
  SitemapOptions options;
  options.max_url_length = 30;
  const Sitemap sitemap = parse_sitemap(
      "<urlset><url><loc>123456</loc></url><url><loc>1234567</loc></url>"
      "<url><loc>/123456</loc><link rel='alternate' href='1234567'/></url>"
      "<url><loc>/\u00E4\u00E4</loc></url></urlset>",
      options);
  EXPECT_THAT(urls(sitemap.entries),
              ElementsAre("http://site.example/dir/123456", "http://site.example/123456"));
  EXPECT_EQ(sitemap.dropped.too_long, 2u);
  EXPECT_EQ(sitemap.dropped.alternates, 1u);
  EXPECT_TRUE(sitemap.complete);
  const Sitemap feed = parse_sitemap(
      "<feed><link rel='next' href='1234567'/><link rel='next' href='123456'/></feed>", options);
  ASSERT_TRUE(feed.next.has_value());
  EXPECT_EQ(feed.next->href(), "http://site.example/dir/123456");
}

TEST(Sitemap, BasesThatAreTooLongAreNone) {
  const std::string document =
      "<urlset><url><loc>/1</loc></url><url><loc>2</loc></url><url><loc>http://a.example/3</loc>"
      "</url></urlset>";
  const Url base = *Url::parse("http://site.example/" + std::string(8200, 'b') + "/");
  const Sitemap sitemap = Sitemap::parse(document, base);
  EXPECT_THAT(urls(sitemap.entries), ElementsAre("http://a.example/3"));
  EXPECT_EQ(sitemap.dropped.invalid_url, 2u);
  EXPECT_THAT(sitemap.warnings,
              ElementsAre("a base of more than 8192 bytes: URLs relative to it are dropped"));
  EXPECT_THAT(Sitemap::parse("http://a.example/1\n/2\n", base).warnings, IsEmpty());
  const std::string segment(4000, 'b');
  const Sitemap nested = parse_sitemap(
      "<urlset><a xml:base='" + segment + "/'><a xml:base='" + segment + "/'><a xml:base='" +
      segment +
      "/'><url><loc>no</loc></url><a xml:base='http://a.example/'><url><loc>1</loc></url>"
      "</a></a><url><loc>2</loc></url></a></a></urlset>");
  EXPECT_EQ(nested.accepted, 2u);
  EXPECT_EQ(nested.entries.at(0).url.href(), "http://a.example/1");
  EXPECT_EQ(nested.entries.at(1).url.href(),
            "http://site.example/dir/" + segment + "/" + segment + "/2");
  EXPECT_EQ(nested.warnings.size(), 1u);
}

TEST(Sitemap, WhatItsEntriesTakeIsLimited) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "http://a.example/" + std::to_string(i) + "\n";
  SitemapOptions options;
  EXPECT_TRUE(parse_sitemap(text, options).complete);
  options.max_result_bytes = 100'000;
  const Sitemap cut = parse_sitemap(text, options);
  EXPECT_GT(cut.accepted, 50u);
  EXPECT_LT(cut.accepted, 500u);
  EXPECT_FALSE(cut.complete);
  EXPECT_THAT(
      cut.warnings,
      ElementsAre("its entries take more than 100000 bytes of memory: the rest is not read"));
}

TEST(Sitemap, TextHasAUrlALine) {
  const Sitemap sitemap = parse_sitemap(
      "\xEF\xBB\xBFhttp://a.example/1\r\n  http://a.example/2\t\rhttp://a.example/\u00E4\n\n"
      "not a url\nftp://a.example/\n/relative\nhttp://a.example/3");
  EXPECT_EQ(sitemap.kind, SitemapKind::kText);
  EXPECT_THAT(urls(sitemap.entries), ElementsAre("http://a.example/1", "http://a.example/2",
                                                 "http://a.example/%C3%A4", "http://a.example/3"));
  EXPECT_EQ(sitemap.dropped.invalid_url, 2u);
  EXPECT_EQ(sitemap.dropped.other_scheme, 1u);
  EXPECT_THAT(sitemap.warnings, IsEmpty());
  const Sitemap with_long_line =
      parse_sitemap("http://a.example/" + std::string(100'000, 'x') + "\nhttp://a.example/1\n");
  EXPECT_THAT(urls(with_long_line.entries), ElementsAre("http://a.example/1"));
  EXPECT_EQ(with_long_line.dropped.too_long, 1u);
}

TEST(Sitemap, WhatIsNoSitemapSaysSo) {
  const auto warning = [](std::string_view document) {
    const Sitemap sitemap = parse_sitemap(document);
    EXPECT_EQ(sitemap.kind, SitemapKind::kUnknown);
    EXPECT_THAT(sitemap.entries, IsEmpty());
    return sitemap.warnings.empty() ? "" : sitemap.warnings.back();
  };
  EXPECT_EQ(warning("<!DOCTYPE html>\n<html><head><title>404</title><url><loc>http://a.example/"
                    "</loc></url>"),
            "not a sitemap: an HTML page");
  EXPECT_EQ(warning("<HTML>"), "not a sitemap: an HTML page");
  EXPECT_EQ(warning("<svg/>"), "not a sitemap: its root element is <svg>");
  EXPECT_EQ(warning("<!-- nothing -->"), "not a sitemap: markup without an element");
  EXPECT_EQ(warning(""), "not a sitemap: the document is empty");
  EXPECT_EQ(warning("Not found"), "not a sitemap: neither XML nor a list of URLs");
  EXPECT_EQ(warning("\x89PNG\r\n\x1A\n\0\0\0\x0D"sv),
            "not a sitemap: neither XML nor a list of URLs");
}

TEST(Sitemap, ADocumentOfAnotherKindIsNotReadToItsEnd) {
  for (const std::string& document :
       {std::string("<html>"), "<!DOCTYPE html><html><body>" + std::string(100'000, 'x'),
        std::string("<svg/>")}) {
    const Sitemap sitemap = parse_sitemap(document);
    EXPECT_EQ(sitemap.kind, SitemapKind::kUnknown);
    EXPECT_FALSE(sitemap.complete) << document.substr(0, 40);
  }
  for (const std::string_view document : {"", " ", "<!-- nothing -->", "Not found"}) {
    const Sitemap sitemap = parse_sitemap(document);
    EXPECT_EQ(sitemap.kind, SitemapKind::kUnknown);
    EXPECT_TRUE(sitemap.complete) << document;
  }
}

TEST(Sitemap, NamesOfKindsAndFrequencies) {
  EXPECT_EQ(to_string(SitemapKind::kIndex), "index");
  EXPECT_EQ(to_string(SitemapKind::kUnknown), "unknown");
  EXPECT_EQ(to_string(ChangeFrequency::kNever), "never");
}

// One entry for each, with what stands before the next of them.
TEST(Sitemap, EachLocOfAnEntryCounts) {
  const Sitemap sitemap = parse_sitemap(
      "<urlset><url><loc>http://a.example/1</loc><lastmod>2024-01-01</lastmod>"
      "<loc>http://a.example/2</loc><priority>0.3</priority>"
      "<loc>http://a.example/3</loc></url>"
      "<url><loc/><loc> </loc><loc>&#160;</loc><loc>http://a.example/4</loc></url>"
      "<url><loc>http://a.example/5</loc></url></urlset>");
  EXPECT_THAT(urls(sitemap.entries),
              ElementsAre("http://a.example/1", "http://a.example/2", "http://a.example/3",
                          "http://a.example/4", "http://a.example/5"));
  ASSERT_EQ(sitemap.entries.size(), 5u);
  EXPECT_TRUE(sitemap.entries[0].last_modified.has_value());
  EXPECT_FALSE(sitemap.entries[1].last_modified.has_value());
  EXPECT_EQ(sitemap.entries[1].priority, 0.3);
  EXPECT_TRUE(warns(sitemap, "more than one <loc>"));
  EXPECT_EQ(sitemap.warnings.size(), 1u);
  EXPECT_EQ(sitemap.dropped.no_url, 0u);
}

TEST(Sitemap, EachLocOfAnIndexCounts) {
  EXPECT_THAT(urls_of("<sitemapindex><sitemap><loc>http://a.example/1</loc>"
                      "<loc>http://a.example/2</loc></sitemap></sitemapindex>"),
              ElementsAre("http://a.example/1", "http://a.example/2"));
}

TEST(Sitemap, ABadLocDoesNotHideTheNext) {
  const std::string very_long = "http://a.example/" + std::string(20'000, 'x');
  const Sitemap sitemap =
      parse_sitemap("<urlset><url><loc>http://</loc><loc>http://a.example/1</loc><loc>" +
                    very_long + "</loc><loc>http://a.example/2</loc></url></urlset>");
  EXPECT_THAT(urls(sitemap.entries), ElementsAre("http://a.example/1", "http://a.example/2"));
  EXPECT_EQ(sitemap.dropped.invalid_url, 1u);
  EXPECT_EQ(sitemap.dropped.too_long, 1u);
}

TEST(Sitemap, LocsOfOneEntryCountTowardsTheLimit) {
  std::string document = "<urlset><url>";
  for (int i = 0; i < 20; ++i)
    document += "<loc>http://a.example/" + std::to_string(i) + "</loc>";
  const Sitemap sitemap = parse_sitemap(document + "</url></urlset>", {.max_entries = 7});
  EXPECT_EQ(sitemap.entries.size(), 7u);
  EXPECT_FALSE(sitemap.complete);
}

TEST(Sitemap, ASecondLocOfAnotherPrefixIsWarnedOf) {
  const Sitemap sitemap = parse_sitemap(
      "<urlset><url><x:loc>http://a.example/1</x:loc><x:loc>http://a.example/2</x:loc></url>"
      "</urlset>");
  EXPECT_THAT(urls(sitemap.entries), ElementsAre("http://a.example/1"));
  EXPECT_TRUE(warns(sitemap, "the first is used"));
}

TEST(Sitemap, SpaceOfAnyKindAroundAUrlDoesNotCount) {
  for (const std::string space :
       {"\u00A0", "&#160;", "&#xA0;", "&nbsp;", "\u00A0 \u00A0\n", "\u2003", "\u200B", "\u3000",
        "\uFEFF", "\u2028", "\u0085", "&#133;"}) {
    EXPECT_EQ(url_of(space + "http://a.example/1" + space), "http://a.example/1") << space;
    EXPECT_THAT(urls_of(space + "http://a.example/1" + space + "\r\n" + space +
                        "http://a.example/2\n" + space + "\n"),
                space.starts_with("&")
                    ? testing::An<const std::vector<std::string>&>()
                    : testing::Matcher<const std::vector<std::string>&>(
                          ElementsAre("http://a.example/1", "http://a.example/2")))
        << space;
    const SitemapEntry entry =
        entry_of("<loc>http://a.example/1</loc><lastmod>" + space + "2024-01-01" + space +
                 "</lastmod><priority>" + space + "0.3" + space +
                 "</priority><xhtml:link rel='alternate' hreflang='de' href='" + space +
                 "http://a.example/de" + space + "'/>");
    EXPECT_TRUE(entry.last_modified.has_value()) << space;
    EXPECT_EQ(entry.priority, 0.3) << space;
    ASSERT_EQ(entry.alternates.size(), 1u) << space;
    EXPECT_EQ(entry.alternates[0].url.href(), "http://a.example/de") << space;
  }
  // Within a URL it stays.
  EXPECT_EQ(url_of("http://a.example/a\u00A0b"), "http://a.example/a%C2%A0b");
  // As windows-1252 writes it.
  EXPECT_THAT(urls_of("<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>\xA0"
                      "http://a.example/1\xA0</loc></url></urlset>"),
              ElementsAre("http://a.example/1"));
}

}  // namespace
}  // namespace trawl
