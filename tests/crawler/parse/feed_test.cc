#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/parse/sitemap/sitemap_dates.h"
#include "tests/crawler/parse/sitemap_testing.h"

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Feed, RssItemsAreEntriesAndTheChannelIsNot) {
  const Sitemap feed = parse_sitemap(R"(<?xml version="1.0"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="m">
 <channel>
  <title>Caf&eacute; &copy; &nbsp; A & B</title>
  <link>http://home.example/</link>
  <atom:link rel="self" href="http://home.example/feed"/>
  <image><url>http://home.example/logo.png</url><link>http://home.example/</link></image>
  <item>
   <title>One <b>bold</b></title>
   <description><![CDATA[<a href="http://no.example/">no</a> <link>http://no.example/</link>]]></description>
   <link>http://a.example/1?x&y</link>
   <guid>http://a.example/guid/1</guid>
   <enclosure url="http://a.example/1.mp3" length="1" type="audio/mpeg"/>
   <media:content><media:link>http://no.example/</media:link></media:content>
   <source url="http://no.example/">x</source>
   <pubDate>Fri, 17 May 2024 09:30:00 GMT</pubDate>
  </item>
 </channel>
</rss>)");
  EXPECT_EQ(feed.kind, SitemapKind::kRss);
  EXPECT_THAT(feed.warnings, IsEmpty());
  EXPECT_EQ(feed.next, std::nullopt);
  ASSERT_THAT(urls(feed.entries), ElementsAre("http://a.example/1?x&y"));
  EXPECT_EQ(feed.entries[0].last_modified_text, "Fri, 17 May 2024 09:30:00 GMT");
  EXPECT_EQ(feed.entries[0].last_modified->time_since_epoch().count(), 1715938200);
}

TEST(Feed, AnRssItemWithoutALinkHasItsGuid) {
  const auto items = [](const std::string& item) {
    const Sitemap feed = parse_sitemap("<rss><channel><item>" + item + "</item></channel></rss>");
    return urls(feed.entries);
  };
  EXPECT_THAT(items("<guid>http://a.example/1</guid>"), ElementsAre("http://a.example/1"));
  EXPECT_THAT(items("<guid isPermaLink=\"true\"> http://a.example/1 </guid><link/>"),
              ElementsAre("http://a.example/1"));
  EXPECT_THAT(items("<guid isPermaLink=\"false\">http://a.example/1</guid>"), IsEmpty());
  EXPECT_THAT(items("<guid>just-an-id-7</guid>"), IsEmpty());
  EXPECT_THAT(items("<atom:link href='http://a.example/1'/>"), ElementsAre("http://a.example/1"));
  EXPECT_THAT(items("<atom:link rel='self' href='http://a.example/1'/>"), IsEmpty());
  EXPECT_THAT(items("<atom:link href='http://a.example/1'/><link>http://a.example/2</link>"),
              ElementsAre("http://a.example/2"));
  EXPECT_THAT(items("<link>/relative</link>"), ElementsAre("http://site.example/relative"));
}

TEST(Feed, OlderRss) {
  const Sitemap rdf = parse_sitemap(R"(<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="x"><link>http://home.example/</link><items><rdf:Seq><rdf:li resource="y"/></rdf:Seq>
</items></channel><item rdf:about="z"><title>t</title><link>http://a.example/1</link>
<dc:date>2024-05-17T09:30:00Z</dc:date></item></rdf:RDF>)");
  EXPECT_EQ(rdf.kind, SitemapKind::kRss);
  ASSERT_THAT(urls(rdf.entries), ElementsAre("http://a.example/1"));
  EXPECT_EQ(rdf.entries[0].last_modified->time_since_epoch().count(), 1715938200);
  EXPECT_THAT(urls_of("<rss version='0.91'><channel><item><link>http://a.example/1</link></item>"
                      "</channel></rss>"),
              ElementsAre("http://a.example/1"));
}

TEST(Feed, AtomEntries) {
  const Sitemap feed =
      parse_sitemap(R"(<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://b.example/x/">
<link href="http://home.example/"/><link rel="self" href="self"/><link rel="next" href="?page=2"/>
<entry><link rel="enclosure" href="e.mp3"/><link rel="edit" href="edit"/><link href="1"/>
 <published>2003-12-13T18:30:02Z</published><updated>2003-12-14T18:30:02.25+01:00</updated>
 <source><link href="no"/></source></entry>
<entry><link rel="alternate" type="application/json" href="json"/>
 <link rel="alternate" type="text/html" href="2"/><link href="3"/><published>2003-12-13</published></entry>
<entry xml:base="/y/"><link rel="http://www.iana.org/assignments/relation/alternate" href="4"/></entry>
<entry><link rel="alternate" type="application/pdf" href="5.pdf"/></entry>
<entry><link rel="related" href="no"/></entry>
</feed>)");
  EXPECT_EQ(feed.kind, SitemapKind::kAtom);
  EXPECT_THAT(urls(feed.entries), ElementsAre("http://b.example/x/1", "http://b.example/x/2",
                                              "http://b.example/y/4", "http://b.example/x/5.pdf"));
  EXPECT_EQ(feed.dropped.no_url, 1u);
  ASSERT_TRUE(feed.next.has_value());
  EXPECT_EQ(feed.next->href(), "http://b.example/x/?page=2");
  EXPECT_EQ(feed.entries[0].last_modified_text, "2003-12-14T18:30:02.25+01:00");
  EXPECT_EQ(feed.entries[1].last_modified_text, "2003-12-13");
  EXPECT_THAT(feed.warnings, IsEmpty());
}

TEST(Feed, AtomWithAPrefix) {
  EXPECT_THAT(urls_of("<a:feed><a:entry><a:link href='http://a.example/1'/><x:link "
                      "href='http://a.example/2'/></a:entry></a:feed>"),
              ElementsAre("http://a.example/1"));
}

std::optional<long long> date(std::string_view text) {
  const auto time = parse_sitemap_date(text);
  if (!time) return std::nullopt;
  return time->time_since_epoch().count();
}

TEST(SitemapDate, W3cDatetimes) {
  EXPECT_EQ(date("1970"), 0);
  EXPECT_EQ(date("1970-02"), 31 * 86400);
  EXPECT_EQ(date(" 1970-01-02\n"), 86400);
  EXPECT_EQ(date("1970-01-01T01:02Z"), 3720);
  EXPECT_EQ(date("1970-01-01T01:02:03Z"), 3723);
  EXPECT_EQ(date("1970-01-01T01:02:03.999999999999999999999Z"), 3723);
  EXPECT_EQ(date("1970-01-01T01:02:03+01:00"), 123);
  EXPECT_EQ(date("1970-01-01T01:02:03-0130"), 3723 + 5400);
  EXPECT_EQ(date("1970-01-01t01:02:03z"), 3723);
  EXPECT_EQ(date("1970-01-01 01:02:03"), 3723);
  EXPECT_EQ(date("1970-01-01 01:02:03 +0100"), 123);
  EXPECT_EQ(date("1969-12-31T23:59:59Z"), -1);
  EXPECT_EQ(date("2024-02-29"), 1709164800);
  EXPECT_EQ(date("2016-12-31T23:59:60Z"), 1483228800);
}

TEST(SitemapDate, Rfc822Dates) {
  EXPECT_EQ(date("Thu, 01 Jan 1970 00:00:01 GMT"), 1);
  EXPECT_EQ(date("1 Jan 70 00:00:01 +0000"), 1);
  EXPECT_EQ(date("Thursday, 1 January 1970 00:01"), 60);
  EXPECT_EQ(date("Wed, 31 Dec 1969 19:00:01 EST"), 1);
  EXPECT_EQ(date("Thu, 01-Jan-1970 00:00:01 GMT"), 1);
  EXPECT_EQ(date("Thu, 1 Jan 1970 02:00:01 +0200 (EET)"), 1);
  EXPECT_EQ(date("Fri, 17 May 24 09:30:00 UT"), 1715938200);
  EXPECT_EQ(date("2 Jan 1970"), 86400);
}

TEST(SitemapDate, WhatIsNoDateIsNone) {
  for (const std::string_view text : {"",
                                      " ",
                                      "today",
                                      "2024-13-01",
                                      "2023-02-29",
                                      "2024-00-01",
                                      "0000-01-01",
                                      "24-01-01",
                                      "2024-05-17T",
                                      "2024-05-17T25:00:00Z",
                                      "2024-05-17T09:60:00Z",
                                      "2024-05-17T09:30:00+2",
                                      "2024-05-17T09:30:00+24:00",
                                      "2024-05-17T09:30:00Z x",
                                      "2024-05-17x",
                                      "1715938200",
                                      "32 Jan 2024",
                                      "Fri, 17 Mai 2024",
                                      "17 May 202",
                                      "17 anf 2024",
                                      "Fri, 17",
                                      "-1-1-1"})
    EXPECT_EQ(date(text), std::nullopt) << text;
}

}  // namespace
}  // namespace trawl
