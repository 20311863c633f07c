// LinkExtractor: bases, shadow roots and options, with both engines.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trawl/links.h"

#include "tests/support/repeated.h"

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Documents : public testing::TestWithParam<LinkEngine> {
 protected:
  PageLinks read(std::string_view html, LinkOptions options = {}) const {
    options.engine = GetParam();
    return extract_links(html, *Url::parse("http://site.example/dir/page.html"), options);
  }
  std::vector<std::string> hrefs(std::string_view html) const {
    std::vector<std::string> result;
    for (const Link& link : read(html).links)
      result.emplace_back(link.url.href());
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(LinkExtractor, Documents,
                         testing::Values(LinkEngine::kScanner, LinkEngine::kGumbo),
                         [](const auto& engine) {
                           return engine.param == LinkEngine::kGumbo ? "Gumbo" : "Scanner";
                         });

TEST_P(Documents, NothingIsRelativeToABaseOfAnotherScheme) {
  for (const std::string_view base : {"ftp://mirror.example/", "file:///C:/", "mailto:x"}) {
    const PageLinks page = read("<base href='" + std::string(base) +
                                "'><a href=x><a href=//h/><a href=http://whole.example/>");
    ASSERT_EQ(page.links.size(), 1u) << base;
    EXPECT_EQ(page.links[0].url.href(), "http://whole.example/");
    EXPECT_EQ(page.other_scheme, 2u);
    EXPECT_EQ(page.invalid, 0u);
    EXPECT_FALSE(page.base);
  }
  // The next page has its own.
  EXPECT_THAT(hrefs("<a href=x>"), ElementsAre("http://site.example/dir/x"));
}

TEST_P(Documents, ShadowRootsAreShownAndOtherTemplatesAreNot) {
  EXPECT_THAT(hrefs("<div><template shadowrootmode=open><a href=1></a><template><a href=2></a>"
                    "</template><a href=3></a></template></div><template><a href=4></a>"
                    "<template ShadowRootMode=Closed><a href=5></a></template></template>"
                    "<template shadowrootmode=no><a href=6></a></template><a href=7>"),
              ElementsAre("http://site.example/dir/1", "http://site.example/dir/3",
                          "http://site.example/dir/7"));
}

TEST_P(Documents, ParagraphEndsWhereSvgTakesHtmlDoNotEndIt) {
  EXPECT_THAT(hrefs("<svg><title></p></title><a xlink:href=1></a></svg>"),
              ElementsAre("http://site.example/dir/1"));
  EXPECT_THAT(hrefs("<svg><foreignObject></p></foreignObject><a xlink:href=2></a></svg>"),
              ElementsAre("http://site.example/dir/2"));
}

TEST_P(Documents, TheAgentIsAProductToken) {
  constexpr std::string_view kHtml =
      "<meta name=MyBot content=nofollow><meta name='' content=noindex>";
  EXPECT_TRUE(read(kHtml, {.agent = "mybot/1.0 (+https://bot.example/)"}).robots.nofollow);
  EXPECT_FALSE(read(kHtml, {.agent = "my"}).robots.nofollow);
  EXPECT_EQ(read(kHtml, {.agent = ""}).robots, RobotsDirectives());
}

TEST_P(Documents, WithoutAUrlOnlyWholeLinksCount) {
  LinkExtractor extractor({.engine = GetParam()});
  const PageLinks page = extractor.extract("<a href=x><a href=http://h/y>", "", Url());
  ASSERT_EQ(page.links.size(), 1u);
  EXPECT_EQ(page.links[0].url.href(), "http://h/y");
  EXPECT_EQ(page.invalid, 1u);
}

TEST_P(Documents, AnyLimitOnTimeIsTaken) {
  for (const auto time : {std::chrono::milliseconds::max(), std::chrono::milliseconds(60'000)}) {
    EXPECT_EQ(read("<a href=x>", {.max_time = time}).skipped, LinksSkipped::kNo);
  }
}

TEST_P(Documents, InternationalHostsTakeBoundedTime) {
  const std::string html =
      test::repeated("<a href=\"//" + test::repeated("\xC3\xBC.", 60) + "a\">", 20'000);
  const PageLinks page = read(html, {.max_time = std::chrono::milliseconds(5)});
  EXPECT_EQ(page.skipped, LinksSkipped::kTooSlow);
  EXPECT_THAT(page.links, IsEmpty());
}

// What the tree took does not count against the answer that steps in for it.
TEST(LinkExtractor, PagesThatNeedTooMuchMemoryForATreeKeepTheirLinks) {
  const std::string html =
      "<frameset></frameset>" + test::repeated("<a href=/x rel='\xFF'><p>text", 7000);
  const Url url = *Url::parse("http://site.example/");
  LinkOptions options{.max_memory = 2u << 20};
  const PageLinks page = extract_links(html, url, options);
  EXPECT_EQ(page.skipped, LinksSkipped::kNo);
  EXPECT_EQ(page.engine, LinkEngine::kScanner);
  ASSERT_EQ(page.links.size(), 7000u);
  EXPECT_EQ(page.links[0].url.href(), "http://site.example/x");
  EXPECT_EQ(page.links[0].rel, "\xEF\xBF\xBD");
  options.engine = LinkEngine::kGumbo;
  EXPECT_EQ(extract_links(html, url, options).skipped, LinksSkipped::kTooLarge);
}

TEST(LinkExtractor, APageThatIsTooLargeHasNothingOfTheOneBefore) {
  LinkExtractor extractor({.max_bytes = 100});
  PageLinks page;
  const Url url = *Url::parse("http://site.example/");
  extractor.extract_into("<frameset><frame src=x><title>t</title>", "text/html; charset=gbk", url,
                         page);
  EXPECT_EQ(page.engine, LinkEngine::kGumbo);
  extractor.extract_into(std::string(101, 'x'), "", url, page);
  EXPECT_EQ(page.skipped, LinksSkipped::kTooLarge);
  EXPECT_EQ(page.engine, LinkEngine::kScanner);
  EXPECT_THAT(page.links, IsEmpty());
  EXPECT_EQ(page.title, "");
}

// Links take the buffers of earlier pages, and nothing else of them.
TEST(LinkExtractor, PagesWithMoreAndFewerLinksTakeTurns) {
  LinkExtractor extractor({.texts = true});
  const Url url = *Url::parse("http://h/dir/");
  PageLinks page;
  for (const int links : {3, 700, 0, 40, 2000, 1, 600, 90}) {
    std::string html;
    for (int i = 0; i < links; ++i) {
      const std::string name = std::to_string(i) + std::string(links == 2000 ? 900 : i % 7, 'x');
      html += i % 2 == 0 ? "<a href=" + name + ">" + name + "</a>"
                         : "<area rel=nofollow href=" + name + ">";
    }
    extractor.extract_into(html, "", url, page);
    const PageLinks fresh = LinkExtractor({.texts = true}).extract(html, "", url);
    ASSERT_EQ(page.links.size(), static_cast<std::size_t>(links));
    for (std::size_t i = 0; i < page.links.size(); ++i) {
      const Link &reused = page.links[i], &made = fresh.links[i];
      ASSERT_EQ(reused.url, made.url);
      ASSERT_EQ(reused.url.path(), made.url.path());
      ASSERT_EQ(reused.kind, made.kind);
      ASSERT_EQ(reused.follow, made.follow);
      ASSERT_EQ(reused.element, made.element);
      ASSERT_EQ(reused.attribute, made.attribute);
      ASSERT_EQ(reused.rel, made.rel);
      ASSERT_EQ(reused.text, made.text);
    }
  }
}

TEST(LinkExtractor, ExtraordinaryPagesAreForgotten) {
  LinkExtractor extractor;
  PageLinks page;
  const Url url = *Url::parse("http://site.example/");
  extractor.extract_into(test::repeated("<a href=x>", 100'000), "", url, page);
  EXPECT_EQ(page.links.size(), 100'000u);
  extractor.extract_into("<a href=x>", "", url, page);
  EXPECT_EQ(page.links.size(), 1u);
  EXPECT_LT(page.links.capacity(), 100u);
}

TEST(LinkKinds, Combine) {
  LinkKinds kinds;
  EXPECT_FALSE(kinds.has(LinkKind::kForm));
  kinds = LinkKinds::pages() | LinkKinds{LinkKind::kForm};
  EXPECT_TRUE(kinds.has(LinkKind::kForm));
  EXPECT_TRUE(kinds.has(LinkKind::kNavigation));
  EXPECT_FALSE(kinds.has(LinkKind::kResource));
}

}  // namespace
}  // namespace trawl
