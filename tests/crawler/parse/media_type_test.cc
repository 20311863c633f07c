#include "crawler/parse/headers/media_type.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using namespace std::string_view_literals;

TEST(MediaType, OfSeveralTheLastThatIsOneCounts) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", ""},
      {"text/html; charset=utf-8", "text/html; charset=utf-8"},
      {"html", "html"},
      {"text/html,text/plain", "text/plain"},
      {"text/html, */*", "text/html"},
      {"*/*, text/html", "text/html"},
      {"text/html; charset=gbk, text/html", "text/html; charset=gbk"},
      {"text/html; charset=gbk, TEXT/HTML; a=b", "TEXT/HTML; a=b; charset=gbk"},
      {"text/html; charset=gbk, text/plain, text/html", "text/html"},
      {"text/html; charset=gbk, text/html; charset=utf-8", "text/html; charset=utf-8"},
      {"text/html; x=\"a,b\\\",c\", html", "text/html; x=\"a,b\\\",c\""},
      {"text/html;", "text/html;"},
      {",,", ",,"},
      {"html, \"text/html\"", "html, \"text/html\""},
      {"text/html, \"", "text/html"},
      {"text/html, \"\\", "text/html"},
  };
  for (const auto& [header, counting] : cases)
    EXPECT_EQ(counting_content_type(header), counting) << header;
}

TEST(MediaType, WhatIsNoneLeavesItToTheContent) {
  for (const char* unknown :
       {"", " ", "html", "*/*", "*/*; q=1", "\"text/html\"", "'text/html'x y/z", "text/", "/html",
        "text", "text html", "text/html text/plain", "unknown/unknown", "Application/Unknown",
        "text/h\xE9", ";charset=utf-8", "text/html/", "(null)"}) {
    EXPECT_TRUE(is_unknown_media_type(unknown)) << unknown;
  }
  for (const char* known : {"text/html", " text/html ;x", "image/svg+xml", "a/b", "TEXT/HTML;",
                            "text/*", "application/octet-stream"}) {
    EXPECT_FALSE(is_unknown_media_type(known)) << known;
  }
}

TEST(MediaType, HtmlIsToldByHowItBegins) {
  for (const std::string_view html : {"<!doctype html>"sv,
                                      " \t\r\n\f<!DOCTYPE HTML PUBLIC \"x\">"sv,
                                      "<html>"sv,
                                      "<HTML lang=en>"sv,
                                      "<!--"sv,
                                      "<!-- note --><html>"sv,
                                      "<p>text"sv,
                                      "<a href=x>"sv,
                                      "<a\nhref=x>"sv,
                                      "<body>"sv,
                                      "<b>bold"sv,
                                      "<br>"sv,
                                      "<h1>"sv,
                                      "<script>"sv,
                                      "<title>x"sv,
                                      "<table >"sv,
                                      "<meta charset=x>"sv,
                                      "\xEF\xBB\xBF<html>"sv,
                                      "<?xml version='1.0'?>\n<!DOCTYPE html PUBLIC>"sv,
                                      "<?xml version='1.0'?><html xmlns='x'>"sv}) {
    EXPECT_TRUE(looks_like_html(html)) << html;
  }
  for (const std::string_view other :
       {""sv, "<"sv, "<html"sv, "<htmlx>"sv, "text <html>"sv, "<article-list>"sv, "<rss>"sv,
        "<pa>"sv, "<?xml version='1.0'?><rss>"sv, "<?xml"sv, "<?xml <html>"sv, "%PDF-1.4"sv,
        "{\"a\":\"<html>\"}"sv, "\0<html>"sv, "<!doctype"sv, "<!doctype htmlx>"sv, "GIF89a"sv}) {
    EXPECT_FALSE(looks_like_html(other)) << other;
  }
}

}  // namespace
}  // namespace trawl
