// When pages are fetched again.
#include "crawler/decide/recrawl_policy.h"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

#include "crawler/config/crawl_config.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;
using Change = RecrawlPolicy::Change;
using Interval = RecrawlPolicy::Interval;

constexpr auto kPage = "http://a.example/page";

CrawlConfig::Recrawl every(std::chrono::milliseconds interval) {
  CrawlConfig::Recrawl config;
  config.interval = interval;
  return config;
}

TEST(RecrawlPolicy, WithoutRulesNothingIsFetchedAgain) {
  const RecrawlPolicy policy{CrawlConfig::Recrawl()};
  EXPECT_FALSE(policy.enabled());
  for (const Change change : {Change::kNew, Change::kChanged, Change::kUnchanged, Change::kFailed})
    EXPECT_EQ(policy.next_interval(kPage, change, 1h), std::nullopt);
}

TEST(RecrawlPolicy, TheFirstRuleThatMatchesGivesTheInterval) {
  CrawlConfig::Recrawl config = every(24h);
  config.rules = {{"*/archive/*", std::nullopt}, {"*/news/*", 2h}, {"re:/n", 3h}};
  const RecrawlPolicy policy(config);
  EXPECT_TRUE(policy.enabled());
  const auto first = [&](const char* url) {
    return policy.next_interval(url, Change::kNew, std::nullopt);
  };
  EXPECT_EQ(first("http://a.example/news/1"), Interval(2h));
  EXPECT_EQ(first("http://a.example/n"), Interval(3h));
  EXPECT_EQ(first("http://a.example/archive/news/1"), std::nullopt);
  EXPECT_EQ(first(kPage), Interval(24h));
  // Also when it had an interval before that rule was made.
  EXPECT_EQ(policy.next_interval("http://a.example/archive/1", Change::kChanged, 1h), std::nullopt);

  EXPECT_TRUE(policy.says_never("http://a.example/archive/news/1"));
  EXPECT_FALSE(policy.says_never("http://a.example/n"));

  config.interval = std::nullopt;
  EXPECT_FALSE(RecrawlPolicy(config).says_never(kPage));  // no rule says anything
  EXPECT_TRUE(RecrawlPolicy(config).enabled());
  EXPECT_EQ(RecrawlPolicy(config).next_interval(kPage, Change::kNew, std::nullopt), std::nullopt);
}

TEST(RecrawlPolicy, RulesSeeUrlsAsThoseOfTheScopeDo) {
  CrawlConfig::Recrawl config = every(24h);
  config.rules = {{"*/news/*", 2h}};
  const RecrawlPolicy policy(config);
  EXPECT_EQ(policy.next_interval("http://a.example/%6Eews/1", Change::kNew, std::nullopt),
            Interval(2h));
}

TEST(RecrawlPolicy, HalvesOnChangeAndDoublesOnNone) {
  CrawlConfig::Recrawl config = every(24h);
  config.min_interval = 5h;
  config.max_interval = 100h;
  const RecrawlPolicy policy(config);
  EXPECT_EQ(policy.next_interval(kPage, Change::kChanged, 24h), Interval(12h));
  EXPECT_EQ(policy.next_interval(kPage, Change::kChanged, 12h), Interval(6h));
  EXPECT_EQ(policy.next_interval(kPage, Change::kChanged, 6h), Interval(5h));
  EXPECT_EQ(policy.next_interval(kPage, Change::kUnchanged, 24h), Interval(48h));
  EXPECT_EQ(policy.next_interval(kPage, Change::kUnchanged, 48h), Interval(96h));
  EXPECT_EQ(policy.next_interval(kPage, Change::kUnchanged, 96h), Interval(100h));
  EXPECT_EQ(policy.next_interval(kPage, Change::kFailed, 48h), Interval(48h));
  EXPECT_EQ(policy.next_interval(kPage, Change::kFailed, std::nullopt), Interval(24h));
  EXPECT_EQ(policy.next_interval(kPage, Change::kChanged, std::nullopt), Interval(24h));
}

TEST(RecrawlPolicy, StaysWithinItsBoundsWhateverItIsGiven) {
  CrawlConfig::Recrawl config = every(1ms);
  config.min_interval = 1h;
  config.max_interval = std::chrono::milliseconds::max();
  const RecrawlPolicy policy(config);
  EXPECT_EQ(policy.next_interval(kPage, Change::kNew, std::nullopt), Interval(1h));
  EXPECT_EQ(policy.next_interval(kPage, Change::kChanged, -5ms), Interval(1h));
  EXPECT_EQ(policy.next_interval(kPage, Change::kUnchanged, std::chrono::milliseconds::max()),
            Interval(std::chrono::milliseconds::max()));
}

TEST(RecrawlPolicy, IsTheSameEachTimeIfItIsNotAdaptive) {
  CrawlConfig::Recrawl config = every(10min);
  config.adaptive = false;
  const RecrawlPolicy policy(config);
  for (const Change change : {Change::kNew, Change::kChanged, Change::kUnchanged, Change::kFailed})
    EXPECT_EQ(policy.next_interval(kPage, change, 7h), Interval(10min));
}

TEST(RecrawlPolicy, APageIsUnchangedByItsStatusOrItsDigest) {
  EXPECT_EQ(RecrawlPolicy::compare(304, "", "sha1:A"), Change::kUnchanged);
  EXPECT_EQ(RecrawlPolicy::compare(304, "", ""), Change::kUnchanged);
  EXPECT_EQ(RecrawlPolicy::compare(200, "sha1:A", "sha1:A"), Change::kUnchanged);
  EXPECT_EQ(RecrawlPolicy::compare(200, "sha1:A", "sha1:B"), Change::kChanged);
  EXPECT_EQ(RecrawlPolicy::compare(200, "", "sha1:B"), Change::kChanged);
  EXPECT_EQ(RecrawlPolicy::compare(200, "sha1:A", ""), Change::kNew);
}

}  // namespace
}  // namespace trawl::test
