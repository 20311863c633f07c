#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crawler/parse/sitemap_testing.h"
#include "tests/support/repeated.h"

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string urlset(int entries) {
  std::string document = "<?xml version='1.0'?>\r\n<urlset>\r\n";
  for (int i = 0; i < entries; ++i) {
    document += "<url><loc>http://a.example/?n=" + std::to_string(i) +
                "&x=\u00E4</loc><lastmod>2024-05-17</lastmod><priority>0.5</priority></url>\r\n";
  }
  return document + "</urlset>";
}

// What a reader makes of `bytes` in pieces of random sizes.
std::string read_in_pieces(std::string_view bytes, std::size_t longest, std::mt19937_64& random,
                           const SitemapOptions& options = {}) {
  std::vector<SitemapEntry> entries;
  SitemapReader reader(
      sitemap_url(), [&](SitemapEntry&& entry) { entries.push_back(std::move(entry)); }, options);
  while (!bytes.empty()) {
    const std::size_t length = std::min<std::size_t>(1 + random() % longest, bytes.size());
    if (!reader.feed(bytes.substr(0, length))) break;
    bytes.remove_prefix(length);
  }
  const SitemapInfo info = reader.finish();
  return describe(info, entries);
}

std::string read_at_once(std::string_view bytes, const SitemapOptions& options = {}) {
  const Sitemap sitemap = parse_sitemap(bytes, options);
  return describe(sitemap, sitemap.entries);
}

std::vector<std::string> documents() {
  const std::string large = urlset(2000);
  std::u16string wide = u"\uFEFF<urlset><url><loc>http://a.example/\U0001F600</loc></url></urlset>";
  std::string rss =
      "<rss><channel><atom:link rel='next' href='/2'/><item><link>/&nbsp;1</link><guid>x</guid>"
      "<pubDate>Fri, 17 May 2024 09:30:00 GMT</pubDate></item></channel></rss>";
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += "http://a.example/" + std::to_string(i) + (i % 3 == 0 ? "\r\n" : "\r");
  return {
      large,
      gzip(large),
      gzip(large) + gzip("<!-- a second member -->") + "trailing bytes",
      gzip(large).substr(0, 5000),
      large.substr(0, 70'000),
      text,
      gzip(text),
      rss,
      std::string(reinterpret_cast<const char*>(wide.data()), wide.size() * 2),
      "<?xml version='1.0' encoding='GBK'?><urlset><url><loc>/\xC4\xE3</loc></url></urlset>",
      "<!DOCTYPE html><html>",
      "<br />\n<b>Warning</b>: x\r\n<urlset><url><sm:loc>/1</sm:loc></url><url><loc>/2</urlset>",
      "<urlset xml:base='" + std::string(8100, 'b') + "/'>" +
          test::repeated("<url><loc>..</loc><link rel='alternate' href='x'/></url>", 400),
      "\x1F",
      "\x1F\x8B",
      "",
      "   ",
  };
}

TEST(SitemapReader, PiecesGiveWhatTheWholeGives) {
  const std::vector<std::string> all = documents();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string whole = read_at_once(all[i]);
    for (const std::size_t longest : {std::size_t{1}, std::size_t{40}, std::size_t{50'000}}) {
      const std::uint64_t seed = 1000 * i + longest;
      SCOPED_TRACE("document " + std::to_string(i) + ", seed " + std::to_string(seed));
      std::mt19937_64 random(seed);
      ASSERT_EQ(read_in_pieces(all[i], longest, random), whole);
    }
  }
}

TEST(SitemapReader, PiecesOfDamagedDocumentsToo) {
  const std::vector<std::string> all = documents();
  constexpr std::string_view kBytes = "<>&;/='\"![]-? \r\nax\xC3\xFF\x01";
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::string bytes = all[seed % all.size()];
    for (int i = 0; i < 8 && !bytes.empty(); ++i)
      bytes[random() % bytes.size()] = kBytes[random() % kBytes.size()];
    SitemapOptions options;
    if (seed % 4 == 1) options.max_entries = random() % 2000;
    if (seed % 4 == 2) options.max_bytes = random() % 40'000;
    if (seed % 4 == 3) options.max_url_length = random() % 40;
    if (seed % 3 == 0) options.max_result_bytes = random() % 1'000'000;
    ASSERT_EQ(read_in_pieces(bytes, 20'000, random, options), read_at_once(bytes, options));
  }
}

TEST(SitemapReader, GivesEntriesAsTheyCome) {
  const std::string document = urlset(2000);
  std::size_t given = 0;
  SitemapReader reader(sitemap_url(), [&](SitemapEntry&&) { ++given; });
  EXPECT_TRUE(reader.feed(std::string_view(document).substr(0, document.size() / 2)));
  EXPECT_GT(given, 500u);
  EXPECT_EQ(reader.info().kind, SitemapKind::kUrlSet);
  EXPECT_EQ(reader.info().accepted, given);
  EXPECT_TRUE(reader.feed(std::string_view(document).substr(document.size() / 2)));
  EXPECT_EQ(reader.finish().accepted, 2000u);
  EXPECT_EQ(given, 2000u);
  // Nothing comes after the end.
  EXPECT_FALSE(reader.feed(document));
  EXPECT_EQ(reader.finish().accepted, 2000u);
  EXPECT_THAT(reader.info().warnings, IsEmpty());
}

TEST(SitemapReader, WantsNoMoreOfWhatIsNoSitemap) {
  const std::string page = "<html>" + std::string(100'000, ' ');
  SitemapReader reader(sitemap_url(), [](SitemapEntry&&) { FAIL(); });
  EXPECT_FALSE(reader.feed(page));
  EXPECT_FALSE(reader.feed(page));
  EXPECT_LT(reader.finish().bytes, page.size());
}

TEST(SitemapReader, CanBeMoved) {
  std::vector<std::string> found;
  SitemapReader first(sitemap_url(),
                      [&](SitemapEntry&& entry) { found.emplace_back(entry.url.href()); });
  first.feed("<urlset><url><loc>http://a.exam");
  SitemapReader second = std::move(first);
  second.feed("ple/1</loc></url></urlset>");
  EXPECT_TRUE(second.finish().complete);
  EXPECT_THAT(found, ElementsAre("http://a.example/1"));
}

TEST(SitemapGzip, IsToldByItsFirstBytes) {
  const Sitemap sitemap = parse_sitemap(gzip(urlset(10)));
  EXPECT_TRUE(sitemap.gzip);
  EXPECT_TRUE(sitemap.complete);
  EXPECT_EQ(sitemap.accepted, 10u);
  EXPECT_EQ(sitemap.bytes, urlset(10).size());
}

TEST(SitemapGzip, MembersFollowOneAnother) {
  const std::string document = urlset(10);
  const std::string_view view(document);
  std::string packed;
  for (std::size_t i = 0; i < view.size(); i += 100)
    packed += gzip(view.substr(i, 100));
  EXPECT_EQ(read_at_once(packed + std::string(512, '\0')), read_at_once(gzip(document)));
}

TEST(SitemapGzip, WhatIsReadBeforeTheEndOrDamageCounts) {
  const std::string packed = gzip(urlset(5000));
  const Sitemap cut = parse_sitemap(std::string_view(packed).substr(0, packed.size() / 2));
  EXPECT_GT(cut.accepted, 1000u);
  EXPECT_FALSE(cut.complete);
  EXPECT_TRUE(warns(cut, "ends in the middle of its gzip data"));
  std::string broken = packed;
  broken.replace(packed.size() / 2, 40, std::string(40, '\xFF'));
  const Sitemap damaged = parse_sitemap(broken);
  EXPECT_GT(damaged.accepted, 1000u);
  EXPECT_TRUE(warns(damaged, "damaged gzip data"));
  // The checksum comes last: all entries are there.
  broken = packed;
  broken[packed.size() - 8] = static_cast<char>(broken[packed.size() - 8] ^ 1);
  const Sitemap unsure = parse_sitemap(broken);
  EXPECT_EQ(unsure.accepted, 5000u);
  EXPECT_FALSE(unsure.complete);
}

TEST(SitemapGzip, ABombStopsAtTheLimit) {
  const std::string bomb =
      gzip("<urlset><url><loc>http://a.example/1</loc></url>" + std::string(60u << 20, ' '));
  ASSERT_LT(bomb.size(), 200'000u);
  const Sitemap sitemap = parse_sitemap(bomb);
  EXPECT_EQ(sitemap.bytes, 50u << 20);
  EXPECT_EQ(sitemap.accepted, 1u);
  EXPECT_THAT(sitemap.warnings, ElementsAre("more than 52428800 bytes: the rest is not read"));
}

}  // namespace
}  // namespace trawl
