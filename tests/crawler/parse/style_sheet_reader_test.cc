#include "crawler/parse/css/style_sheet_reader.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crawler/parse/css/style_sheet_encoding.h"
#include "tests/support/repeated.h"

namespace trawl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Url kBase = *Url::parse("http://h.example/css/s.css?v=1");

PageLinks read(std::string_view css, std::string_view content_type = "text/css",
               const LinkOptions& options = {}) {
  PageLinks page;
  StyleSheetReader(options).read_into(css, content_type, kBase, page);
  return page;
}

std::vector<std::string> lines_of(const PageLinks& page) {
  std::vector<std::string> lines;
  for (const Link& link : page.links) {
    EXPECT_EQ(link.kind, LinkKind::kResource);
    EXPECT_TRUE(link.follow);
    lines.push_back(fmt::format("{}@{} {}", link.element, link.attribute, link.url.href()));
  }
  return lines;
}

TEST(StyleSheetReader, LinksAreRelativeToTheSheet) {
  const PageLinks page = read(
      "@import 'base.css';@font-face{src:url(/f.woff2)}a{background:url(../i/a.png),url(data:,x),"
      "url(//o.example/b.png),url(http://[),url(../i/a.png)}");
  EXPECT_THAT(
      lines_of(page),
      ElementsAre("css@import http://h.example/css/base.css", "css@font http://h.example/f.woff2",
                  "css@image http://h.example/i/a.png", "css@image http://o.example/b.png",
                  "css@image http://h.example/i/a.png"));
  EXPECT_EQ(page.invalid, 1u);
  EXPECT_EQ(page.other_scheme, 1u);
  EXPECT_EQ(page.encoding, "UTF-8");
  EXPECT_THAT(read("a{b:url(c)}", "", {.kinds = LinkKinds::pages()}).links, testing::SizeIs(1));
}

TEST(StyleSheetReader, DroppedReferencesAreListedOnRequest) {
  const PageLinks page = read("a{b:url(data:,x)url('http://[')}", "", {.dropped = true});
  ASSERT_EQ(page.dropped.size(), 2u);
  EXPECT_EQ(page.dropped[0].text, "data:,x");
  EXPECT_TRUE(page.dropped[0].other_scheme);
  EXPECT_EQ(page.dropped[1].text, "http://[");
}

TEST(StyleSheetReader, Encodings) {
  const auto name = [](std::string_view bytes, std::string_view content_type = "text/css") {
    return std::string(style_sheet_encoding(bytes, content_type).name());
  };
  EXPECT_EQ(name("a{}"), "UTF-8");
  EXPECT_EQ(name("a{}", "text/css; charset=latin1"), "windows-1252");
  EXPECT_EQ(name("@charset \"shift_jis\";a{}"), "Shift_JIS");
  EXPECT_EQ(name("@charset \"shift_jis\";a{}", "text/css;charset=utf-8"), "UTF-8");
  EXPECT_EQ(name("\xEF\xBB\xBF@charset \"shift_jis\";", "text/css;charset=latin1"), "UTF-8");
  EXPECT_EQ(name("@charset \"utf-16le\";a{}"), "UTF-8") << "it was read as ASCII";
  for (const std::string_view other :
       {"@charset 'gbk';", "@CHARSET \"gbk\";", " @charset \"gbk\";", "@charset \"gbk\"",
        "@charset  \"gbk\";", "@charset \"gbk\" ;", "@charset \"nonsense\";", "@charset \""})
    EXPECT_EQ(name(other), "UTF-8") << other;
  EXPECT_EQ(name("@charset \"" + test::repeated(" ", 2000) + "gbk\";"), "UTF-8");
  EXPECT_EQ(style_sheet_encoding("a{}", "", PageEncoding::windows_1252()).name(), "windows-1252");
}

TEST(StyleSheetReader, UrlsInEncodings) {
  EXPECT_THAT(lines_of(read("@charset \"windows-1252\";a{b:url(/\xE9?\xE9)}")),
              ElementsAre("css@image http://h.example/%C3%A9?%E9"));
  EXPECT_THAT(lines_of(read("a{b:url(/\xC3\xA9?\xC3\xA9)}")),
              ElementsAre("css@image http://h.example/%C3%A9?%C3%A9"));
  EXPECT_THAT(lines_of(read(std::string_view("\xFF\xFE"
                                             "a\0{\0b\0:\0u\0r\0l\0(\0c\0)\0}\0",
                                             22))),
              ElementsAre("css@image http://h.example/css/c"));
  EXPECT_THAT(lines_of(read("a{b:url('/\xEF\\\n\xBF\xBD\xFF')}")),
              ElementsAre("css@image http://h.example/%EF%BF%BD%EF%BF%BD%EF%BF%BD%EF%BF%BD"));
}

TEST(StyleSheetReader, LimitsLeaveNoLinks) {
  const std::string many = test::repeated("@import 'a';", 1'000'000);
  const PageLinks imports =
      read(many, "",
           {.max_bytes = 64u << 20, .max_memory = 1u << 30, .max_time = std::chrono::hours(1)});
  EXPECT_EQ(imports.links.size(), 1'000'000u);
  const auto skipped = [&](const LinkOptions& options) {
    const PageLinks page = read(many, "text/css", options);
    EXPECT_THAT(page.links, IsEmpty());
    return page.skipped;
  };
  EXPECT_EQ(skipped({.max_bytes = 1000}), LinksSkipped::kTooLarge);
  EXPECT_EQ(skipped({.max_memory = 1u << 20}), LinksSkipped::kTooLarge);
  EXPECT_EQ(skipped({.max_time = std::chrono::milliseconds(0)}), LinksSkipped::kTooSlow);
}

// 100 MB of one token: read once, and nothing of it is kept.
TEST(StyleSheetReader, TokensOf100Megabytes) {
  constexpr std::size_t kBytes = 100'000'000;
  const LinkOptions options{.max_bytes = 1u << 30};
  for (const std::string_view begin : {"a{b:url(", "a{b:url('", "/*", "x"}) {
    const std::size_t bytes = begin.ends_with('(') ? kBytes : kBytes / 10;
    const PageLinks page = read(std::string(begin) + std::string(bytes, 'a'), "", options);
    EXPECT_LE(page.links.size() + page.invalid, 1u) << begin;
  }
  for (const char byte : {'\\', '(', ')', '@', '\'', '/', '*', '{', '<', '-', '\0', '\xFF'}) {
    const PageLinks page = read(std::string(kBytes / 50, byte), "", options);
    EXPECT_EQ(page.links.size(), 0u) << byte;
  }
}

TEST(StyleSheetReader, ReadsOneSheetAfterTheOther) {
  StyleSheetReader reader(LinkOptions{});
  PageLinks page;
  reader.read_into("a{b:url(\\63)url(d)}", "", kBase, page);
  EXPECT_EQ(page.links.size(), 2u);
  reader.read_into("a{b:url(\\65)}", "", kBase, page);
  EXPECT_THAT(lines_of(page), ElementsAre("css@image http://h.example/css/e"));
}

}  // namespace
}  // namespace trawl
