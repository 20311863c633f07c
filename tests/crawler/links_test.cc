#include "trawl/links.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crawler/parse/gumbo_cage.h"

// <assert.h> declares it only where assertions are on.
extern "C" void __assert_fail(const char* assertion, const char* file, unsigned int line,
                              const char* function) noexcept;

namespace trawl {
namespace {

Url base_url() {
  return *Url::parse("http://site.example/dir/page.html?q");
}

PageLinks links_of(std::string_view html, const LinkOptions& options = {}) {
  return extract_links(html, base_url(), options);
}

std::vector<std::string> hrefs(std::string_view html) {
  std::vector<std::string> result;
  for (const Link& link : links_of(html).links)
    result.emplace_back(link.url.href());
  return result;
}

using Hrefs = std::vector<std::string>;

std::string repeat(std::string_view text, std::size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (; times > 0; --times)
    result += text;
  return result;
}

TEST(Links, KindsInDocumentOrder) {
  const PageLinks page = links_of(
      "<!doctype html><head><link rel=stylesheet href=style.css><title>t</title></head>"
      "<body><p><a href='one'>1</a><iframe src=/frame></iframe>"
      "<map><area href=\"../two\"></map><A HREF=one>again</A>");
  const std::vector<std::pair<std::string, LinkKind>> expected = {
      {"http://site.example/dir/style.css", LinkKind::kResource},
      {"http://site.example/dir/one", LinkKind::kNavigation},
      {"http://site.example/frame", LinkKind::kDocument},
      {"http://site.example/two", LinkKind::kNavigation},
      {"http://site.example/dir/one", LinkKind::kNavigation},
  };
  ASSERT_EQ(page.links.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(page.links[i].url.href(), expected[i].first);
    EXPECT_EQ(page.links[i].kind, expected[i].second) << i;
  }
  EXPECT_EQ(page.skipped, LinksSkipped::kNo);
  EXPECT_FALSE(page.base);
}

TEST(Links, Framesets) {
  const PageLinks page = links_of(
      "<html><frameset cols=a,b><frame src=left.html><frame src='right.html'></frameset></html>");
  ASSERT_EQ(page.links.size(), 2u);
  EXPECT_EQ(page.links[1].url.href(), "http://site.example/dir/right.html");
  EXPECT_EQ(page.links[1].kind, LinkKind::kDocument);
}

TEST(Links, CountsWhatIsNoLink) {
  const PageLinks page = links_of(
      "<a href='mailto:a@b.example'></a><a href='javascript:void(0)'></a><a href='data:,x'></a>"
      "<iframe src='about:blank'></iframe><a href='http://'></a><a href='https://a b/'></a>"
      "<a name=x></a><area><iframe></iframe><link rel=x><img src=image.png><a href=ok></a>");
  EXPECT_EQ(page.links.size(), 1u);
  EXPECT_EQ(page.other_scheme, 4u);
  EXPECT_EQ(page.invalid, 2u);
}

TEST(Links, EmptyReferences) {
  const PageLinks page = links_of("<a href=''></a><iframe src=''></iframe><link href=''><a href>");
  ASSERT_EQ(page.links.size(), 2u);
  EXPECT_EQ(page.links[0].url.href(), "http://site.example/dir/page.html?q");
  EXPECT_EQ(page.invalid + page.other_scheme, 0u);
}

TEST(Links, ValuesAreDecodedAndStripped) {
  EXPECT_EQ(hrefs("<a href=' \n x?a=1&amp;b=2&copy=3 \t'>"),
            Hrefs{"http://site.example/dir/x?a=1&b=2&copy=3"});
  EXPECT_EQ(hrefs("<a href='&#x2f;y&sol;z'>"), Hrefs{"http://site.example/y/z"});
  EXPECT_EQ(hrefs("<a href=a href=b>"), Hrefs{"http://site.example/dir/a"});
}

TEST(Links, FirstBaseHoldsForTheWholeDocument) {
  const PageLinks page = links_of(
      "<a href=before></a><base target=x><base href='//cdn.example/x/'><base href='/not/'>"
      "<a href=after></a>");
  ASSERT_EQ(page.links.size(), 2u);
  EXPECT_EQ(page.links[0].url.href(), "http://cdn.example/x/before");
  EXPECT_EQ(page.links[1].url.href(), "http://cdn.example/x/after");
  ASSERT_TRUE(page.base);
  EXPECT_EQ(page.base->href(), "http://cdn.example/x/");
}

TEST(Links, UnusableBaseIsIgnored) {
  for (const std::string_view bad : {"javascript:x", "data:,x", "http://", "mailto:x"}) {
    const PageLinks page =
        links_of(fmt::format("<base href='{}'><base href='/second/'><a href=x></a>", bad));
    ASSERT_EQ(page.links.size(), 1u) << bad;
    EXPECT_EQ(page.links[0].url.href(), "http://site.example/dir/x");
    EXPECT_FALSE(page.base);
  }
}

TEST(Links, NoscriptCountsAndTemplateDoesNot) {
  EXPECT_EQ(hrefs("<body><noscript><a href=/n></a></noscript><template><a href=/t></a>"
                  "<base href=/x/></template><a href=/a></a>"),
            (Hrefs{"http://site.example/n", "http://site.example/a"}));
  EXPECT_EQ(hrefs("<head><noscript><link href=/n></noscript></head>"),
            Hrefs{"http://site.example/n"});
}

TEST(Links, TextIsNoMarkup) {
  EXPECT_EQ(hrefs("<!-- <a href=/c> --><script>'<a href=/s>'</script><style><a href=/y></style>"
                  "<textarea><a href=/t></textarea><title><a href=/i></title>"
                  "<iframe src=/f><a href=/in></iframe><a title='<a href=/q>' href=/a>"),
            (Hrefs{"http://site.example/f", "http://site.example/a"}));
}

TEST(Links, Svg) {
  EXPECT_EQ(hrefs("<svg><a href=/one /><a xlink:href=/two /><a xlink:href=/no href=/three></a>"
                  "<template><a href=/four></a></template><link href=/no></svg>"),
            (Hrefs{"http://site.example/one", "http://site.example/two",
                   "http://site.example/three", "http://site.example/four"}));
  EXPECT_EQ(hrefs("<a xlink:href=/no>"), Hrefs{});
}

TEST(Links, MisnestedPagesKeepTheirLinks) {
  EXPECT_EQ(hrefs("<table><a href=/1><tr><td><a href=/2>x</table><b><p><a href=/3></b></a>"),
            (Hrefs{"http://site.example/1", "http://site.example/2", "http://site.example/3"}));
  EXPECT_EQ(hrefs("\xEF\xBB\xBF<a href=/1"), Hrefs{});
  EXPECT_EQ(hrefs("\xEF\xBB\xBF<a href=/1>"), Hrefs{"http://site.example/1"});
  EXPECT_EQ(hrefs(""), Hrefs{});
}

TEST(Links, BytesThatAreNoUtf8) {
  EXPECT_EQ(hrefs(std::string_view("<a href='/\xFF\0x'>", 16)),
            Hrefs{"http://site.example/%EF%BF%BD%EF%BF%BDx"});
}

TEST(Links, UnclosedTagsOfOldPagesDoNotNest) {
  for (const std::string_view tag : {"<p>",
                                     "<li>",
                                     "<dt>",
                                     "<dd>",
                                     "<option>",
                                     "<br>",
                                     "<img>",
                                     "<hr>",
                                     "<input>",
                                     "<a name=x>",
                                     "<a href=y>",
                                     "<p><font size=1>",
                                     "<select>",
                                     "<table><tr><td>x</table>",
                                     "<form>",
                                     "<nobr>",
                                     "<button>",
                                     "<h1>",
                                     "<svg><g/></svg>",
                                     "<p><b>bold<p>"}) {
    const PageLinks page = links_of(repeat(tag, 10'000) + "<a href=/last>x</a>");
    EXPECT_EQ(page.skipped, LinksSkipped::kNo) << tag;
  }
  for (const std::string_view row : {"<tr>", "<tr><td>", "<td>", "<tbody>", "<tr><th>x<td>y"}) {
    EXPECT_EQ(links_of("<table>" + repeat(row, 10'000)).skipped, LinksSkipped::kNo) << row;
  }
}

TEST(Links, DepthLimit) {
  for (const std::string_view tag : {"<div>", "<table><tr><td>", "<b>", "<ul><li>", "<blink>"}) {
    const auto tags = static_cast<std::size_t>(std::count(tag.begin(), tag.end(), '<'));
    const std::string deep = repeat(tag, 400 / tags) + "<a href=/x>";
    EXPECT_EQ(links_of(deep).skipped, LinksSkipped::kNo) << tag;
    EXPECT_EQ(links_of(deep).links.size(), 1u) << tag;
    EXPECT_EQ(links_of(deep, {.max_depth = 100}).skipped, LinksSkipped::kTooDeep) << tag;
    EXPECT_EQ(links_of(repeat(tag, 150'000)).skipped, LinksSkipped::kTooDeep) << tag;
  }
}

TEST(Links, SizeLimits) {
  const std::string page = "<a href=/x>" + repeat("<br>", 25'000);
  EXPECT_EQ(links_of(page, {.max_bytes = page.size()}).links.size(), 1u);
  EXPECT_EQ(links_of(page, {.max_bytes = page.size() - 1}).skipped, LinksSkipped::kTooLarge);
  EXPECT_EQ(links_of(page, {.max_memory = 1u << 20}).skipped, LinksSkipped::kTooLarge);
  EXPECT_EQ(links_of(page, {.max_memory = 0}).skipped, LinksSkipped::kTooLarge);
}

TEST(Links, LongBaseDoesNotMultiply) {
  const std::string page =
      "<base href=/" + std::string(100'000, 'b') + "/>" + repeat("<a href=x>", 10'000);
  const PageLinks links = links_of(page);
  EXPECT_EQ(links.skipped, LinksSkipped::kTooLarge);
  EXPECT_TRUE(links.links.empty());
}

TEST(Links, TimeLimit) {
  std::string page = "<a";
  for (int i = 0; i < 200'000; ++i)
    page += fmt::format(" {}", i);
  const PageLinks links = links_of(page + ">", {.max_time = std::chrono::milliseconds(20)});
  EXPECT_EQ(links.skipped, LinksSkipped::kTooSlow);
}

// Each of these takes Gumbo by itself minutes, gigabytes or a stack overflow. What is asked here is
// that they come back; the limits above are what makes them.
TEST(Links, HostilePagesComeBack) {
  const std::string distinct = [] {
    std::string fonts;
    for (int i = 0; i < 20'000; ++i)
      fonts += fmt::format("<p><font size={}>x", i);
    return fonts;
  }();
  const std::string text(1u << 20, 'x');
  const std::string pages[] = {
      repeat("<x>", 1'000'000) + "<frameset>",
      repeat("<div>", 100'000) + repeat("</div>", 100'000),
      repeat("<a>", 20'000),
      repeat("<table><b>x", 20'000),
      repeat("<b><p></b>", 400'000),
      repeat("<div>", 500) + "<b>" + text,
      repeat("<svg><title>", 100'000),
      repeat("<template>", 100'000),
      repeat("<a ", 1'000'000),
      std::string(4u << 20, '<'),
      distinct,
  };
  for (const std::string& page : pages) {
    const PageLinks links = links_of(page);
    EXPECT_LE(links.links.size(), page.size()) << page.substr(0, 40);
  }
}

TEST(GumboCage, NeverTakesMoreMemoryThanAllowed) {
  const std::string page = repeat("<a b=c d=e>text", 50'000);
  for (const std::size_t limit : {0u, 1u, 1000u, 100'000u, 10'000'000u}) {
    GumboCage cage(
        {.max_depth = 512, .max_memory = limit, .max_time = std::chrono::milliseconds(60'000)});
    EXPECT_EQ(cage.parse(page), GumboCage::Verdict::kTooMuchMemory);
    EXPECT_EQ(cage.document(), nullptr);
    EXPECT_LE(cage.memory_used(), limit);
  }
}

// Gumbo reads a byte behind such a page. Here that byte is no memory.
TEST(GumboCage, ReadsNothingBehindThePage) {
  const auto page_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  char* end = static_cast<char*>(memory) + page_size;
  ASSERT_EQ(mprotect(end, page_size, PROT_NONE), 0);
  for (const std::string_view html : {"<a href='/x'><a href=\"x?a=2&amp", "<a b=&lt", "&not",
                                      "<!--", "<a", "</", "<!DOCTYPE", "<![CDATA[", "\xF0\x9F"}) {
    std::copy(html.begin(), html.end(), end - html.size());
    const PageLinks page = links_of({end - html.size(), html.size()});
    EXPECT_EQ(page.skipped, LinksSkipped::kNo) << html;
  }
  munmap(memory, 2 * page_size);
}

// An assertion of Gumbo's fails on such a page; the process must not end with it.
TEST(Links, APageTheParserFailsOnIsSkipped) {
  const std::string page = "<table><svg><select><title><select></table><a href=x>";
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(links_of(page).skipped, LinksSkipped::kUnparsable);
    EXPECT_EQ(links_of("<a href=x>").links.size(), 1u) << "the next page is parsed as ever";
  }
}

TEST(GumboCageDeathTest, AFailedAssertionOutsideOfTheCageStillAborts) {
  EXPECT_EQ(links_of("<a href=x>").links.size(), 1u);
  EXPECT_DEATH(__assert_fail("one == two", "file.cc", 7, "f"),
               "file.cc:7: f: Assertion .one == two. failed");
}

TEST(Links, RandomTagSoupGivesOnlyUrls) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  constexpr std::string_view kPieces[] = {"<a href=x>",
                                          "</a>",
                                          "<b>",
                                          "</b>",
                                          "<p>",
                                          "</p>",
                                          "<table>",
                                          "</table>",
                                          "<td>",
                                          "<tr>",
                                          "<svg>",
                                          "</svg>",
                                          "<math>",
                                          "<select>",
                                          "<option>",
                                          "<template>",
                                          "</template>",
                                          "<frameset>",
                                          "<frame src=y>",
                                          "<body>",
                                          "</body>",
                                          "<html>",
                                          "</html>",
                                          "<head>",
                                          "</head>",
                                          "<script>",
                                          "</script>",
                                          "<!--",
                                          "-->",
                                          "text",
                                          " ",
                                          "<base href=/b/>",
                                          "<i>",
                                          "</i>",
                                          "<div>",
                                          "</div>",
                                          "<form>",
                                          "<button>",
                                          "<desc>",
                                          "<title>",
                                          "</title>",
                                          "<caption>",
                                          "<col>",
                                          "<noscript>",
                                          "<iframe src=z>",
                                          "<h1>",
                                          "<li>",
                                          "<link href=l>",
                                          "<nobr>"};
  for (int round = 0; round < 3000; ++round) {
    std::string page;
    for (std::size_t length = random() % 60; length > 0; --length) {
      page += kPieces[random() % std::size(kPieces)];
    }
    for (const Link& link : links_of(page).links) {
      ASSERT_TRUE(Url::parse(link.url.href())) << page;
    }
  }
}

}  // namespace
}  // namespace trawl
