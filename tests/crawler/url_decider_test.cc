#include "crawler/decide/url_decider.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

class UrlDeciderTest : public testing::Test {
 protected:
  using enum SkipReason;

  static Url at(std::string_view text) { return *Url::parse(text); }

  UrlDeciderTest() {
    config_.scope.type = ScopeType::kHost;
    config_.scope.max_depth = 5;
    config_.scope.exclude = {"*/private/*"};
    config_.fetch.max_redirects = 3;
  }

  UrlDecider decider() const {
    auto made = UrlDecider::create(config_, {at("http://seed.test/")}, Canonicalizer());
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  std::optional<SkipReason> reason(std::string_view link, const UrlOrigin& origin = {}) const {
    return decider().decide(at(link), origin).reason;
  }

  CrawlConfig config_;
};

// What a crawl knows of every URL, and what it was asked.
struct KnownFacts final : CrawlFacts {
  PatternState pattern(const Url&) override {
    asked += "pattern ";
    return state;
  }
  bool host_has_room(const Url&) override {
    asked += "room ";
    return room;
  }
  bool robots_allow(const Url&) override {
    asked += "robots ";
    return allowed;
  }
  PatternState state = PatternState::kOk;
  bool room = true;
  bool allowed = true;
  std::string asked;
};

TEST_F(UrlDeciderTest, TheFirstCheckThatFailsIsTheReason) {
  const std::string_view elsewhere = "http://other.test/private/x";
  EXPECT_EQ(reason(elsewhere, {.depth = 9, .redirects = 4, .nofollow = true}), kNofollow);
  EXPECT_EQ(reason(elsewhere, {.depth = 9, .redirects = 4}), kTooManyRedirects);
  EXPECT_EQ(reason(elsewhere, {.depth = 9, .redirects = 3}), kExcluded);
  EXPECT_EQ(reason("http://other.test/x", {.depth = 9}), kTooDeep);
  EXPECT_EQ(reason("http://other.test/x"), kOutOfScope);
  EXPECT_EQ(reason("http://seed.test/x"), std::nullopt);
  config_.links.respect_nofollow = false;
  EXPECT_EQ(reason("http://seed.test/x", {.nofollow = true}), std::nullopt);
}

TEST_F(UrlDeciderTest, FactsAreAskedInOrderAndOnlyWhereTheConfigLetsTheUrlPass) {
  const UrlDecider decider = this->decider();
  KnownFacts facts;
  EXPECT_EQ(decider.decide(at("http://other.test/"), {}, facts).reason, kOutOfScope);
  EXPECT_EQ(facts.asked, "");
  EXPECT_TRUE(decider.decide(at("http://seed.test/"), {}, facts).is_fetched());
  EXPECT_EQ(facts.asked, "pattern room robots ");
  facts.allowed = false;
  EXPECT_EQ(decider.decide(at("http://seed.test/"), {}, facts).reason, kRobots);
  facts.room = false;
  EXPECT_EQ(decider.decide(at("http://seed.test/"), {}, facts).reason, kTooManyUrlsOfHost);
  facts.state = PatternState::kParked;
  EXPECT_EQ(decider.decide(at("http://seed.test/"), {}, facts).reason, kPatternParked);
  KnownFacts slow;
  slow.state = PatternState::kSlow;
  EXPECT_TRUE(decider.decide(at("http://seed.test/"), {}, slow).slow);
}

TEST_F(UrlDeciderTest, SitemapsOfTheSiteNeedNotBeInScope) {
  config_.scope.type = ScopeType::kPage;
  const UrlOrigin own{.sitemap = true, .own_site = true};
  EXPECT_EQ(reason("http://seed.test/map.xml", own), std::nullopt);
  EXPECT_EQ(reason("http://other.test/map.xml", own), kOutOfScope);
  EXPECT_EQ(reason("http://other.test/map.xml", {.sitemap = true, .vouched = true}), std::nullopt);
  EXPECT_EQ(reason("http://seed.test/private/map.xml", own), kExcluded);
  EXPECT_EQ(reason("http://seed.test/page", {.own_site = true, .vouched = true}), kOutOfScope);
}

TEST_F(UrlDeciderTest, RobotsAreObeyedUnlessTheConfigSaysOtherwise) {
  const Robots robots = Robots::parse("User-agent: *\nDisallow: /no\n");
  EXPECT_EQ(decider().decide(at("http://seed.test/no"), robots).reason, kRobots);
  EXPECT_TRUE(decider().decide(at("http://seed.test/yes"), robots).is_fetched());
  config_.politeness.respect_robots = false;
  EXPECT_TRUE(decider().decide(at("http://seed.test/no"), robots).is_fetched());
}

TEST_F(UrlDeciderTest, HeldUrlsAreTriedAgainWhenTheirSettingChanges) {
  const std::vector<SkipReason> by_setting = {kPatternParked, kTooManyUrlsOfHost, kNofollow,
                                              kTooManyRedirects};
  const UrlDecider before = decider();
  config_.scope.park_pattern_after = 77;
  config_.scope.max_urls_per_host = 77;
  config_.links.respect_nofollow = !config_.links.respect_nofollow;
  config_.fetch.max_redirects = 77;
  const UrlDecider after = decider();
  for (const SkipReason reason : by_setting) {
    EXPECT_NE(before.held_by(reason), 0u) << to_string(reason);
    EXPECT_NE(before.held_by(reason), after.held_by(reason)) << to_string(reason);
  }
  EXPECT_EQ(before.held_by(kTooDeep), 0u) << "the scope itself decides";
}

TEST_F(UrlDeciderTest, TextsThatAreNotUrls) {
  EXPECT_EQ(UrlDecider::decide(Url::parse("mailto:a@b.test").error()).reason, kOtherScheme);
  EXPECT_EQ(UrlDecider::decide(Url::parse("http://[").error()).reason, kInvalidUrl);
}

TEST(SkipReason, NamesAndKeys) {
  for (std::size_t i = 0; i < kSkipReasons; ++i) {
    const auto reason = static_cast<SkipReason>(i);
    EXPECT_EQ(skip_reason_of(to_string(reason)), reason);
    EXPECT_EQ(config_key_of(reason).empty(),
              reason == SkipReason::kInvalidUrl || reason == SkipReason::kOtherScheme);
  }
  EXPECT_EQ(skip_reason_of("none"), std::nullopt);
}

}  // namespace
}  // namespace trawl
