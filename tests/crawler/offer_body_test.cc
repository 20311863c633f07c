#include "crawler/status/offer_body.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/process_memory.h"

namespace trawl {
namespace {

using ::testing::HasSubstr;

std::string offer_failure(const std::string& body) {
  const auto urls = parse_offer_body(body);
  return urls ? "" : urls.error().message;
}

TEST(OfferBody, TakesJsonAndLines) {
  const auto json = parse_offer_body(R"({"urls": ["http://a/", {"url": "b", "priority": -3}]})");
  ASSERT_TRUE(json) << json.error().message;
  ASSERT_EQ(json->size(), 2u);
  EXPECT_EQ((*json)[1].priority, -3);
  const auto lines = parse_offer_body("http://a/\r\n\n{\"url\": \"http://b/\", \"depth\": 4}\n");
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ((*lines)[0].url, "http://a/");
  EXPECT_EQ((*lines)[1].depth, 4u);
  for (const char* wrong :
       {"", "\n", "{", "{\"urls\": 3}", "{\"urls\": [[]]}", "{\"depth\": 1}", "[3]", "{}",
        "{\"urls\": {}}", "{\"urls\": [{}]}", "{\"urls\": [\"a\", 3]}", "{\"url\": [\"a\"]}",
        R"({"urls": [{"url": "a", "priority": 99999999999}]})", "http://a/\n{\"url\": 3}\n",
        R"({"url": "a", "priority": 18446744073709551615})",
        R"({"url": "a", "depth": 4294967296})"})
    EXPECT_FALSE(parse_offer_body(wrong)) << wrong;
}

TEST(OfferBody, TakesObjectsAsOthersWriteThem) {
  const auto pretty = parse_offer_body("{\n  \"url\": \"http://a/\",\n  \"depth\": 2\n}\n");
  ASSERT_TRUE(pretty) << pretty.error().message;
  ASSERT_EQ(pretty->size(), 1u);
  EXPECT_EQ(pretty->front().depth, 2u);
  const auto list =
      parse_offer_body("{\n \"note\": {\"urls\": [1]},\n \"urls\": [\n  \"http://a/\"\n ]\n}");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->size(), 1u);
  // As `trawl frontier dump` writes them, with keys that are not ours.
  const auto dumped = parse_offer_body(
      R"({"url": "http://a/", "state": "held", "more": [{"url": 1}], "since": null})"
      "\n"
      R"({"url": "http://b/", "priority": 5})");
  ASSERT_TRUE(dumped) << dumped.error().message;
  ASSERT_EQ(dumped->size(), 2u);
  EXPECT_EQ((*dumped)[0].url, "http://a/");
  EXPECT_EQ((*dumped)[1].priority, 5);
}

TEST(OfferBody, ErrorsNameThePlace) {
  EXPECT_THAT(offer_failure("http://a/\n{\"url\": 3}\n"), HasSubstr("line 2: \"url\" has"));
  EXPECT_THAT(offer_failure("{\"url\": 3}"), HasSubstr("line 1: \"url\" has"));
  EXPECT_THAT(offer_failure("{\"url\": 3}\n{\"url\": \"a\"}"), HasSubstr("line 1: \"url\" has"));
  EXPECT_THAT(offer_failure("{\n\"url\": 3}"), HasSubstr("the body: \"url\" has"));
  EXPECT_THAT(offer_failure(R"({"urls": ["a", {"url": "b"}, {"url": 3}]})"), HasSubstr("URL 3: "));
  EXPECT_THAT(offer_failure("{\n\"url\": \"a\"\n"), HasSubstr("the body: not a JSON object"));
}

TEST(OfferBody, TakesSoManyAndNoMore) {
  std::string body = "[";
  for (int i = 0; i < 100'000; ++i)
    body += "\"a\",";
  EXPECT_EQ(parse_offer_body(body + "{\"url\": 1}]").error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(offer_failure(body + "\"a\"]"), HasSubstr("more than 100000 URLs"));
  body.back() = ']';
  EXPECT_EQ(parse_offer_body(body)->size(), 100'000u);
}

// Millions of values of a few bytes: not one of them is stored.
TEST(OfferBody, AHostileTextTakesNoMemory) {
  constexpr std::size_t kSize = 4'000'000;
  std::string objects = "{\"x\": [";
  while (objects.size() < kSize)
    objects += "{\"a\":0},";
  objects += "0]}";
  const std::string brackets(kSize, '[');
  const std::string nested = "{\"x\":" + brackets;
  const std::uint64_t before = peak_memory();
  EXPECT_FALSE(parse_offer_body(brackets));
  EXPECT_THAT(offer_failure(nested), HasSubstr("nested too deeply"));
  EXPECT_THAT(offer_failure(objects), HasSubstr("\"url\" is missing"));
  EXPECT_LT(peak_memory(), before + (20 << 20));
}

}  // namespace
}  // namespace trawl
