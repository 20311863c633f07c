// What a crawl knows of pages that sitemaps list.
#include "crawler/state/sitemap_pages.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

using Page = SitemapPages::Page;
using std::chrono::hours;

Page fetched_page() {
  Page page;
  page.fetched = true;
  page.depth = 3;
  page.redirects = 1;
  page.parent = "http://a.example/";
  page.note.seed = 77;
  page.note.etag = "\"1\"";
  page.note.interval = std::chrono::hours(1);
  return page;
}

TEST(SitemapPages, WhatIsKnownOfAPageSurvives) {
  const test::TemporaryDirectory directory;
  const auto place = SitemapPages::path(directory.path());
  {
    const auto pages = SitemapPages::open(place);
    ASSERT_TRUE(pages) << pages.error().message;
    EXPECT_EQ((*pages)->find("http://a.example/1").value(), Page());
    EXPECT_FALSE((*pages)->note_fetched("http://a.example/1", fetched_page()).value());
    EXPECT_TRUE((*pages)->note_listed("http://a.example/1", true, std::nullopt).value().fetched);
    EXPECT_FALSE((*pages)->note_listed("http://a.example/2", true, hours(1)).value().fetched);
    EXPECT_EQ((*pages)->note_listed("http://a.example/2", false, hours(2))->listed_interval,
              hours(2));
    EXPECT_TRUE((*pages)->note_listed("http://a.example/2", false, std::nullopt)->listed);
    EXPECT_EQ(SitemapPages::open(place).error().code, ErrorCode::kInUse);
  }
  const auto pages = SitemapPages::open(place);
  ASSERT_TRUE(pages) << pages.error().message;
  Page known = fetched_page();
  known.listed = true;
  EXPECT_EQ((*pages)->find("http://a.example/1").value(), known);
  // Listed before it was fetched, or by what its note says.
  EXPECT_TRUE((*pages)->note_fetched("http://a.example/2", fetched_page()).value());
  EXPECT_EQ((*pages)->find("http://a.example/2")->listed_interval, hours(2));
  EXPECT_TRUE((*pages)->note_fetched("http://a.example/3", known).value());
  EXPECT_TRUE((*pages)->note_fetched("http://a.example/3", fetched_page()).value());
}

TEST(SitemapPages, ThreadsThatListAndFetchAPageLoseNothing) {
  const test::TemporaryDirectory directory;
  const auto pages = SitemapPages::open(SitemapPages::path(directory.path()));
  ASSERT_TRUE(pages) << pages.error().message;
  constexpr int kPages = 2000;
  const auto key_of = [](int page) { return fmt::format("http://a.example/{}", page); };
  std::atomic<int> turn{-1};
  std::thread lists([&] {
    for (int page = 0; page < kPages; ++page) {
      while (turn.load() < page) {
      }
      ASSERT_TRUE((*pages)->note_listed(key_of(page), true, std::nullopt));
    }
  });
  for (int page = 0; page < kPages; ++page) {
    turn.store(page);
    ASSERT_TRUE((*pages)->note_fetched(key_of(page), fetched_page()));
  }
  lists.join();
  for (int page = 0; page < kPages; ++page) {
    const Page known = (*pages)->find(key_of(page)).value();
    ASSERT_TRUE(known.listed && known.fetched) << page;
  }
}

}  // namespace
}  // namespace trawl
