#include "crawler/parse/html/gumbo_page_reader.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "crawler/parse/html/page_references.h"

// <assert.h> declares it only where assertions are on.
extern "C" void __assert_fail(const char* assertion, const char* file, unsigned int line,
                              const char* function) noexcept;

#include "tests/support/repeated.h"
#include "tests/support/sanitized.h"

namespace trawl {
namespace {

using test::repeated;

using testing::ElementsAre;
using testing::IsEmpty;
using Verdict = GumboSandbox::Verdict;

// A page as Gumbo has it, its references written as "element@attribute=value".
struct Page {
  explicit Page(std::string_view html, LinkOptions given = {.kinds = LinkKinds::all()})
      : options(std::move(given)), reader(options) {
    ReferenceCollector collector(options, references);
    verdict = reader.read(html, collector);
    for (const Reference& reference : references.references) {
      found.push_back(fmt::format("{}@{}={}", to_string(reference.element),
                                  to_string(reference.attribute), reference.value));
    }
  }

  const LinkOptions options;
  GumboPageReader reader;
  PageReferences references;
  Verdict verdict;
  std::vector<std::string> found;
};

std::vector<std::string> found(std::string_view html) {
  return Page(html).found;
}

TEST(GumboPageReader, ElementsAndDecodedValues) {
  EXPECT_THAT(found("<p><A HREF='?a=1&amp;b&copy=2' href=no>x</A><img src=i srcset='j 1x, k 2x'>"
                    "<script src=s></script><foo style='background:url(&quot;t&quot;)'>"),
              ElementsAre("a@href=?a=1&b&copy=2", "img@src=i", "img@srcset=j", "img@srcset=k",
                          "script@src=s", "*@style=t"));
  EXPECT_THAT(found(""), IsEmpty());
  EXPECT_THAT(found("<a href=unfinished"), IsEmpty());
}

TEST(GumboPageReader, ValuesDoNotNeedThePage) {
  const LinkOptions options{.kinds = LinkKinds::all()};
  GumboPageReader reader(options);
  for (const std::string_view name : {"first", "second"}) {
    PageReferences references;
    ReferenceCollector collector(options, references);
    {
      const std::string html = fmt::format("<a href={}><style>a{{b:url({})}}</style>", name, name);
      ASSERT_EQ(reader.read(html, collector), Verdict::kParsed);
    }
    ASSERT_EQ(references.references.size(), 2u);
    EXPECT_EQ(references.references[0].value, name);
    EXPECT_EQ(references.references[1].value, name);
  }
}

TEST(GumboPageReader, TheOrderIsThatOfTheSource) {
  EXPECT_THAT(found("<table><tr><td><a href=1></a></td><a href=2></a></tr></table><a href=3>"),
              ElementsAre("a@href=1", "a@href=2", "a@href=3"));
  EXPECT_THAT(found("<div><table><img src=1><tr><td><img src=2></td><img src=3></table></div>"),
              ElementsAre("img@src=1", "img@src=2", "img@src=3"));
  EXPECT_THAT(found("<body><a href=1></a></body></html><a href=2></a><link href=3>"),
              ElementsAre("a@href=1", "a@href=2", "link@href=3"));
}

TEST(GumboPageReader, CopiesOfElementsAreNone) {
  EXPECT_THAT(found("<a href=1><p>x<p>y<div>z</a>z"), ElementsAre("a@href=1"));
  EXPECT_THAT(found("<b style='a:url(1)'><p>x</b>y<p>z"), ElementsAre("b@style=1"));
  EXPECT_THAT(found("<a href=1><table><a href=2><tr><td>x</table>"),
              ElementsAre("a@href=1", "a@href=2"));
}

TEST(GumboPageReader, ElementsMadeUpByTheParserAreNone) {
  EXPECT_THAT(found("<isindex action=x>"), IsEmpty());
  EXPECT_THAT(found("</p></br><td>"), IsEmpty());
}

// Gumbo gives the attributes of late <html> and <body> tags to the elements they have become.
TEST(GumboPageReader, AttributesOfLateBodyTags) {
  EXPECT_THAT(found("<a href=1></a><body style='a:url(2)'><a href=3></a><html style='a:url(4)'>"),
              ElementsAre("a@href=1", "body@style=2", "a@href=3", "html@style=4"));
  EXPECT_THAT(found("<body style='a:url(1)'><body style='a:url(2)'>"), ElementsAre("body@style=1"));
}

TEST(GumboPageReader, Templates) {
  EXPECT_THAT(found("<template><a href=no></a><svg><a href=no></svg></template><a href=1>"
                    "<table><template><tr><td><img src=no></template></table><img src=2>"),
              ElementsAre("a@href=1", "img@src=2"));
  EXPECT_THAT(found("<svg><template><a href=1></a></template></svg>"), ElementsAre("a@href=1"));
  Page page("<template><title>no</title><base href=no></template><title>yes</title>");
  EXPECT_EQ(page.references.title, "yes");
  EXPECT_EQ(page.references.base, std::nullopt);
}

TEST(GumboPageReader, Svg) {
  EXPECT_THAT(found("<svg><a xlink:href=1></a><A HREF=2></A><image XLINK:HREF=3 /><use href=4 />"
                    "<FEIMAGE href=5 /><script href=6></script><foreignObject><image src=7>"
                    "</foreignObject><img src=8>"),
              ElementsAre("a@xlink:href=1", "a@href=2", "image@xlink:href=3", "use@href=4",
                          "feimage@href=5", "script@href=6", "img@src=7", "img@src=8"))
      << "<img> ends the SVG";
  EXPECT_THAT(found("<a xlink:href=no></a><use href=no></use><math><a href=no></a></math>"),
              IsEmpty());
  EXPECT_THAT(found("<math style='a:url(1)'><mi style='b:url(2)'>"),
              ElementsAre("math@style=1", "mi@style=2"));
}

TEST(GumboPageReader, StyleSheets) {
  EXPECT_THAT(found("<style>@import '1';a{b:url(2)}/*&amp;*/ <a href=no></style>"
                    "<style type=x>a{b:url(no)}</style>"),
              ElementsAre("style@style=1", "style@style=2"));
  EXPECT_THAT(found("<svg><style>a{b:u<![CDATA[rl('1]]>')}<g>c{d:url(no)}</g>e{f:url(&#50;)}"),
              ElementsAre("style@style=1", "style@style=2"));
  EXPECT_THAT(found("<noscript><style>a{b:url(1)}</style></noscript>"),
              ElementsAre("style@style=1"));
}

TEST(GumboPageReader, Titles) {
  const auto title = [](std::string_view html) { return Page(html).references.title; };
  EXPECT_EQ(title("<title> A &amp;\n B<b> </title><title>no</title>"), "A & B<b>");
  EXPECT_EQ(title("<title></title><title>no</title>"), "");
  EXPECT_EQ(title("<svg><title>no</title></svg><title>yes</title>"), "yes");
  EXPECT_EQ(title("<table><tr><td><title>1</title></table><title>2</title>"), "1");
  EXPECT_EQ(title("<a href=x>"), "");
  EXPECT_TRUE(Page("<title></title>").references.has_title);
  EXPECT_FALSE(Page("<a href=x>").references.has_title);
}

TEST(GumboPageReader, WhatThePageSaysAboutItself) {
  const Page page(
      "<base href=b1><base href=b2><link rel=canonical href=c><meta name=robots content=nofollow>"
      "<meta http-equiv=refresh content='5;r'>",
      {.kinds = {}});
  EXPECT_EQ(page.references.base, "b1");
  EXPECT_EQ(page.references.canonical, "c");
  EXPECT_TRUE(page.references.robots.nofollow);
  ASSERT_TRUE(page.references.refresh);
  EXPECT_EQ(page.references.refresh->url, "r");
  EXPECT_THAT(page.found, IsEmpty());
}

TEST(GumboPageReader, UnclosedTagsOfOldPagesDoNotNest) {
  for (const std::string_view tag :
       {"<p>", "<li>", "<dt>", "<option>", "<br>", "<a name=x>", "<p><font size=1>", "<select>",
        "<table><tr><td>x</table>", "<form>", "<nobr>", "<svg><g/></svg>", "<p><b>bold<p>"}) {
    const Page page(repeated(tag, 10'000) + "<a href=/last>x</a>");
    EXPECT_EQ(page.verdict, Verdict::kParsed) << tag;
  }
}

TEST(GumboPageReader, DepthLimit) {
  for (const std::string_view tag : {"<div>", "<table><tr><td>", "<b>", "<ul><li>", "<blink>"}) {
    const auto tags = static_cast<std::size_t>(std::count(tag.begin(), tag.end(), '<'));
    const std::string deep = repeated(tag, 400 / tags) + "<a href=/x>";
    EXPECT_THAT(found(deep), ElementsAre("a@href=/x")) << tag;
    EXPECT_EQ(Page(deep, {.max_depth = 100}).verdict, Verdict::kTooDeep) << tag;
    EXPECT_EQ(Page(repeated(tag, 150'000)).verdict, Verdict::kTooDeep) << tag;
  }
}

// At the end of a page Gumbo frees the stack of open elements, here behind a large block of text.
TEST(GumboPageReader, LongTextAtTheEndIsNoDepth) {
  for (const std::string_view open :
       {"<script>", "<title>", "<style>", "<textarea>", "<p title=\""}) {
    const std::string page = "<a href=/x>" + std::string(open) + std::string(100'000, 'x');
    EXPECT_THAT(found(page), ElementsAre("a@href=/x")) << open;
  }
}

TEST(GumboPageReader, ReportsNothingOfAPageItGivesUp) {
  const Page deep("<title>t</title><base href=b><a href=x>" + repeated("<div>", 10'000));
  EXPECT_EQ(deep.verdict, Verdict::kTooDeep);
  EXPECT_THAT(deep.found, IsEmpty());
  EXPECT_FALSE(deep.references.has_title);
  EXPECT_EQ(deep.references.base, std::nullopt);
}

TEST(GumboPageReader, MemoryCountsTheElementsFound) {
  const std::string html = repeated("<br style=x>", 20'000);
  const Page page(html);
  ASSERT_EQ(page.verdict, Verdict::kParsed);
  GumboSandbox sandbox({.max_depth = 512,
                        .max_memory = page.options.max_memory,
                        .max_time = std::chrono::milliseconds(60'000)});
  ASSERT_EQ(sandbox.parse(html), Verdict::kParsed);
  EXPECT_GT(page.reader.memory_used(), sandbox.memory_used());
  // Enough for the tree, and for nothing else.
  const Page refused(html, {.kinds = LinkKinds::all(), .max_memory = sandbox.memory_used()});
  EXPECT_EQ(refused.verdict, Verdict::kTooMuchMemory);
  EXPECT_THAT(refused.found, IsEmpty());
}

TEST(GumboPageReader, LargePagesAreRefusedBeforeTheyTakeTime) {
  const LinkOptions quick{.max_time = std::chrono::milliseconds(20)};
  EXPECT_EQ(Page(std::string(10'000, 'x'), quick).verdict, Verdict::kParsed);
  EXPECT_EQ(Page(std::string(1'000'000, 'x'), quick).verdict, Verdict::kTooSlow);
  EXPECT_EQ(Page("x", {.max_time = std::chrono::milliseconds(0)}).verdict, Verdict::kTooSlow);
  // The larger the page, the less deep it may be.
  const std::string deep = repeated("<div>", 300);
  const LinkOptions slow{.max_time = std::chrono::milliseconds(60'000)};
  EXPECT_EQ(Page(deep, slow).verdict, Verdict::kParsed);
  EXPECT_EQ(Page(deep + std::string(4u << 20, ' '), slow).verdict, Verdict::kParsed);
  EXPECT_EQ(Page(deep + std::string(4u << 20, ' ')).verdict, Verdict::kTooDeep);
}

TEST(GumboPageReader, TimeLimit) {
  std::string page = "<a";
  for (int i = 0; i < 30'000; ++i)
    page += fmt::format(" {}", i);
  EXPECT_EQ(Page(page + ">", {.max_time = std::chrono::milliseconds(20)}).verdict,
            Verdict::kTooSlow);
}

using NamedPages = std::vector<std::pair<std::string_view, std::string>>;

// Gumbo alone takes minutes or gigabytes for many such pages, or overflows the stack.
void expect_within_a_second_and_256_megabytes(const NamedPages& pages) {
  const auto processor_time = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  for (const auto& [name, html] : pages) {
    const auto start = processor_time();
    const Page page(html, {.kinds = LinkKinds::all(), .max_bytes = 1u << 30});
    const std::chrono::duration<double> taken = processor_time() - start;
    EXPECT_LE(page.reader.memory_used(), 256u << 20) << name;
#if defined(NDEBUG) && !defined(TRAWL_SANITIZED)
    EXPECT_LT(taken.count(), 1.0) << name;
#else
    EXPECT_GE(taken.count(), 0.0) << name;
#endif
  }
}

TEST(GumboPageReader, HostilePagesTakeNoSecondAndNo256MegaBytes) {
  expect_within_a_second_and_256_megabytes({
      {"nested <div>", repeated("<div>", 100'000)},
      {"nested tables", repeated("<table>", 150'000)},
      {"nested tables with rows", repeated("<table><tr><td>", 150'000)},
      {"<option>", repeated("<option>", 1'000'000)},
      {"unclosed <a>", repeated("<a>", 20'000)},
      {"unclosed <a href>", repeated("<a href=x>", 20'000)},
      {"50 MB of '<'", std::string(50u << 20, '<')},
      {"5.5 MB of '<'", std::string(5'500'000, '<')},
      {"elements freed", repeated("<x>", 1'000'000) + "<frameset>"},
      {"misnested tables", repeated("<table><b>x", 20'000)},
      {"<svg><title>", repeated("<svg><title>", 100'000)},
      {"<template>", repeated("<template>", 100'000)},
  });
}

TEST(GumboPageReaderSlow, MoreHostilePagesTakeNoSecondAndNo256MegaBytes) {
  std::string fonts;
  for (int i = 0; i < 20'000; ++i)
    fonts += fmt::format("<p><font size={}>x", i);
  std::string attributes = "<body";
  for (int i = 0; i < 100'000; ++i)
    attributes += fmt::format(" {}", i);
  std::string bodies;
  for (int i = 0; i < 40'000; ++i)
    bodies += fmt::format("<body a{}=1>", i);
  expect_within_a_second_and_256_megabytes({
      {"<option> in <select>", "<select>" + repeated("<option>", 700'000)},
      {"'&'", std::string(5'500'000, '&')},
      {"CDATA", "<svg><![CDATA[" + std::string(5'500'000, ']')},
      {"<textarea>", "<textarea>" + std::string(5'500'000, '<')},
      {"NULs in SVG", "<svg>" + std::string(5'500'000, '\0')},
      {"text in depth, 1 MB", repeated("<div>", 500) + "<b>" + std::string(1u << 20, '<')},
      {"text in depth, 3 MB", repeated("<div>", 150) + "<b>" + std::string(3u << 20, '<')},
      {"text in tables", repeated("<table><tr><td>", 28) + "<b>" + std::string(4u << 20, '<')},
      {"slow tags, then text", bodies + std::string(4u << 20, '<')},
      {"attributes", attributes},
      {"attributes of <body>", bodies},
      {"misnested <b>", repeated("<b><p></b>", 400'000)},
      {"fonts", fonts},
      {"fonts, then text", fonts + std::string(4u << 20, '<')},
  });
}

TEST(GumboSandbox, NeverTakesMoreMemoryThanAllowed) {
  const std::string page = repeated("<a b=c d=e>text", 50'000);
  for (const std::size_t limit : {0u, 1u, 1000u, 100'000u, 10'000'000u}) {
    GumboSandbox sandbox(
        {.max_depth = 512, .max_memory = limit, .max_time = std::chrono::milliseconds(60'000)});
    EXPECT_EQ(sandbox.parse(page), Verdict::kTooMuchMemory);
    EXPECT_EQ(sandbox.document(), nullptr);
    EXPECT_LE(sandbox.memory_used(), limit);
  }
}

// Gumbo reads a byte beyond such a page. Here that byte is not mapped.
TEST(GumboSandbox, ReadsNothingBehindThePage) {
  const auto page_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, 2 * page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  char* end = static_cast<char*>(memory) + page_size;
  ASSERT_EQ(mprotect(end, page_size, PROT_NONE), 0);
  for (const std::string_view html : {"<a href='/x'><a href=\"x?a=2&amp", "<a b=&lt", "&not",
                                      "<!--", "<a", "</", "<!DOCTYPE", "<![CDATA[", "\xF0\x9F"}) {
    std::copy(html.begin(), html.end(), end - html.size());
    EXPECT_EQ(Page({end - html.size(), html.size()}).verdict, Verdict::kParsed) << html;
  }
  munmap(memory, 2 * page_size);
}

// An assertion of Gumbo's fails on such a page; the process must not end with it.
TEST(GumboSandbox, APageTheParserFailsOnIsBroken) {
  const std::string page = "<table><svg><select><title><select></table><a href=x>";
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Page(page).verdict, Verdict::kBroken);
    EXPECT_THAT(found("<a href=x>"), ElementsAre("a@href=x")) << "the next page is parsed as ever";
  }
}

TEST(GumboCageDeathTest, AFailedAssertionOutsideOfTheCageStillAborts) {
  EXPECT_THAT(found("<a href=x>"), ElementsAre("a@href=x"));
  EXPECT_DEATH(__assert_fail("one == two", "file.cc", 7, "f"),
               "file.cc:7: f: Assertion .one == two. failed");
}

// Every start tag of the soup has a number for its value: they come in order, none twice.
TEST(GumboPageReader, RandomTagSoupKeepsItsOrder) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  constexpr std::string_view kNumbered[] = {"<a href={}>",           "<img src={}>",
                                            "<b style='a:url({})'>", "<iframe src={}></iframe>",
                                            "<link href={}>",        "<div style='a:url({})'>",
                                            "<image href={} src={}>"};
  constexpr std::string_view kPieces[] = {
      "</a>",      "<b>",        "</b>",        "<p>",      "</p>",     "<table>",    "</table>",
      "<td>",      "<tr>",       "<svg>",       "</svg>",   "<math>",   "<select>",   "<option>",
      "text",      "<template>", "</template>", "<body>",   "</body>",  "<frameset>", "</html>",
      "<head>",    "</head>",    "<i>",         "</i>",     "<div>",    "</div>",     "<form>",
      "<button>",  "<desc>",     "<title>",     "</title>", "<h1>",     "<caption>",  "<col>",
      "</select>", "<noscript>", "<li>",        "<nobr>",   "<!--x-->", " ",          "</form>"};
  for (int round = 0; round < 3000; ++round) {
    std::string html;
    int number = 0;
    for (std::size_t length = random() % 60; length > 0; --length) {
      if (random() % 3 == 0) {
        const std::string text = std::to_string(number++);
        std::string tag(kNumbered[random() % std::size(kNumbered)]);
        for (auto at = tag.find("{}"); at != std::string::npos; at = tag.find("{}"))
          tag.replace(at, 2, text);
        html += tag;
      } else {
        html += kPieces[random() % std::size(kPieces)];
      }
    }
    const Page page(html);
    int last = -1;
    for (const Reference& reference : page.references.references) {
      const int value = std::stoi(std::string(reference.value));
      ASSERT_GT(value, last) << html;
      ASSERT_LT(value, number) << html;
      last = value;
    }
  }
}

}  // namespace
}  // namespace trawl
