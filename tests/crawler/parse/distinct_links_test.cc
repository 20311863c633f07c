// LinkOptions::distinct, held against the links of the same pages with duplicates.
#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/links.h"

#include "tests/support/link_occurrences.h"

namespace trawl {
namespace {

using testing::ElementsAre;

const Url kUrlOfPage = *Url::parse("http://site.example/dir/page.html?q");

// The scanner counts repeats itself if it looks for nothing in style attributes: without resources.
class DistinctLinks : public testing::TestWithParam<LinkKinds> {
 protected:
  static LinkOptions options(bool distinct) { return {.kinds = GetParam(), .distinct = distinct}; }
  static PageLinks links_of(std::string_view html, bool distinct) {
    return extract_links(html, kUrlOfPage, options(distinct));
  }
  // "path times" of each link.
  static std::vector<std::string> counted(std::string_view html) {
    std::vector<std::string> result;
    for (const Link& link : links_of(html, true).links)
      result.push_back(fmt::format("{} {}", link.url.path(), link.times));
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, DistinctLinks,
                         testing::Values(LinkKinds::all(),
                                         LinkKinds{LinkKind::kNavigation, LinkKind::kDocument}),
                         [](const auto& info) {
                           return info.param == LinkKinds::all() ? "All" : "WithoutResources";
                         });

TEST_P(DistinctLinks, AFragmentOrATextMakesNoOtherLink) {
  constexpr std::string_view kPage =
      "<a href=a>one</a><a href='a#x'>two</a><a href=#y></a><a href=b></a><a href=#z></a>"
      "<a href='a#'></a>";
  EXPECT_THAT(counted(kPage), ElementsAre("/dir/a 3", "/dir/page.html 2", "/dir/b 1"));
  const PageLinks page = links_of(kPage, true);
  EXPECT_EQ(page.repeated, 3u);
  EXPECT_EQ(page.links[0].url.href(), "http://site.example/dir/a") << "as it was first";
  EXPECT_EQ(page.links[1].url.fragment(), "y");
  EXPECT_EQ(links_of(kPage, false).links.size(), 6u);
  EXPECT_EQ(links_of(kPage, false).repeated, 0u);
  for (const Link& link : links_of(kPage, false).links)
    EXPECT_EQ(link.times, 1u);
}

TEST_P(DistinctLinks, WhatTellsLinksApartDoes) {
  EXPECT_THAT(counted("<a href=a></a><a href=a rel=nofollow></a><a href=a rel=next></a>"
                      "<area href=a><iframe src=a></iframe><a href=a?></a><a href=A></a>"
                      "<a href=a rel=nofollow></a>"),
              ElementsAre("/dir/a 1", "/dir/a 2", "/dir/a 1", "/dir/a 1", "/dir/a 1", "/dir/a 1",
                          "/dir/A 1"));
}

// In front of a fragment it belongs to the URL.
TEST_P(DistinctLinks, WhiteSpaceAtTheEnd) {
  EXPECT_THAT(counted("<a href='a '></a><a href='a #x'></a><a href='a #x'></a><a href='a'></a>"),
              testing::SizeIs(3));
  EXPECT_EQ(
      link_occurrences(links_of("<a href='a '></a><a href='a #x'></a><a href='a #y'></a>", true)),
      link_occurrences(links_of("<a href='a '></a><a href='a #x'></a><a href='a #y'></a>", false)));
}

TEST_P(DistinctLinks, WhatIsNoLinkCountsEachTime) {
  const PageLinks page = links_of(
      "<a href='http://[/'></a><a href='http://[/'></a><a href='mailto:a'></a>"
      "<a href='mailto:a'></a><a href='mailto:a'></a>",
      true);
  EXPECT_EQ(page.invalid, 2u);
  EXPECT_EQ(page.other_scheme, 3u);
  EXPECT_EQ(page.repeated, 0u);
}

// Whatever a page's references are resolved against, and wherever they are.
TEST_P(DistinctLinks, AreThoseOfThePage) {
  for (const std::string_view html : {
           "<base href=http://o.test/x/><a href=a></a><a href=a#b></a><a href=#c></a><a "
           "href=#d></a>",
           "<base href=ftp://o.test/><a href=a></a><a href=a></a><a href=http://o.test/></a>",
           "<iframe srcdoc='<base href=/y/><a href=a></a><img src=a>'></iframe><a href=a></a>",
           "<p style='background:url(\\61)'><p style='background:url(\\61)'><p style='background:"
           "url(a#x)'><style>p{background:url(a)}q{background:url(a#y)}</style>",
           "<link rel=stylesheet href=a><link rel=icon href=a><link rel=stylesheet href=a#z>",
           "<a href='\ta'></a><a href='a\t'></a><a href='a\t#b'></a><a href='a\n\t#c'></a>"
           "<a href=' #x'></a><a href=' #y'></a><a href=''></a><a href=' '></a>",
           "<a href='a&#35;x'></a><a href='a&#36;x'></a><a href='a&#35;y'></a><a href='a&#'></a>",
           "<a href='a&copy#x'></a><a href='a&copy'></a><a href='a&copy=#x'></a><a href='a&copy#y'>"
           "</a><a href='a&num;x'></a><a href='a&num;y'></a><a href='a&Tab;#x'></a><a "
           "href='a&Tab;'>",
           "<a href='a &Tab;'></a><a href='a &Tab;#x'></a><a href='a &NewLine;#x'></a><a href='a "
           "#y'>",
           "<a href='a\xff#x'></a><a href='a\xff'></a><a href='a\xe2\x82#y'></a><a "
           "href='a\xe2\x82'>",
           "<a HREF=a href=b></a><a href=b href=a></a><a Href=a REL=nofollow></a><a href=a "
           "rel=''></a>"
           "<svg><a href=a></a><a xlink:href=a></a></svg><a href=a></a>",
           "<template><a href=a></a></template><a href=a></a><template><a href=a></a></template>",
           "<meta name=robots content=nofollow><a href=a></a><a href=a#b></a><a></a><a name=c></a>",
           "<meta charset=windows-1252><a href='?\xfc#a'></a><a href='?\xfc#b'></a><a href='?%FC'>",
           "<a href='http:#a'></a><a href='http:#b'></a><a href='http:?q'></a><a href='//h#a'></a>",
       }) {
    for (const bool requisites : {false, true}) {
      LinkOptions options{.kinds = GetParam(), .texts = true, .requisites = requisites};
      const PageLinks all = extract_links(html, kUrlOfPage, options);
      options.distinct = true;
      const PageLinks some = extract_links(html, kUrlOfPage, options);
      EXPECT_EQ(link_occurrences(some), link_occurrences(all)) << html;
      EXPECT_EQ(some.links.size() + some.repeated, all.links.size()) << html;
      EXPECT_EQ(some.invalid, all.invalid) << html;
      EXPECT_EQ(some.other_scheme, all.other_scheme) << html;
    }
  }
}

// The first text of a link is its text, whatever comes within the others.
TEST_P(DistinctLinks, TheTextIsThatOfTheFirst) {
  LinkOptions with_texts = options(true);
  with_texts.texts = true;
  const PageLinks page = extract_links(
      "<a href=a>one</a> <a href=b>two<a href='a#x'>three<a href=b>four</a><a href=c>five</a>",
      kUrlOfPage, with_texts);
  std::vector<std::string> texts;
  for (const Link& link : page.links)
    texts.push_back(fmt::format("{} {}", link.text, link.times));
  EXPECT_THAT(texts, ElementsAre("one 2", "two 2", "five 1"));
}

// The scanner's answer is used if the page needs a tree and that would be too deep.
TEST_P(DistinctLinks, AreCountedByTheScannerWithoutATree) {
  std::string html = "<a href=a></a><a href='a#x'></a><select><svg></svg></select><a href=b></a>";
  for (int i = 0; i < 1000; ++i)
    html += "<div>";
  html += "<a href='a#y'></a>";
  const PageLinks page = links_of(html, true);
  EXPECT_EQ(page.engine, LinkEngine::kScanner);
  EXPECT_EQ(page.skipped, LinksSkipped::kNo);
  EXPECT_THAT(counted(html), ElementsAre("/dir/a 3", "/dir/b 1"));
  EXPECT_EQ(page.repeated, 2u);
}

// What was dropped is listed as it was each time.
TEST_P(DistinctLinks, WhatIsDroppedIsListedEachTime) {
  LinkOptions with_dropped = options(true);
  with_dropped.dropped = true;
  const PageLinks page =
      extract_links("<a href='ftp:a#1'></a><a href='ftp:a#2'></a>", kUrlOfPage, with_dropped);
  ASSERT_EQ(page.dropped.size(), 2u);
  EXPECT_EQ(page.dropped[1].text, "ftp:a#2");
}

TEST_P(DistinctLinks, NothingIsKeptOfThePageBefore) {
  LinkExtractor extractor(options(true));
  PageLinks page;
  for (const char* const base : {"http://a.test/", "http://b.test/"}) {
    extractor.extract_into("<a href=x></a><a href=x></a>", "text/html", *Url::parse(base), page);
    ASSERT_EQ(page.links.size(), 1u);
    EXPECT_EQ(page.links[0].url.href(), std::string(base) + "x");
    EXPECT_EQ(page.links[0].times, 2u);
    EXPECT_EQ(page.repeated, 1u);
  }
  extractor.extract_into("<a href=x></a>", "text/html", kUrlOfPage, page);
  EXPECT_EQ(page.links[0].times, 1u);
  EXPECT_EQ(page.repeated, 0u);
  extractor.extract_into("<p>", "text/html", kUrlOfPage, page);
  EXPECT_THAT(page.links, testing::IsEmpty());
}

// With more links than are remembered, some are in it several times.
TEST_P(DistinctLinks, RandomPagesHaveTheSameLinks) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return std::size_t{random() % n}; };
  constexpr std::array kRels = {"", " rel=nofollow", " rel=' next'"};
  constexpr std::array kEnds = {"",    "#",   "#a",    "#b",       " ",      "?",
                                "?#c", " #d", "&Tab;", " &Tab;#d", " &Tab;", "&amp#e"};
  constexpr std::size_t kTimes = 100;
  for (const std::size_t names : {1u, 3u, 15u, 500u}) {
    for (int round = 0; round < 5; ++round) {
      std::string html;
      for (std::size_t i = 0; i < kTimes * names; ++i) {
        const auto name = fmt::format("{}{}", below(4) == 0 ? "../x/some/longer/place/" : "",
                                      below(3) == 0 ? "" : std::to_string(below(names)));
        html += fmt::format("<{} href='{}{}'{}></a>", below(9) == 0 ? "area" : "a", name,
                            kEnds[below(kEnds.size())], kRels[below(kRels.size())]);
      }
      const PageLinks all = links_of(html, false);
      const PageLinks some = links_of(html, true);
      ASSERT_EQ(link_occurrences(some), link_occurrences(all)) << html;
      ASSERT_EQ(some.links.size() + some.repeated, all.links.size());
      if (names > 3) continue;
      // Several spellings of a URL are several links; few of them share a place.
      EXPECT_LT(some.links.size(), all.links.size() * 3 / 4) << html;
    }
  }
}

}  // namespace
}  // namespace trawl
