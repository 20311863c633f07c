// What sitemaps come to as requests.
#include "crawler/run/sitemap_requests.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Role = UrlNote::Role;

struct Read {
  SitemapSummary intake;
  std::vector<SitemapRequest> requests;

  std::vector<std::string> urls() const {
    std::vector<std::string> out;
    for (const SitemapRequest& request : requests)
      out.emplace_back(request.url.href());
    return out;
  }
};

Read read(std::string_view body, std::uint32_t level = 0) {
  UrlNote note;
  note.role = Role::kSitemap;
  note.sitemap_level = level;
  Read result;
  result.intake =
      read_sitemap(body, *Url::parse("http://a.example/sitemap.xml"), note,
                   [&](SitemapRequest&& each) { result.requests.push_back(std::move(each)); });
  EXPECT_EQ(result.intake.requests, result.requests.size());
  return result;
}

std::string gzip(std::string_view text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

constexpr std::string_view kUrlSet = R"(<?xml version="1.0"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>http://a.example/1</loc><lastmod>2026-11-20</lastmod><priority>0.8</priority></url>
<url><loc>http://other.example/2</loc></url>
</urlset>)";

constexpr std::string_view kIndex = R"(<?xml version="1.0"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>http://a.example/s1.xml.gz</loc><lastmod>2026-11-20T10:00:00Z</lastmod></sitemap>
<sitemap><loc>http://a.example/s2.xml</loc></sitemap>
</sitemapindex>)";

TEST(SitemapSummary, EntriesOfAUrlSetArePages) {
  for (const std::string& body : {std::string(kUrlSet), gzip(kUrlSet)}) {
    const Read result = read(body);
    EXPECT_THAT(result.urls(), ElementsAre("http://a.example/1", "http://other.example/2"));
    const SitemapRequest& first = result.requests.at(0);
    EXPECT_EQ(first.role, Role::kPage);
    EXPECT_EQ(first.priority, std::optional(0.8));
    EXPECT_EQ(first.last_modified,
              std::chrono::sys_seconds(std::chrono::sys_days(std::chrono::November / 20 / 2026)));
    EXPECT_EQ(first.note().sitemap_priority, std::optional(0.8));
    EXPECT_EQ(first.note().role, Role::kPage);
    EXPECT_EQ(result.requests.at(1).note(), UrlNote());
  }
}

TEST(SitemapSummary, EntriesOfAnIndexAreSitemapsOfTheNextLevel) {
  const Read result = read(kIndex);
  EXPECT_THAT(result.urls(), ElementsAre("http://a.example/s1.xml.gz", "http://a.example/s2.xml"));
  for (const SitemapRequest& request : result.requests) {
    EXPECT_EQ(request.role, Role::kSitemap);
    EXPECT_EQ(request.note().role, Role::kSitemap);
    EXPECT_EQ(request.note().sitemap_level, 1u);
  }
}

TEST(SitemapSummary, IndexesBelowTooManyOthersLeadNowhere) {
  EXPECT_EQ(read(kIndex, kMaxSitemapLevels - 1).requests.size(), 2u);
  for (const std::uint32_t level : {kMaxSitemapLevels, UINT32_MAX}) {
    const Read result = read(kIndex, level);
    EXPECT_THAT(result.requests, IsEmpty());
    EXPECT_EQ(result.intake.too_deep, 2u);
    // The pages of a sitemap at that depth are used nevertheless.
    EXPECT_EQ(read(kUrlSet, level).requests.size(), 2u);
  }
}

TEST(SitemapSummary, APagedFeedNamesItsNextPage) {
  const Read result = read(R"(<feed xmlns="http://www.w3.org/2005/Atom">
    <link rel="next" href="?page=2"/>
    <entry><link href="/entry"/></entry></feed>)");
  EXPECT_THAT(result.urls(),
              ElementsAre("http://a.example/entry", "http://a.example/sitemap.xml?page=2"));
  EXPECT_EQ(result.requests.at(0).role, Role::kPage);
  EXPECT_EQ(result.requests.at(1).role, Role::kSitemap);
  EXPECT_EQ(result.requests.at(1).level, 1u);
}

TEST(SitemapSummary, WhatIsNoSitemapHasNoEntries) {
  EXPECT_THAT(read("<!doctype html><a href=/x>x</a>").requests, IsEmpty());
  EXPECT_THAT(read("").requests, IsEmpty());
  EXPECT_THAT(read(std::string(100'000, '\0')).requests, IsEmpty());
  const Read damaged = read(gzip(kUrlSet).substr(0, 60));
  EXPECT_FALSE(damaged.intake.info.complete);
}

TEST(SitemapSummary, IsBounded) {
  std::string body = "<urlset>";
  for (int i = 0; i < 60'000; ++i)
    body += fmt::format("<url><loc>http://a.example/{}</loc></url>", i);
  const Read result = read(body + "</urlset>");
  EXPECT_EQ(result.requests.size(), 50'000u);
  EXPECT_FALSE(result.intake.info.complete);
}

// A page as a sitemap lists it, at `seconds` after 1970.
SitemapRequest listed_at(std::int64_t seconds) {
  SitemapRequest request;
  request.last_modified = std::chrono::sys_seconds(std::chrono::seconds(seconds));
  return request;
}

TEST(SitemapRequest, HasChangedIfItsLastmodIsLater) {
  constexpr std::int64_t kDay = 86'400;
  const auto at = [](std::int64_t seconds) {
    return std::chrono::sys_seconds(std::chrono::seconds(seconds));
  };
  EXPECT_TRUE(is_changed_since(listed_at(kDay * 9 + 5), at(kDay * 9 + 4)));
  EXPECT_FALSE(is_changed_since(listed_at(kDay * 9 + 5), at(kDay * 9 + 5)));
  // A date alone: perhaps later that day.
  EXPECT_TRUE(is_changed_since(listed_at(kDay * 9), at(kDay * 10 - 1)));
  EXPECT_FALSE(is_changed_since(listed_at(kDay * 9), at(kDay * 10)));
  EXPECT_FALSE(is_changed_since(SitemapRequest(), at(0)));
}

TEST(SitemapRequest, WhatChangesOftenOrLatelyComesFirst) {
  const std::chrono::sys_seconds now = std::chrono::sys_days(std::chrono::days(20'000));
  const std::int64_t seconds = now.time_since_epoch().count();
  EXPECT_EQ(implied_priority(SitemapRequest(), now), std::nullopt);
  EXPECT_EQ(implied_priority(listed_at(seconds - 60), now), 0.75);
  EXPECT_EQ(implied_priority(listed_at(seconds + 60), now), 0.75);
  EXPECT_EQ(implied_priority(listed_at(seconds - 3 * 86'400), now), 0.625);
  EXPECT_EQ(implied_priority(listed_at(0), now), std::nullopt);
  SitemapRequest often = listed_at(0);
  often.change_frequency = ChangeFrequency::kDaily;
  EXPECT_EQ(implied_priority(often, now), 0.75);
  often.change_frequency = ChangeFrequency::kNever;
  EXPECT_EQ(implied_priority(often, now), std::nullopt);
  EXPECT_EQ(interval_of(ChangeFrequency::kWeekly), std::chrono::hours(168));
  EXPECT_EQ(interval_of(ChangeFrequency::kNever), std::nullopt);
}

TEST(SitemapsOfRobots, AreEachNamedOnce) {
  const Robots robots = Robots::parse(
      "Sitemap: http://a.example/1.xml\nsitemap: http://b.example/2.xml\n"
      "Sitemap: http://a.example/1.xml\nSitemap: ftp://a.example/3.xml\nSitemap: /relative\n");
  const std::vector<SitemapRequest> requests = sitemaps_of(robots);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].url.href(), "http://a.example/1.xml");
  EXPECT_EQ(requests[1].url.href(), "http://b.example/2.xml");
  for (const SitemapRequest& request : requests) {
    EXPECT_EQ(request.role, Role::kSitemap);
    EXPECT_EQ(request.note().sitemap_level, 0u);
  }
  EXPECT_THAT(sitemaps_of(Robots::allow_all()), IsEmpty());
}

TEST(SitemapsOfRobots, SpaceAroundThemDoesNotCount) {
  const auto requests = sitemaps_of(Robots::parse(
      "Sitemap: \u00A0http://a.example/1.xml\u00A0\nSitemap:\u00A0http://a.example/1.xml\n"));
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].url.href(), "http://a.example/1.xml");
}

TEST(SitemapsOfRobots, AreBounded) {
  std::string text;
  for (int i = 0; i < 5'000; ++i)
    text += fmt::format("Sitemap: http://a.example/{}.xml\n", i);
  EXPECT_EQ(sitemaps_of(Robots::parse(text)).size(), kMaxSitemapsOfRobots);
}

}  // namespace
}  // namespace trawl
