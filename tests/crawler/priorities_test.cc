#include "crawler/decide/priorities.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trawl {
namespace {

const Url kUrl = *Url::parse("http://h.test/x");

Priorities priorities(CrawlConfig::Crawl config) {
  auto made = Priorities::create(config);
  if (!made) ADD_FAILURE() << made.error().message;
  return made ? *made : Priorities(*Priorities::create({}));
}

TEST(Priorities, BreadthFirstPrefersTheLessDeep) {
  const Priorities order = priorities({});
  EXPECT_EQ(order.of(kUrl, 0), 0);
  EXPECT_EQ(order.of(kUrl, 3), -3);
  EXPECT_EQ(order.of(kUrl, 3, 1.0), -3) << "the sitemap's priority is not used";
}

TEST(Priorities, DepthFirstPrefersTheDeeper) {
  CrawlConfig::Crawl config;
  config.order = CrawlOrder::kDepthFirst;
  const Priorities order = priorities(config);
  EXPECT_EQ(order.of(kUrl, 0), 0);
  EXPECT_EQ(order.of(kUrl, 3), 3);
}

TEST(Priorities, SlowPatternsAreBehindEveryOther) {
  CrawlConfig::Crawl config;
  for (const CrawlOrder order : {CrawlOrder::kBreadthFirst, CrawlOrder::kDepthFirst}) {
    config.order = order;
    const Priorities made = priorities(config);
    const auto deepest = made.of(kUrl, std::numeric_limits<std::uint32_t>::max());
    const auto seed = made.of(kUrl, 0);
    EXPECT_LE(std::max(deepest, seed) + Priorities::kSlow, std::min(deepest, seed));
  }
}

TEST(Priorities, TheFirstRuleThatMatchesDecides) {
  CrawlConfig::Crawl config;
  config.order = CrawlOrder::kPriority;
  config.priorities = {{.pattern = "*/news/*", .priority = 1000},
                       {.pattern = "re:/\\d+/", .priority = -7},
                       {.pattern = "*/news/old/*", .priority = 5}};
  const Priorities order = priorities(config);
  EXPECT_EQ(order.of(*Url::parse("http://h.test/news/old/1/"), 9), 1000);
  EXPECT_EQ(order.of(*Url::parse("http://h.test/old/12/#f"), 9, 1.0), -7);
  EXPECT_EQ(order.of(kUrl, 9), 0);
}

TEST(Priorities, RulesSeeUrlsAsThoseOfTheScopeDo) {
  CrawlConfig::Crawl config;
  config.order = CrawlOrder::kPriority;
  config.priorities = {{.pattern = "*/news/*", .priority = 7}};
  EXPECT_EQ(priorities(config).of(*Url::parse("http://h.test/%6Eews/1"), 9), 7);
}

TEST(Priorities, ASitemapsPriorityCountsWhereNoRuleMatches) {
  CrawlConfig::Crawl config;
  config.order = CrawlOrder::kPriority;
  const Priorities order = priorities(config);
  EXPECT_EQ(order.of(kUrl, 1, 0.0), -10);
  EXPECT_EQ(order.of(kUrl, 1, 0.5), 0);
  EXPECT_EQ(order.of(kUrl, 1, 0.8), 6);
  EXPECT_EQ(order.of(kUrl, 1, 1.0), 10);
  EXPECT_EQ(order.of(kUrl, 1, 1e300), 10);
  EXPECT_EQ(order.of(kUrl, 1, -5.0), -10);
  EXPECT_EQ(order.of(kUrl, 1, std::nan("")), 0);
}

TEST(Priorities, APatternThatIsNoneIsAnError) {
  CrawlConfig::Crawl config;
  config.order = CrawlOrder::kPriority;
  config.priorities = {{.pattern = "re:[", .priority = 1}};
  const auto made = Priorities::create(config);
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().message, testing::HasSubstr("re:["));
}

}  // namespace
}  // namespace trawl
