// The lines of pages.jsonl, links.jsonl and skipped.jsonl, and the JSON writer.
#include <chrono>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crawler/output/json_line.h"
#include "crawler/output/page_line.h"
#include "tests/crawler/output_fixture.h"

namespace trawl {
namespace {

using test::at;
using test::Fetched;
using test::fetched;
using ::testing::HasSubstr;

std::string line_of(const Fetched& page) {
  std::string line;
  append_page_line(line, *page.output);
  return line;
}

std::string json_of(std::string_view bytes) {
  std::string out;
  append_json_string(out, bytes);
  return out;
}

TEST(JsonString, EscapesWhatMustBe) {
  EXPECT_EQ(json_of(""), R"("")");
  EXPECT_EQ(json_of("plain"), R"("plain")");
  EXPECT_EQ(json_of("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(json_of("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(json_of(std::string("\0\x01\x1f\x7f", 4)), "\"\\u0000\\u0001\\u001f\\u007f\"");
  EXPECT_EQ(json_of("caf\xc3\xa9 \xf0\x9f\x98\x80"), "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"");
}

TEST(JsonString, WhatIsNotUtf8IsReplaced) {
  const std::string r = "\xef\xbf\xbd";
  const std::pair<std::string, std::string> cases[] = {
      {"text/\xff\xfehtml", "text/" + r + r + "html"},
      {"\xc3", r},                               // a character cut off
      {"\xc3(", r + "("},                        // and something behind it
      {"\xed\xa0\x80", r + r + r},               // a surrogate
      {"\xc0\xaf", r + r},                       // an overlong '/'
      {"\xe0\x80\xaf", r + r + r},               // another
      {"\xf4\x90\x80\x80", r + r + r + r},       // beyond the last code point
      {"\xf0\x9f\x98", r},                       // three of four bytes
      {"\xf0\x9f\x98x", r + "x"},                // the same before another character
      {"\xe2\x82\xc3\xa9", r + "\xc3\xa9"},      // before another that is whole
      {"\x80\xbf", r + r},                       // what continues nothing
      {"\xf5\xf8\xfe", r + r + r},               // no such bytes
      {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},  // the last code point
      {"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"},  // around the surrogates
  };
  for (const auto& [bytes, expected] : cases)
    EXPECT_EQ(json_of(bytes), '"' + expected + '"') << ::testing::PrintToString(bytes);
}

// Each byte at each place of a word, so that none slips through eight at a time.
TEST(JsonString, EveryByteAtEveryPlaceReadsBack) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t length = 1; length < 20; ++length) {
      for (std::size_t place = 0; place < length; ++place) {
        std::string text(length, 'x');
        text[place] = static_cast<char>(byte);
        const auto parsed = nlohmann::json::parse(json_of(text), nullptr, false);
        ASSERT_FALSE(parsed.is_discarded()) << byte << " at " << place << " of " << length;
        if (byte < 0x80) {
          ASSERT_EQ(parsed.get<std::string>(), text);
        } else {
          text.replace(place, 1, "\xef\xbf\xbd");
          ASSERT_EQ(parsed.get<std::string>(), text);
        }
      }
    }
  }
}

// Somebody will look at the file on a terminal.
TEST(JsonString, WhatATerminalMayObeyIsEscaped) {
  EXPECT_EQ(json_of("a\x7f"
                    "b\u009b"
                    "c\u202e"
                    "d\u2028\u200f\ufffb\U000E0041"),
            "\"a\\u007fb\\u009bc\\u202ed\\u2028\\u200f\\ufffb\\udb40\\udc41\"");
  for (const char* text : {"\u00e9", "\u20ac", "\u0627", "\ufffd", "\U0001F600", "12345678\u00a0"})
    EXPECT_EQ(json_of(text), '"' + std::string(text) + '"');
}

TEST(JsonString, AnyBytesAreAsALibraryWritesThem) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string pieces[] = {"\"",
                                "\\",
                                "\n",
                                "a",
                                "bcdefgh",
                                "\xc3\xa9",
                                "\xe2\x82\xac",
                                "\xf0\x9f\x98\x80",
                                std::string(1, '\0')};
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const std::size_t count = random() % 12;
    for (std::size_t k = 0; k < count; ++k)
      text += pieces[random() % std::size(pieces)];
    ASSERT_EQ(json_of(text), nlohmann::json(text).dump());
    // Damaged, it is still one that a strict parser takes.
    if (!text.empty()) text[random() % text.size()] = static_cast<char>(random());
    ASSERT_FALSE(nlohmann::json::parse(json_of(text), nullptr, false).is_discarded())
        << ::testing::PrintToString(text);
  }
}

TEST(PageLine, HasAllKeysInTheirOrder) {
  EXPECT_EQ(line_of(fetched("http://site.example/a?b=1&c=\"d\"")),
            R"({"url":"http://site.example/a?b=1&c=\"d\"","status":200,"error":null,)"
            R"("redirect":null,"content_type":"text/html; charset=utf-8","bytes":1234,"depth":3,)"
            R"("parent":"http://site.example/","links":17,"new_links":5,)"
            R"("fetched_at":"2023-11-14T22:13:20.042Z","elapsed_ms":56,"digest":null,)"
            R"("duplicate_of":null,"reason":null,"warc":null,"canonical":null,"robots":null,)"
            R"("etag":null,"last_modified":null,"attempts":1,"recrawl":false,"truncated":null,)"
            R"("title":null,"language":null,"file":null})"
            "\n");
}

TEST(PageLine, HasAllValues) {
  Fetched all = fetched("http://site.example/copy");
  all.lease.attempts = 2;
  all.lease.recrawl = true;
  PageOutput& output = *all.output;
  output.page.digest = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
  output.page.reason = "timeout";
  output.page.truncated = "time";
  output.page.canonical = "http://site.example/first";
  output.page.noindex = output.page.nofollow = output.page.noarchive = true;
  output.page.etag = "W/\"1\"";
  output.page.last_modified = "Tue, 14 Nov 2023 22:13:20 GMT";
  output.written.duplicate_of = "http://site.example/first";
  output.written.place = WarcLocation{"trawl-1.warc.gz", 5'000'000'000, 1'234};
  EXPECT_THAT(
      line_of(all),
      HasSubstr(R"("elapsed_ms":56,"digest":"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",)"
                R"("duplicate_of":"http://site.example/first","reason":"timeout",)"
                R"("warc":{"file":"trawl-1.warc.gz","offset":5000000000,"length":1234},)"
                R"("canonical":"http://site.example/first",)"
                R"("robots":["noindex","nofollow","noarchive"],"etag":"W/\"1\"",)"
                R"("last_modified":"Tue, 14 Nov 2023 22:13:20 GMT","attempts":3,"recrawl":true,)"
                R"("truncated":"time","title":null,"language":null,"file":null})"
                "\n"));
  output.page.noindex = output.page.nofollow = false;
  EXPECT_THAT(line_of(all), HasSubstr(R"("robots":["noarchive"],)"));
}

TEST(PageLine, OfAFailedFetchAndOfARedirect) {
  Fetched failed;
  failed.lease.url = "http://gone.example/";
  failed.outcome.error = "timeout";
  failed.outcome.requested = false;
  failed.output->page.fetched_at = at(0);
  EXPECT_EQ(line_of(failed),
            R"({"url":"http://gone.example/","status":0,"error":"timeout","redirect":null,)"
            R"("content_type":null,"bytes":0,"depth":0,"parent":null,"links":0,"new_links":0,)"
            R"("fetched_at":"1970-01-01T00:00:00.000Z","elapsed_ms":0,"digest":null,)"
            R"("duplicate_of":null,"reason":null,"warc":null,"canonical":null,"robots":null,)"
            R"("etag":null,"last_modified":null,"attempts":0,"recrawl":false,"truncated":null,)"
            R"("title":null,"language":null,"file":null})"
            "\n");
  Fetched redirect = fetched("http://site.example/old");
  redirect.outcome.status = 301;
  redirect.output->page.redirect = "http://site.example/new";
  EXPECT_THAT(line_of(redirect), HasSubstr(R"("redirect":"http://site.example/new")"));
}

TEST(PageLine, NumbersAreWholeUpToTheLargest) {
  Fetched page = fetched("http://site.example/");
  page.output->page.bytes = std::numeric_limits<std::uint64_t>::max();
  page.lease.depth = std::numeric_limits<std::uint32_t>::max();
  page.outcome.status = -1;
  EXPECT_THAT(line_of(page), HasSubstr(R"("bytes":18446744073709551615,"depth":4294967295,)"));
  EXPECT_THAT(line_of(page), HasSubstr(R"("status":-1,)"));
}

// What a server sends is any bytes; the line stays one line of valid UTF-8 and valid JSON.
TEST(PageLine, AnyBytesFromTheServerGiveOneValidLine) {
  const std::string hostile[] = {
      "text/\xff\xfehtml",
      "\xc3",
      "\xed\xa0\x80",
      "\xc0\xaf",
      "a\nb\r\n\tc\x01\x7f\"\\",
      "{",
      "[",
      ",",
      std::string("nul\0nul", 7),
      std::string(100'000, '\x80'),
  };
  for (const std::string& bytes : hostile) {
    SCOPED_TRACE(::testing::PrintToString(bytes.substr(0, 20)));
    Fetched page = fetched("http://site.example/");
    PageRecord& record = page.output->page;
    for (std::string* const field : {&record.content_type, &record.redirect, &record.canonical,
                                     &record.etag, &record.last_modified, &record.reason})
      *field = bytes;
    page.outcome.error = bytes;
    const std::string line = line_of(page);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded());  // its parser rejects invalid UTF-8
    for (const char* const key : {"redirect", "canonical", "etag", "last_modified", "reason"})
      EXPECT_EQ(parsed["content_type"], parsed[key]) << key;
    EXPECT_EQ(parsed.size(), 26u);
    EXPECT_EQ(parsed["url"], "http://site.example/");
  }
}

TEST(LinkLine, HasAllKeysInTheirOrder) {
  std::string lines;
  append_link_line(lines, "http://a.example/",
                   {.to = "http://b.example/?\"q\"",
                    .kind = "navigation",
                    .text = "a \xff link\n",
                    .rel = "nofollow ugc"});
  append_link_line(lines, "http://a.example/",
                   {.to = "http://c.example/", .kind = "resource", .text = {}, .rel = {}});
  EXPECT_EQ(lines,
            R"({"from":"http://a.example/","to":"http://b.example/?\"q\"","kind":"navigation",)"
            "\"text\":\"a \xef\xbf\xbd link\\n\",\"rel\":\"nofollow ugc\"}\n"
            R"({"from":"http://a.example/","to":"http://c.example/","kind":"resource",)"
            R"("text":null,"rel":null})"
            "\n");
}

TEST(SkippedLine, HasAllKeysInTheirOrder) {
  std::string lines;
  append_skipped_line(lines, "http://a.example/",
                      {.url = "http://b.example/", .reason = "excluded", .rule = "*.pdf"});
  append_skipped_line(lines, "", {.url = "http://[", .reason = "invalid URL", .rule = {}});
  EXPECT_EQ(lines, R"({"url":"http://b.example/","reason":"excluded","rule":"*.pdf",)"
                   R"("from":"http://a.example/"})"
                   "\n"
                   R"({"url":"http://[","reason":"invalid URL","rule":null,"from":null})"
                   "\n");
}

TEST(PageOutput, MemoryCountsWhatItHolds) {
  PageOutput output;
  const auto empty = output.memory();
  output.parts.emplace_back(1'000, 'x');
  EXPECT_GE(output.memory(), empty + 1'000);
  output.warc.emplace();
  output.warc->bytes.assign(100'000, 'x');
  EXPECT_GE(output.memory(), empty + 100'000);
  output.discard();
  EXPECT_LT(output.memory(), empty + 64);
}

}  // namespace
}  // namespace trawl
