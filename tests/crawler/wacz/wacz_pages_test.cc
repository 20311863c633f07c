#include "crawler/wacz/wacz_pages.h"

#include <string>

#include <gtest/gtest.h>

namespace trawl {
namespace {

std::string page(std::string_view line) {
  std::string out;
  const bool appended = append_wacz_page(line, out);
  EXPECT_EQ(appended, !out.empty());
  return out;
}

std::string page_of_index(std::string_view line) {
  std::string out;
  const bool appended = append_wacz_page_of_index(line, out);
  EXPECT_EQ(appended, !out.empty());
  return out;
}

TEST(WaczPages, PagesOfACrawl) {
  const std::string start = R"({"url":"http://h/","status":)";
  const std::string end = R"(,"fetched_at":"2026-11-21T20:31:09.123Z","warc":{"file":"f"})";
  const std::string html = R"(,"content_type":"text/html; charset=utf-8")";
  EXPECT_EQ(page(start + "200" + html + end + R"(,"title":"T","text":"a b","depth":3})"),
            R"({"url":"http://h/","ts":"2026-11-21T20:31:09.123Z","title":"T","text":"a b"})"
            "\n");
  EXPECT_EQ(page(start + "200" + html + end + R"(,"title":null})"),
            "{\"url\":\"http://h/\",\"ts\":\"2026-11-21T20:31:09.123Z\"}\n");
  EXPECT_EQ(page(start + "404" + html + end + "}"), "");
  EXPECT_EQ(page(start + "200" + R"(,"content_type":"text/css")" + end + "}"), "");
  EXPECT_EQ(page(start + "200" + R"(,"content_type":null)" + end + "}"), "");
  EXPECT_EQ(page(start + "200" + html + R"(,"fetched_at":"2026-11-21T20:31:09Z","warc":null})"),
            "");
}

TEST(WaczPages, PagesOfAnIndex) {
  EXPECT_EQ(page_of_index(
                R"(h)/ 20261121203109 {"url": "http://h/", "mime": "text/html", "status": "200"})"),
            "{\"url\":\"http://h/\",\"ts\":\"2026-11-21T20:31:09Z\"}\n");
  EXPECT_EQ(page_of_index(
                R"(h)/ 20261121203109 {"url": "http://h/", "mime": "text/css", "status": "200"})"),
            "");
  EXPECT_EQ(page_of_index(
                R"(h)/ 20261121203109 {"url": "http://h/", "mime": "text/html", "status": "404"})"),
            "");
}

TEST(WaczPages, DamagedLinesAreLeftOut) {
  for (const std::string_view line :
       {"", "{", "[]", "1", "{}", R"({"url":1})", R"({"url":"u","status":"200"})",
        R"({"url":"u","status":200,"fetched_at":1,"warc":[]})", "h)/ 2026 {}", "h)/ {", " {",
        R"(h)/ 20261121203109 {"status": 200})", R"(h)/ 20261121203109 [])"}) {
    EXPECT_EQ(page(line), "") << line;
    EXPECT_EQ(page_of_index(line), "") << line;
  }
}

}  // namespace
}  // namespace trawl
