// What a crawl knows of pages that sitemaps list.
#include "crawler/state/sitemap_pages.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
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
    EXPECT_TRUE(
        (*pages)->note_listed("http://a.example/1", true, std::nullopt, true).value().fetched);
    EXPECT_FALSE((*pages)->note_listed("http://a.example/2", true, hours(1), true).value().fetched);
    EXPECT_EQ((*pages)->note_listed("http://a.example/2", false, hours(2), true)->listed_interval,
              hours(2));
    EXPECT_TRUE((*pages)->note_listed("http://a.example/2", false, std::nullopt, true)->listed);
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

TEST(SitemapPages, WhatIsNotWantedIsNotedOnlyIfItWasFetched) {
  const test::TemporaryDirectory directory;
  const auto pages = SitemapPages::open(SitemapPages::path(directory.path()));
  ASSERT_TRUE(pages) << pages.error().message;
  EXPECT_EQ((*pages)->note_listed("http://a.example/1", true, hours(1), false).value(), Page());
  EXPECT_EQ((*pages)->find("http://a.example/1").value(), Page());
  EXPECT_FALSE((*pages)->note_fetched("http://a.example/1", fetched_page()).value());
  EXPECT_TRUE((*pages)->note_listed("http://a.example/1", true, hours(1), false)->fetched);
  EXPECT_TRUE((*pages)->find("http://a.example/1")->listed);
}

// Also of hostile sitemaps: 20,000 URLs of 8 KB are 160 MB.
TEST(SitemapPages, LongUrlsTakeNoMoreThanShortOnes) {
  const test::TemporaryDirectory directory;
  const auto place = SitemapPages::path(directory.path());
  const std::string base = "http://a.example/" + std::string(8000, 'x');
  constexpr int kPages = 20'000;
  {
    const auto pages = SitemapPages::open(place);
    ASSERT_TRUE(pages) << pages.error().message;
    for (int page = 0; page < kPages; ++page)
      ASSERT_TRUE((*pages)->note_listed(base + std::to_string(page), true, std::nullopt, true));
    Page fetched = fetched_page();
    fetched.parent = std::string(SitemapPages::kMaxParent + 1, 'x');
    fetched.note.etag = std::string(1u << 20, 'x');
    ASSERT_TRUE((*pages)->note_fetched(base, fetched));
    EXPECT_EQ((*pages)->find(base)->parent, "");
  }
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(place))
    bytes += file.is_regular_file() ? file.file_size() : 0;
  EXPECT_LT(bytes, kPages * 200u);
  const auto pages = SitemapPages::open(place);
  ASSERT_TRUE(pages) << pages.error().message;
  for (const int page : {0, kPages / 2, kPages - 1})
    EXPECT_TRUE((*pages)->find(base + std::to_string(page))->listed) << page;
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
      ASSERT_TRUE((*pages)->note_listed(key_of(page), true, std::nullopt, true));
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
