// Damaged, broken and hostile documents: the part before the damage is used, nothing takes more
// memory than it should.
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "tests/crawler/parse/sitemap_testing.h"
#include "tests/support/repeated.h"

namespace trawl {
namespace {

using test::repeated;
using testing::ElementsAre;

// Reads `head`, then `part` over and over up to about `size` bytes; the most memory that the reader
// took between its pieces. (Zero where a sanitizer has its own allocator.)
std::size_t most_memory(const std::string& head, const std::string& part, std::size_t size) {
  SitemapOptions options;
  options.max_bytes = 10 * size;
  options.max_entries = size;
  std::size_t most = 0;
  const std::string piece = repeated(part, 65536 / part.size() + 1);
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  SitemapReader reader(
      sitemap_url(), [](SitemapEntry&&) {}, options);
  reader.feed(head);
  for (std::size_t fed = 0; fed < size && reader.feed(piece); fed += piece.size()) {
    const std::size_t now = mallinfo2().uordblks + mallinfo2().hblkhd;
    most = std::max(most, now > before ? now - before : 0);
  }
  reader.finish();
  return most;
}

// The contents of a sitemap, as far as they are readable.
std::size_t size_of(const Sitemap& sitemap) {
  std::size_t size = 0;
  for (const SitemapEntry& entry : sitemap.entries) {
    size += sizeof(entry) + entry.url.href().size();
    for (const SitemapAlternate& alternate : entry.alternates)
      size += sizeof(alternate) + alternate.url.href().size() + alternate.hreflang.size();
  }
  return size;
}

// A <urlset> with a base of `length` bytes, without its end.
std::string based_urlset(std::size_t length) {
  return "<urlset xml:base='http://a.example/" + std::string(length - 18, 'b') + "/'>";
}

TEST(SitemapDamage, AMissingEndIsToldAndWhatIsWholeCounts) {
  const std::string document =
      "<urlset><url><loc>http://a.example/1</loc><lastmod>2024-01-01</lastmod></url>"
      "<url><loc>http://a.example/2</loc></url></urlset>";
  const std::size_t first = document.find("/1</loc>");
  const std::size_t second = document.find("/2</loc>");
  for (std::size_t length = 8; length < document.size(); ++length) {
    const Sitemap sitemap = parse_sitemap(document.substr(0, length));
    const std::size_t whole = (length >= first + 8 ? 1u : 0u) + (length >= second + 8 ? 1u : 0u);
    EXPECT_EQ(sitemap.accepted, whole) << length;
    EXPECT_FALSE(sitemap.complete) << length;
    EXPECT_TRUE(warns(sitemap, "ends in the middle: <urlset> is not closed")) << length;
  }
}

TEST(SitemapDamage, EndTagsThatAreMissingOrTooMany) {
  EXPECT_THAT(urls_of("<urlset><url><loc>http://a.example/1<lastmod>2020</lastmod></url>"
                      "<url><loc>http://a.example/2</url></url></loc><url><loc>http://a.example/3"
                      "</loc><url><loc>http://a.example/4</loc></urlset>"),
              ElementsAre("http://a.example/1", "http://a.example/2", "http://a.example/3",
                          "http://a.example/4"));
  const Sitemap sitemap = parse_sitemap(
      "<urlset>\n<url>\n<loc>http://a.example/1</url>\n<url><loc>http://a.example/2</loc></url>"
      "</urlset>");
  EXPECT_EQ(sitemap.accepted, 2u);
  EXPECT_TRUE(warns(sitemap, "an XML error in line 3")) << describe(sitemap, {});
  EXPECT_FALSE(sitemap.complete);
  // Forty thousand such entries, one within the other.
  EXPECT_EQ(
      parse_sitemap("<urlset>" + repeated("<url><loc>http://a.example/</loc>", 40'000)).accepted,
      40'000u);
}

TEST(SitemapDamage, TagsThatAreBroken) {
  for (const std::string_view broken : {"<foo bar=\"x><y</foo>",
                                        "<foo bar='1'baz=\"2\">",
                                        "<foo a=1 b>",
                                        "<foo",
                                        "<",
                                        "< >",
                                        "</>",
                                        "<1>",
                                        "<foo \" '>",
                                        "<foo a='1' a='2'>",
                                        "<foo&bar>",
                                        "<!foo>",
                                        "<!>",
                                        "]]>",
                                        "\x01\x02",
                                        "&#1;",
                                        "&;",
                                        "<:a:>",
                                        "<a:b:c/>",
                                        "<foo a='<b/>'/>",
                                        "</urlset "}) {
    const Sitemap sitemap =
        parse_sitemap("<urlset><url><loc>http://a.example/1</loc></url>" + std::string(broken) +
                      "<url><loc>http://a.example/2</loc></url></urlset>");
    EXPECT_GE(sitemap.accepted, 1u) << broken;
    EXPECT_EQ(sitemap.entries.at(0).url.href(), "http://a.example/1") << broken;
    if (broken != "</urlset ") {
      EXPECT_EQ(sitemap.accepted, 2u) << broken;
    }
  }
}

TEST(SitemapDamage, WhatFollowsTheRootDoesNotHurt) {
  const Sitemap sitemap = parse_sitemap(
      "<urlset><url><loc>http://a.example/1</loc></url></urlset>\nNotice: <b>PHP</b>");
  EXPECT_EQ(sitemap.accepted, 1u);
  EXPECT_TRUE(warns(sitemap, "an XML error in line 2")) << describe(sitemap, {});
}

TEST(SitemapDamage, EntitiesAreNotExpanded) {
  std::string laughs = "<?xml version=\"1.0\"?><!DOCTYPE lolz [<!ENTITY lol0 \"lol\">";
  for (int i = 1; i < 30; ++i) {
    const std::string below = "&lol" + std::to_string(i - 1) + ";";
    laughs += "<!ENTITY lol" + std::to_string(i) + " \"" + repeated(below, 10) + "\">";
  }
  laughs += "]><urlset><url><loc>http://a.example/&lol29;</loc></url></urlset>";
  const std::string blowup = "<!DOCTYPE x [<!ENTITY a \"" + std::string(200'000, 'a') +
                             "\">]><urlset><url><loc>http://a.example/&a;&a;</loc></url></urlset>";
  const Sitemap laughed = parse_sitemap(laughs);
  EXPECT_THAT(urls(laughed.entries), ElementsAre("http://a.example/&lol29;"));
  EXPECT_TRUE(warns(laughed, "declares entities: they are not expanded"));
  EXPECT_THAT(urls_of(blowup), ElementsAre("http://a.example/&a;&a;"));
}

TEST(SitemapDamage, ExternalEntitiesAndDtdsAreNotLoaded) {
  const Sitemap sitemap = parse_sitemap(
      "<!DOCTYPE urlset SYSTEM \"file:///etc/passwd\" [<!ENTITY % p SYSTEM "
      "\"file:///etc/hostname\">"
      "%p;<!ENTITY x SYSTEM \"file:///etc/hostname\"><!-- ' ]> -->]>"
      "<urlset><url><loc>http://a.example/&x;</loc></url></urlset>");
  EXPECT_THAT(urls(sitemap.entries), ElementsAre("http://a.example/&x;"));
}

TEST(SitemapDamage, ADoctypeWithoutEndIsGivenUp) {
  const Sitemap sitemap =
      parse_sitemap("<!DOCTYPE urlset [ \"" + std::string(300'000, ' ') +
                    "<urlset><url><loc>http://a.example/1</loc></url></urlset>");
  EXPECT_THAT(urls(sitemap.entries), ElementsAre("http://a.example/1"));
  EXPECT_FALSE(sitemap.complete);
}

TEST(SitemapDamage, MemoryDoesNotGrowWithTheDocument) {
  constexpr std::size_t kSize = 5u << 20;
  constexpr std::size_t kMost = 2u << 20;
  const std::string url = "<url><loc>http://a.example/page</loc></url>";
  EXPECT_LT(most_memory("<urlset>", url, kSize), kMost);
  EXPECT_LT(most_memory("<urlset><url><loc>", "x", kSize), kMost);
  EXPECT_LT(most_memory("<urlset><url><loc>", "x ", kSize), kMost);
  EXPECT_LT(most_memory("<urlset><url><loc><![CDATA[", "]", kSize), kMost);
  EXPECT_LT(most_memory("<urlset><!--", "-", kSize), kMost);
  EXPECT_LT(most_memory("<urlset><?", "?", kSize), kMost);
  EXPECT_LT(most_memory("<urlset><", "x", kSize), kMost);
  EXPECT_LT(most_memory("<urlset></", "x", kSize), kMost);
  EXPECT_LT(most_memory("<urlset><a b='", "&amp;", kSize), kMost);
  EXPECT_LT(most_memory("<urlset><a ", "b='' ", kSize), kMost);
  EXPECT_LT(most_memory("<urlset>", "&", kSize), kMost);
  EXPECT_LT(most_memory("<urlset>", "<", kSize), kMost);
  EXPECT_LT(most_memory("<urlset>", "</a>", kSize), kMost);
  EXPECT_LT(most_memory("<!DOCTYPE", "<!ENTITY a 'b'>", kSize), kMost);
  EXPECT_LT(most_memory("http://a.example/", "x", kSize), kMost);
  EXPECT_LT(most_memory("", "\n", kSize), kMost);
  EXPECT_LT(most_memory("<urlset><url>", "<link rel='alternate' href='/'/>", kSize), kMost);
  // An entry whose alternates are long is held until its end.
  EXPECT_LT(most_memory(based_urlset(8000), "<url><loc>x</loc></url>", kSize), kMost);
  EXPECT_LT(most_memory(based_urlset(8000) + "<url>", "<link rel='alternate' href='x'/>", kSize),
            3 * kMost);
}

TEST(SitemapDamage, ALongBaseDoesNotMakeManyLongUrls) {
  constexpr std::size_t kMost = 192u << 20;
  const std::string entry = "<url><loc>x</loc></url>";
  const std::string alternates =
      "<url><loc>x</loc>" + repeated("<link rel='alternate' href='x'/>", 500) + "</url>";
  const std::string rss = "<rss xml:base='http://a.example/" + std::string(8000, 'b') +
                          "/'><item><link>x</link></item>";
  for (const std::string& document :
       {based_urlset(8100) + repeated(entry, 50'000),
        based_urlset(8100) + repeated(alternates, 250),
        rss + repeated("<item><link href='x'/><link>x</link></item>", 50'000)}) {
    const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    const Sitemap sitemap = parse_sitemap(document);
    const std::size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    EXPECT_GT(size_of(sitemap), kMost / 2);
    EXPECT_LT(size_of(sitemap), kMost + (1u << 20));
    EXPECT_LT(after, before + kMost + (1u << 20));
    EXPECT_FALSE(sitemap.complete);
    EXPECT_TRUE(warns(sitemap, "its entries take more than 201326592 bytes of memory: the rest"));
  }
}

TEST(SitemapDamage, ManyShortAlternatesAreCountedWithWhatTheyTake) {
  SitemapOptions options;
  options.max_result_bytes = 4u << 20;
  const std::string document =
      "<urlset>" +
      repeated("<url><loc>/</loc>" + repeated("<link rel='alternate' href='/'/>", 500), 200);
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  const Sitemap sitemap = parse_sitemap(document, options);
  const std::size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
  EXPECT_LT(after, before + options.max_result_bytes);
  EXPECT_GT(sitemap.accepted, 20u);
  EXPECT_LT(sitemap.accepted, 100u);
}

TEST(SitemapDamage, WhatIsResolvedAndDroppedCountsToo) {
  SitemapOptions options;
  options.max_result_bytes = 1u << 20;
  options.max_entries = 1'000'000;
  const std::string too_long = "<loc>" + std::string(200, 'x') + "</loc>";
  for (const std::string& part :
       {"<url>" + too_long + "</url>", std::string("<url><loc>..</loc></url>"),
        "<url><loc>/</loc>" +
            repeated("<link rel='alternate' href='" + std::string(200, 'x') + "'/>", 100) +
            "</url>",
        std::string("<a xml:base='.'/><url><loc>/</loc></url>")}) {
    const Sitemap sitemap = parse_sitemap(based_urlset(8100) + repeated(part, 5000), options);
    EXPECT_FALSE(sitemap.complete) << part;
    EXPECT_LT(sitemap.accepted + sitemap.dropped.too_long, 400u) << part;
  }
}

TEST(SitemapDamage, NestingAndNamesWithoutEndStopTheReading) {
  constexpr std::size_t kMost = 16u << 20;
  EXPECT_LT(most_memory("<urlset>", "<a>", 5u << 20), kMost);
  EXPECT_LT(most_memory("<urlset>", "<a></b>", 5u << 20), kMost);
  EXPECT_LT(most_memory("<urlset>", "<a xml:base='http://a.example/b/'>", 5u << 20), kMost);
  const Sitemap deep = parse_sitemap("<urlset>" + repeated("<a>", 200'000));
  EXPECT_TRUE(warns(deep, "elements nested more than 100000 deep"));
  std::string names = "<urlset><url><loc>http://a.example/1</loc></url>";
  for (int i = 0; i < 300'000; ++i)
    names += "<n" + std::to_string(i) + "/>";
  const Sitemap named = parse_sitemap(names + "</urlset>");
  EXPECT_EQ(named.accepted, 1u);
  EXPECT_TRUE(warns(named, "too many different names")) << describe(named, {});
}

TEST(SitemapDamage, ManyErrorsStopTheReading) {
  const Sitemap sitemap = parse_sitemap("<urlset><url><loc>http://a.example/1</loc></url>" +
                                        repeated("<a =/>", 200'000) + "</urlset>");
  EXPECT_EQ(sitemap.accepted, 1u);
  EXPECT_FALSE(sitemap.complete);
  EXPECT_LT(sitemap.bytes, 700'000u);
}

TEST(SitemapDamage, NothingIsPrinted) {
  testing::internal::CaptureStderr();
  parse_sitemap("<urlset><a b=c></d>&e;<f g='1' g='2' xml:lang=''>\x01<![CDATA[");
  parse_sitemap("<urlset xmlns:a=''><b:c xmlns:b='\x80 \x81'/><?xml?></urlset><urlset>");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(SitemapDamage, ManyThreadsReadAtOnce) {
  const std::string document =
      "<urlset>" + repeated("<url><loc>http://a.example/?a&b</loc></url><x>", 500) + "</urlset>";
  const Sitemap alone = parse_sitemap(document);
  std::vector<std::string> found(4);
  std::vector<std::thread> threads;
  for (std::string& text : found) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        const Sitemap sitemap = parse_sitemap(document);
        text = describe(sitemap, sitemap.entries);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const std::string& text : found)
    EXPECT_EQ(text, describe(alone, alone.entries));
}

}  // namespace
}  // namespace trawl
