#include "crawler/decide/response_rules.h"

#include <gtest/gtest.h>

namespace trawl {
namespace {

TEST(ResponseRules, TheFirstRuleThatMatchesDecides) {
  CrawlConfig::Output config;
  config.rules = {{true, "image/*", {{200, 299}, {404, 404}}},
                  {false, "image/*", {}},
                  {false, "*/*", {{500, 599}}}};
  const KeptResponses kept(config);
  EXPECT_TRUE(kept.has("image/png", 200));
  EXPECT_TRUE(kept.has("Image/PNG; q=1", 404));
  EXPECT_FALSE(kept.has("image/png", 403));
  EXPECT_FALSE(kept.has("text/html", 503));
  EXPECT_FALSE(kept.has("", 500));
  EXPECT_TRUE(kept.has("text/html", 404));
  config.content_types = {"text/plain"};
  EXPECT_FALSE(KeptResponses(config).has("text/html", 404));
  EXPECT_TRUE(KeptResponses(config).has("image/png", 404));
  EXPECT_FALSE(KeptResponses(config).has("text/plain", 500));
}

TEST(ResponseRules, WithoutRulesPagesOfStatus2xxAreRead) {
  const ReadResponses read(CrawlConfig::Links{});
  EXPECT_TRUE(read.has("text/html; charset=utf-8", 203));
  EXPECT_TRUE(read.has("application/xhtml+xml", 200));
  EXPECT_FALSE(read.has("text/html", 404));
  EXPECT_FALSE(read.has("text/css", 200));
  EXPECT_TRUE(read.may_have("", 200));
  EXPECT_FALSE(read.may_have("", 404));
}

TEST(ResponseRules, OfLinksMayReadOtherStatuses) {
  CrawlConfig::Links config;
  config.rules = {{true, "text/html", {{404, 404}}}, {false, "application/*", {}}};
  const ReadResponses read(config);
  EXPECT_TRUE(read.has("text/html", 404));
  EXPECT_TRUE(read.may_have("", 404));
  EXPECT_FALSE(read.has("text/html", 410));
  EXPECT_FALSE(read.has("application/xhtml+xml", 200));
  EXPECT_TRUE(read.has("text/html", 200));
}

TEST(ResponseRules, OfLinksAreForAllThatIsRead) {
  CrawlConfig::Links config;
  EXPECT_TRUE(ReadResponses(config).has_other("text/css", 200));
  EXPECT_FALSE(ReadResponses(config).has_other("text/css", 404));
  config.rules = {{true, "text/css", {{404, 404}}}, {false, "text/css", {}}};
  EXPECT_TRUE(ReadResponses(config).has_other("text/css", 404));
  EXPECT_FALSE(ReadResponses(config).has_other("text/css", 200));
  EXPECT_TRUE(ReadResponses(config).has_other("application/json", 200));
}

}  // namespace
}  // namespace trawl
