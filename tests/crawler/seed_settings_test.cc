#include "crawler/decide/seed_settings.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "crawler/decide/priorities.h"
#include "crawler/decide/url_decider.h"

namespace trawl {
namespace {

Url seed_url(std::string_view text) {
  return Url::parse(text).value();
}

// A crawl of host.test, with scope.type "host" and max_depth 3, and of seeds with settings.
class SeedSettingsTest : public testing::Test {
 protected:
  UrlDecider decider(std::vector<SeedText> settings) {
    config_.crawl.seeds = {"http://host.test/"};
    config_.scope.max_depth = 3;
    config_.crawl.seed_settings = std::move(settings);
    std::vector<Url> seeds = {seed_url("http://host.test/")};
    for (const SeedText& seed : config_.crawl.seed_settings)
      seeds.push_back(seed_url(seed.url));
    return UrlDecider::create(config_, seeds, Canonicalizer()).value();
  }
  static std::string decided(const UrlDecider& decider, std::string_view url, std::uint32_t depth,
                             std::string_view seed = "http://host.test/") {
    UrlOrigin origin{.depth = depth, .seed = decider.seeds().id_of(seed_url(seed))};
    const UrlVerdict verdict = decider.decide(seed_url(url), origin);
    return std::string(verdict.reason ? to_string(*verdict.reason) : verdict.key);
  }

  CrawlConfig config_;
};

TEST_F(SeedSettingsTest, ASeedHasItsOwnDepth) {
  const auto rules =
      decider({{.url = "http://deep.test/", .depth = 9}, {.url = "http://flat.test/", .depth = 1}});
  EXPECT_EQ(decided(rules, "http://deep.test/x", 9, "http://deep.test/"), "crawl.seed");
  EXPECT_EQ(decided(rules, "http://deep.test/x", 10, "http://deep.test/"), "too deep");
  EXPECT_EQ(decided(rules, "http://flat.test/x", 1, "http://flat.test/"), "crawl.seed");
  EXPECT_EQ(decided(rules, "http://flat.test/x", 2, "http://flat.test/"), "too deep");
  EXPECT_EQ(decided(rules, "http://host.test/x", 3), "scope.type");
  EXPECT_EQ(decided(rules, "http://host.test/x", 4), "too deep");
  EXPECT_EQ(decided(rules, "http://other.test/x", 1, "http://flat.test/"), "out of scope");
}

TEST_F(SeedSettingsTest, ALinkIntoTheScopeOfAnotherSeedBelongsThere) {
  const auto rules =
      decider({{.url = "http://deep.test/", .depth = 9}, {.url = "http://flat.test/", .depth = 1}});
  EXPECT_EQ(decided(rules, "http://deep.test/x", 9), "crawl.seed");
  EXPECT_EQ(decided(rules, "http://deep.test/x", 2, "http://flat.test/"), "crawl.seed");
  EXPECT_EQ(decided(rules, "http://flat.test/x", 2), "too deep");
  EXPECT_EQ(decided(rules, "http://host.test/x", 3, "http://deep.test/"), "scope.type");
  EXPECT_EQ(decided(rules, "http://host.test/x", 4, "http://deep.test/"), "too deep");
}

TEST_F(SeedSettingsTest, ASeedHasItsOwnScope) {
  const auto rules = decider({{.url = "http://site.test/a/b/", .scope = ScopeType::kPrefix},
                              {.url = "http://one.test/page", .scope = ScopeType::kPage},
                              {.url = "http://open.test/", .depth = 1, .scope = ScopeType::kAny},
                              {.url = "http://www.wide.test/", .scope = ScopeType::kDomain}});
  EXPECT_EQ(decided(rules, "http://site.test/a/b/c", 1, "http://site.test/a/b/"), "crawl.seed");
  EXPECT_EQ(decided(rules, "http://site.test/a/", 1, "http://site.test/a/b/"), "out of scope");
  EXPECT_EQ(decided(rules, "http://one.test/page", 0, "http://one.test/page"), "crawl.seed");
  EXPECT_EQ(decided(rules, "http://one.test/other", 1, "http://one.test/page"), "out of scope");
  EXPECT_EQ(decided(rules, "http://blog.wide.test/", 1), "crawl.seed");
  // Only links found from the seed with "any" may lead anywhere.
  EXPECT_EQ(decided(rules, "http://else.test/", 1, "http://open.test/"), "crawl.seed");
  EXPECT_EQ(decided(rules, "http://else.test/", 2, "http://open.test/"), "too deep");
  EXPECT_EQ(decided(rules, "http://else.test/", 1), "out of scope");
}

TEST_F(SeedSettingsTest, RulesHoldForAllSeeds) {
  config_.scope.exclude = {"*/private/*"};
  const auto rules = decider({{.url = "http://open.test/", .scope = ScopeType::kAny}});
  EXPECT_EQ(decided(rules, "http://else.test/private/", 1, "http://open.test/"),
            "excluded by rule");
}

// Whichever seed it is found from, what a rule includes may be as deep as without the rule.
TEST_F(SeedSettingsTest, ARuleThatIncludesTakesNothingAway) {
  config_.scope.include = {"*"};
  const auto rules =
      decider({{.url = "http://deep.test/", .depth = 9}, {.url = "http://flat.test/", .depth = 1}});
  for (const char* seed : {"http://host.test/", "http://deep.test/", "http://flat.test/"}) {
    EXPECT_EQ(decided(rules, "http://deep.test/x", 9, seed), "scope.include") << seed;
    EXPECT_EQ(decided(rules, "http://deep.test/x", 10, seed), "too deep") << seed;
    EXPECT_EQ(decided(rules, "http://host.test/x", 3, seed), "scope.include") << seed;
  }
  // What belongs to no seed is as deep as the seed allows from which it was found.
  EXPECT_EQ(decided(rules, "http://other.test/x", 9, "http://deep.test/"), "scope.include");
  EXPECT_EQ(decided(rules, "http://other.test/x", 3), "scope.include");
  EXPECT_EQ(decided(rules, "http://other.test/x", 4), "too deep");
  EXPECT_EQ(decided(rules, "http://other.test/x", 2, "http://flat.test/"), "too deep");
}

TEST_F(SeedSettingsTest, PriorityAndNoteBelongToTheSeed) {
  config_.crawl.order = CrawlOrder::kPriority;
  config_.crawl.priorities = {{"*/news/*", 7}};
  const auto rules = decider({{.url = "http://blog.test/", .priority = 50, .note = "blog"}});
  const auto* own = rules.seeds().find(rules.seeds().id_of(seed_url("http://blog.test/")));
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->note, "blog");
  const auto priorities = Priorities::create(config_.crawl).value();
  EXPECT_EQ(priorities.of(seed_url("http://blog.test/x"), 1, 0.9, own), 50);
  EXPECT_EQ(priorities.of(seed_url("http://blog.test/news/x"), 1, 0.9, own), 7);
  EXPECT_EQ(priorities.of(seed_url("http://host.test/x"), 1, 1.0), 10);
  // Its limits are those of all.
  EXPECT_EQ(decided(rules, "http://blog.test/x", 3, "http://blog.test/"), "crawl.seed");
  EXPECT_EQ(decided(rules, "http://blog.test/x", 4, "http://blog.test/"), "too deep");
}

TEST_F(SeedSettingsTest, ASeedThatIsNoLongerConfiguredIsLikeTheOthers) {
  const auto rules = decider({});
  const UrlOrigin origin{.depth = 1, .seed = 12345};
  EXPECT_EQ(rules.decide(seed_url("http://host.test/x"), origin).key, "scope.type");
  EXPECT_EQ(rules.seeds().find(12345), nullptr);
}

}  // namespace
}  // namespace trawl
