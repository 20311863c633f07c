#include "crawler/decide/scope.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace trawl {
namespace {

Url url(std::string_view text) {
  auto parsed = Url::parse(text);
  if (!parsed) ADD_FAILURE() << text << ": " << parsed.error().message;
  return parsed ? *parsed : *Url::parse("http://unparsable.invalid/");
}

// A Scope that can be used as a value.
class TestScope {
 public:
  explicit TestScope(std::unique_ptr<Scope> scope) : scope_(std::move(scope)) {}
  UrlVerdict check(const Url& url, std::uint32_t depth, std::uint32_t hops = 0,
                   FoundKinds found = {FoundAs::kNavigation}) const {
    return scope_->check(url, depth, hops, found);
  }

 private:
  std::unique_ptr<Scope> scope_;
};

TestScope scope_of(ScopeType type, const std::vector<std::string>& seeds,
                   CrawlConfig::Scope config = {},
                   const Canonicalizer& canonicalizer = Canonicalizer()) {
  config.type = type;
  std::vector<Url> urls;
  for (const std::string& seed : seeds)
    urls.push_back(url(seed));
  auto scope = Scope::create(config, urls, canonicalizer);
  if (scope) return TestScope(std::move(*scope));
  ADD_FAILURE() << scope.error().message;
  return TestScope(std::move(*Scope::create({}, urls)));
}

CrawlConfig::Scope with_max_depth(std::uint32_t depth) {
  CrawlConfig::Scope config;
  config.max_depth = depth;
  return config;
}

std::optional<SkipReason> reason(const TestScope& scope, std::string_view link,
                                 std::uint32_t depth = 1) {
  return scope.check(url(link), depth).reason;
}

bool covers(const TestScope& scope, std::string_view link) {
  const UrlVerdict verdict = scope.check(url(link), 1);
  EXPECT_TRUE(verdict.is_fetched() || verdict.reason == SkipReason::kOutOfScope) << link;
  EXPECT_FALSE(verdict.off_scope) << link;
  EXPECT_EQ(verdict.key, "scope.type") << link;
  return verdict.is_fetched();
}

TEST(Scope, AnyCoversEveryHost) {
  const TestScope scope = scope_of(ScopeType::kAny, {"http://example.com/"});
  EXPECT_TRUE(covers(scope, "http://example.com/x"));
  EXPECT_TRUE(covers(scope, "https://other.example.org:8443/?q"));
  EXPECT_TRUE(covers(scope, "http://[2001:db8::1]/"));
}

TEST(Scope, HostCoversTheSeedsHostsAndNoOthers) {
  const TestScope scope =
      scope_of(ScopeType::kHost, {"http://example.com/a/b", "http://two.test/"});
  EXPECT_TRUE(covers(scope, "http://example.com/"));
  EXPECT_TRUE(covers(scope, "http://example.com/elsewhere?q=1#f"));
  EXPECT_TRUE(covers(scope, "http://EXAMPLE.com/"));
  EXPECT_TRUE(covers(scope, "http://user:pw@example.com/"));
  EXPECT_TRUE(covers(scope, "http://two.test/x"));
  EXPECT_FALSE(covers(scope, "http://sub.example.com/"));
  EXPECT_FALSE(covers(scope, "http://example.com.evil.test/"));
  EXPECT_FALSE(covers(scope, "http://notexample.com/"));
  EXPECT_FALSE(covers(scope, "http://com/"));
  EXPECT_FALSE(covers(scope, "http://example.com@evil.test/"));
}

TEST(Scope, WwwIsTheSameHostIfTheRestCanBeRegistered) {
  for (const ScopeType type : {ScopeType::kHost, ScopeType::kPrefix}) {
    for (const char* seed : {"http://example.com:8080/a/", "http://www.example.com:8080/a/"}) {
      const TestScope scope = scope_of(type, {seed});
      EXPECT_TRUE(covers(scope, "http://example.com:8080/a/x")) << seed;
      EXPECT_TRUE(covers(scope, "https://www.example.com:8080/a/x")) << seed;
      EXPECT_FALSE(covers(scope, "http://www.example.com/a/x")) << seed << ": another port";
      EXPECT_FALSE(covers(scope, "http://www.www.example.com:8080/a/x")) << seed;
    }
  }
  const TestScope top = scope_of(ScopeType::kHost, {"http://www.com/", "http://www.co.uk/"});
  EXPECT_FALSE(covers(top, "http://com/"));
  EXPECT_FALSE(covers(top, "http://co.uk/"));
  EXPECT_TRUE(covers(top, "http://www.com/x"));
}

TEST(Scope, HostCoversHttpAndHttpsOnTheirDefaultPorts) {
  for (const char* seed : {"http://example.com/", "https://example.com/"}) {
    const TestScope scope = scope_of(ScopeType::kHost, {seed});
    EXPECT_TRUE(covers(scope, "http://example.com/x")) << seed;
    EXPECT_TRUE(covers(scope, "https://example.com/x")) << seed;
    EXPECT_TRUE(covers(scope, "http://example.com:80/x")) << seed;
    EXPECT_TRUE(covers(scope, "https://example.com:443/x")) << seed;
    EXPECT_FALSE(covers(scope, "http://example.com:8080/x")) << seed;
    EXPECT_TRUE(covers(scope, "http://example.com:443/x")) << seed << ": the same server";
  }
}

TEST(Scope, HostKeepsToThePort) {
  const TestScope scope = scope_of(ScopeType::kHost, {"http://127.0.0.1:8080/"});
  EXPECT_TRUE(covers(scope, "http://127.0.0.1:8080/x"));
  EXPECT_TRUE(covers(scope, "http://0x7f.1:8080/x")) << "another spelling of the address";
  EXPECT_FALSE(covers(scope, "http://127.0.0.1/x"));
  EXPECT_FALSE(covers(scope, "http://127.0.0.1:8081/x"));
  EXPECT_FALSE(covers(scope, "http://127.0.0.2:8080/x"));
}

TEST(Scope, HostIgnoresATrailingDot) {
  const TestScope scope = scope_of(ScopeType::kHost, {"http://example.com./"});
  EXPECT_TRUE(covers(scope, "http://example.com/"));
  EXPECT_TRUE(covers(scope, "http://example.com./"));
}

TEST(Scope, DomainCoversAllHostsOfTheRegistrableDomain) {
  const TestScope scope = scope_of(ScopeType::kDomain, {"http://www.example.co.uk/start"});
  EXPECT_TRUE(covers(scope, "http://example.co.uk/"));
  EXPECT_TRUE(covers(scope, "https://a.b.example.co.uk:8443/x"));
  EXPECT_TRUE(covers(scope, "http://www.example.co.uk./x"));
  EXPECT_FALSE(covers(scope, "http://other.co.uk/"));
  EXPECT_FALSE(covers(scope, "http://co.uk/"));
  EXPECT_FALSE(covers(scope, "http://notexample.co.uk/"));
  EXPECT_FALSE(covers(scope, "http://example.co.uk.evil.test/"));
}

TEST(Scope, DomainOfAPublicSuffixIsThatHostAlone) {
  const TestScope scope = scope_of(ScopeType::kDomain, {"http://co.uk/"});
  EXPECT_TRUE(covers(scope, "http://co.uk/x"));
  EXPECT_FALSE(covers(scope, "http://example.co.uk/"));
}

TEST(Scope, DomainOfAnAddressOrALabelIsThatHostAlone) {
  const TestScope v4 = scope_of(ScopeType::kDomain, {"http://192.0.2.7/"});
  EXPECT_TRUE(covers(v4, "https://192.0.2.7:8443/x"));
  EXPECT_FALSE(covers(v4, "http://198.51.2.7/"));
  EXPECT_FALSE(covers(v4, "http://192.0.3.7/"));
  const TestScope v6 = scope_of(ScopeType::kDomain, {"http://[2001:db8::7]/"});
  EXPECT_TRUE(covers(v6, "http://[2001:DB8:0::7]/x"));
  EXPECT_FALSE(covers(v6, "http://[2001:db8::8]/"));
  const TestScope label = scope_of(ScopeType::kDomain, {"http://localhost:8080/"});
  EXPECT_TRUE(covers(label, "http://localhost/"));
  EXPECT_FALSE(covers(label, "http://otherhost/"));
}

TEST(Scope, PrefixCoversTheDirectoryOfTheSeed) {
  const TestScope scope =
      scope_of(ScopeType::kPrefix, {"http://example.com/docs/start.html?v=/x/"});
  EXPECT_TRUE(covers(scope, "http://example.com/docs/"));
  EXPECT_TRUE(covers(scope, "http://example.com/docs/a/b?c"));
  EXPECT_TRUE(covers(scope, "https://example.com/docs/other.html"));
  EXPECT_FALSE(covers(scope, "http://example.com/docs"));
  EXPECT_FALSE(covers(scope, "http://example.com/docs2/"));
  EXPECT_FALSE(covers(scope, "http://example.com/"));
  EXPECT_FALSE(covers(scope, "http://example.com/?/docs/"));
  EXPECT_FALSE(covers(scope, "http://example.com/docs/../secret")) << "is /secret";
  EXPECT_FALSE(covers(scope, "http://example.com:8080/docs/"));
  EXPECT_FALSE(covers(scope, "http://example.com.evil.test/docs/"));
}

TEST(Scope, PrefixOfADirectoryIsTheDirectoryItself) {
  const TestScope scope = scope_of(ScopeType::kPrefix, {"http://example.com/docs/"});
  EXPECT_TRUE(covers(scope, "http://example.com/docs/x"));
  EXPECT_FALSE(covers(scope, "http://example.com/other/x"));
}

TEST(Scope, PrefixOfARootIsTheHost) {
  const TestScope scope = scope_of(ScopeType::kPrefix, {"http://example.com", "http://b.test/x/y"});
  EXPECT_TRUE(covers(scope, "http://example.com/any/thing"));
  EXPECT_TRUE(covers(scope, "http://b.test/x/"));
  EXPECT_FALSE(covers(scope, "http://b.test/"));
  EXPECT_FALSE(covers(scope, "http://sub.example.com/"));
}

TEST(Scope, DepthIsTheLinksOwnAndTheLimitIncluded) {
  const TestScope scope = scope_of(ScopeType::kAny, {"http://h.test/"}, with_max_depth(2));
  EXPECT_EQ(reason(scope, "http://h.test/", 0), std::nullopt);
  EXPECT_EQ(reason(scope, "http://h.test/", 2), std::nullopt);
  EXPECT_EQ(reason(scope, "http://h.test/", 3), SkipReason::kTooDeep);
  const TestScope seeds_only = scope_of(ScopeType::kAny, {"http://h.test/"}, with_max_depth(0));
  EXPECT_EQ(reason(seeds_only, "http://h.test/", 0), std::nullopt);
  EXPECT_EQ(reason(seeds_only, "http://h.test/", 1), SkipReason::kTooDeep);
  const TestScope unlimited = scope_of(ScopeType::kAny, {"http://h.test/"});
  EXPECT_EQ(reason(unlimited, "http://h.test/", UINT32_MAX), std::nullopt);
}

TEST(Scope, LengthIsThatOfTheUrlWithoutItsFragment) {
  const std::string at_limit = "http://h.test/" + std::string(26, 'a');
  ASSERT_EQ(at_limit.size(), 40u);
  CrawlConfig::Scope config;
  config.max_url_length = 40;
  const TestScope scope = scope_of(ScopeType::kAny, {"http://h.test/"}, config);
  EXPECT_EQ(reason(scope, at_limit, 1), std::nullopt);
  EXPECT_EQ(reason(scope, at_limit + "#" + std::string(500, 'f')), std::nullopt);
  EXPECT_EQ(reason(scope, at_limit + "a", 1), SkipReason::kTooLong);
  EXPECT_EQ(reason(scope, at_limit + "?", 1), SkipReason::kTooLong);
}

TEST(Scope, PageCoversTheSeedsAlone) {
  const TestScope scope =
      scope_of(ScopeType::kPage, {"http://example.com/docs/a.html?x=1#top", "http://two.test"});
  EXPECT_TRUE(covers(scope, "http://example.com/docs/a.html?x=1"));
  EXPECT_TRUE(covers(scope, "https://example.com/docs/a.html?x=1#other")) << "sites answer on both";
  EXPECT_TRUE(covers(scope, "http://example.com/%64ocs/a.html?x=1")) << "the same key";
  EXPECT_TRUE(covers(scope, "http://two.test/"));
  EXPECT_FALSE(covers(scope, "http://example.com/docs/a.html"));
  EXPECT_FALSE(covers(scope, "http://example.com/docs/a.html?x=2"));
  EXPECT_FALSE(covers(scope, "http://example.com:8080/docs/a.html?x=1"));
  EXPECT_FALSE(covers(scope, "http://two.test/b"));
}

TEST(Scope, PageGoesByTheCanonicalKey) {
  CanonicalRules rules;
  rules.sort_query = true;
  const Canonicalizer canonicalizer(Profile{.rules = rules});
  const TestScope scope =
      scope_of(ScopeType::kPage, {"http://example.com/?b=1&a=2"}, {}, canonicalizer);
  EXPECT_TRUE(covers(scope, "http://example.com/?a=2&b=1"));
  EXPECT_FALSE(covers(scope, "http://example.com/?a=2"));
}

TEST(Scope, OfManyPrefixesEachCounts) {
  std::vector<std::string> seeds;
  for (int i = 0; i < 500; ++i)
    seeds.push_back("http://example.com/d" + std::to_string(i) + "/x");
  seeds.push_back("http://example.com/d7/deeper/x");  // within another
  const TestScope scope = scope_of(ScopeType::kPrefix, seeds);
  for (int i = 0; i < 500; ++i)
    EXPECT_TRUE(covers(scope, "http://example.com/d" + std::to_string(i) + "/y/z?q"));
  EXPECT_TRUE(covers(scope, "http://example.com/d7/deep"));
  EXPECT_FALSE(covers(scope, "http://example.com/d500/"));
  EXPECT_FALSE(covers(scope, "http://example.com/d7"));
  EXPECT_FALSE(covers(scope, "http://example.com/"));
}

TEST(Scope, TheFirstRuleThatMatchesDecides) {
  CrawlConfig::Scope config;
  config.rules = {{.include = true, .pattern = "*/keep/*", .name = "kept"},
                  {.include = false, .pattern = "re:/(keep|drop)/", .name = "dropped"}};
  config.exclude = {"*.pdf"};
  config.include = {"other.test/*", "*/never.pdf"};
  const TestScope scope = scope_of(ScopeType::kHost, {"http://example.com/"}, config);
  const auto decided = [&scope](std::string_view link) {
    const UrlVerdict verdict = scope.check(url(link), 1);
    return std::string(verdict.reason ? to_string(*verdict.reason) : "in") + ", " +
           std::string(verdict.key) + ", " + std::string(verdict.rule);
  };
  EXPECT_EQ(decided("http://example.com/keep/a.pdf"), "in, scope.rules, kept");
  EXPECT_EQ(decided("http://elsewhere.test/keep/drop/"), "in, scope.rules, kept");
  EXPECT_EQ(decided("http://example.com/drop/a"), "excluded by rule, scope.rules, dropped");
  EXPECT_EQ(decided("http://example.com/a.pdf"), "excluded by rule, scope.exclude, *.pdf");
  EXPECT_EQ(decided("http://other.test/never.pdf"), "excluded by rule, scope.exclude, *.pdf");
  EXPECT_EQ(decided("http://other.test/x"), "in, scope.include, other.test/*");
  EXPECT_EQ(decided("http://example.com/a"), "in, scope.type, scope.type");
  EXPECT_EQ(decided("http://elsewhere.test/a"), "out of scope, scope.type, scope.type");
}

TEST(Scope, RulesWithKindsAreForUrlsFoundSo) {
  CrawlConfig::Scope config;
  config.rules = {
      {.include = false, .pattern = "*/ads/*"},
      {.include = true, .pattern = "*", .name = "images", .kinds = {FoundAs::kResource}},
      {.include = true, .pattern = "*.test/*", .kinds = {FoundAs::kRedirect, FoundAs::kSitemap}},
      {.include = false, .pattern = "*/moved/*", .kinds = {FoundAs::kRedirect}}};
  const TestScope scope = scope_of(ScopeType::kHost, {"http://example.com/"}, config);
  const auto decided = [&scope](std::string_view link, FoundKinds found) {
    return std::string(scope.check(url(link), 1, 0, found).rule);
  };
  EXPECT_EQ(decided("http://cdn.net/a.png", {FoundAs::kResource}), "images");
  EXPECT_EQ(decided("http://cdn.net/ads/a.png", {FoundAs::kResource}), "*/ads/*");
  EXPECT_EQ(decided("http://cdn.net/a.png", {FoundAs::kNavigation}), "scope.type");
  EXPECT_EQ(decided("http://b.test/moved/", {FoundAs::kNavigation, FoundAs::kRedirect}),
            "*.test/*");
  EXPECT_EQ(decided("http://b.test/moved/", {FoundAs::kSitemap}), "*.test/*");
  EXPECT_EQ(decided("http://example.com/moved/", {FoundAs::kRedirect}), "*/moved/*");
  EXPECT_EQ(decided("http://example.com/moved/", {FoundAs::kSeed}), "scope.type");
  // A single rule is not compiled into a set.
  config.rules = {{.include = false, .pattern = "*", .kinds = {FoundAs::kForm}}};
  const TestScope alone = scope_of(ScopeType::kAny, {"http://example.com/"}, config);
  EXPECT_EQ(alone.check(url("http://a.test/"), 1, 0, {FoundAs::kForm}).reason,
            SkipReason::kExcluded);
  EXPECT_EQ(alone.check(url("http://a.test/"), 1).reason, std::nullopt);
}

TEST(Scope, RulesSeeEscapesDecodedAndNoUserInfo) {
  CrawlConfig::Scope config;
  config.exclude = {"example.com/private/*"};
  const TestScope scope = scope_of(ScopeType::kHost, {"http://example.com/"}, config);
  for (const char* link :
       {"http://example.com/private/x", "http://example.com/%70rivate/x#f",
        "https://u:p@example.com/private/", "http://EXAMPLE.com:80/a/../private/y"})
    EXPECT_EQ(reason(scope, link), SkipReason::kExcluded) << link;
  EXPECT_EQ(reason(scope, "http://example.com/?u=example.com/private/"), std::nullopt);
}

TEST(Scope, ExtraHopsLeadOutOfScopeAndExcludesHoldThere) {
  CrawlConfig::Scope config = with_max_depth(5);
  config.extra_hops = 2;
  config.exclude = {"*.pdf"};
  const TestScope scope = scope_of(ScopeType::kHost, {"http://example.com/"}, config);
  const Url off = url("http://elsewhere.test/");
  for (std::uint32_t hops : {0u, 1u}) {
    const UrlVerdict verdict = scope.check(off, 1, hops);
    EXPECT_TRUE(verdict.is_fetched() && verdict.off_scope) << hops;
    EXPECT_EQ(verdict.key, "scope.extra_hops");
  }
  EXPECT_EQ(scope.check(off, 1, 2).reason, SkipReason::kOutOfScope);
  EXPECT_EQ(scope.check(off, 1, UINT32_MAX).reason, SkipReason::kOutOfScope);
  EXPECT_EQ(scope.check(off, 6, 0).reason, SkipReason::kTooDeep);
  EXPECT_EQ(scope.check(url("http://elsewhere.test/a.pdf"), 1, 0).reason, SkipReason::kExcluded);
  const UrlVerdict back = scope.check(url("http://example.com/back"), 1, 2);
  EXPECT_TRUE(back.is_fetched() && !back.off_scope) << "back in scope, from however far";
}

TEST(Scope, LimitsOnPathAndQuery) {
  CrawlConfig::Scope config;
  config.max_path_segments = 6;
  config.max_repeated_segments = 2;
  config.max_query_parameters = 3;
  const TestScope scope = scope_of(ScopeType::kAny, {"http://h.test/"}, config);
  EXPECT_EQ(reason(scope, "http://h.test/1/2/3/4/5/6/"), std::nullopt);
  EXPECT_EQ(reason(scope, "http://h.test/1/2/3/4/5/6/7"), SkipReason::kTooManySegments);
  EXPECT_EQ(reason(scope, "http://h.test/a/a/b"), std::nullopt);
  EXPECT_EQ(reason(scope, "http://h.test/a/a/a"), SkipReason::kRepeatedSegments);
  EXPECT_EQ(reason(scope, "http://h.test/a/b/a/b/a/b"), SkipReason::kRepeatedSegments);
  EXPECT_EQ(reason(scope, "http://h.test/?a&b&c"), std::nullopt);
  EXPECT_EQ(reason(scope, "http://h.test/?a&b&c&d"), SkipReason::kTooManyParameters);
  EXPECT_EQ(reason(scope, "http://h.test/?&&&"), SkipReason::kTooManyParameters);
}

TEST(Scope, VerdictsOnLimitsNameTheirKeys) {
  CrawlConfig::Scope config = with_max_depth(3);
  config.max_url_length = 40;
  const TestScope scope = scope_of(ScopeType::kAny, {"http://h.test/"}, config);
  EXPECT_EQ(scope.check(url("http://h.test/"), 4).key, "scope.max_depth");
  EXPECT_EQ(scope.check(url("http://h.test/" + std::string(40, 'x')), 1).rule,
            "scope.max_url_length");
}

TEST(Scope, ABlocklistComesBeforeTheRules) {
  const test::TemporaryDirectory directory;
  const auto file = directory.path() / "blocked.txt";
  std::ofstream(file) << "evil.test\nhttp://example.com/ads\n";
  CrawlConfig::Scope config;
  config.blocklist = {file};
  config.include = {"*evil*"};
  config.extra_hops = 3;
  const TestScope scope = scope_of(ScopeType::kHost, {"http://example.com/"}, config);
  const UrlVerdict verdict = scope.check(url("http://www.evil.test/x"), 1);
  EXPECT_EQ(verdict.reason, SkipReason::kBlocked);
  EXPECT_EQ(verdict.key, "scope.blocklist");
  EXPECT_EQ(verdict.rule, file.string());
  EXPECT_EQ(reason(scope, "http://example.com/ads"), SkipReason::kBlocked);
  EXPECT_EQ(reason(scope, "http://example.com/ads/x"), std::nullopt);
}

TEST(Scope, ErrorsNameTheKeyAndThePatternOrFile) {
  CrawlConfig::Scope config;
  config.exclude = {"*.pdf", "re:(unclosed"};
  const auto pattern = Scope::create(config, {});
  ASSERT_FALSE(pattern.has_value());
  EXPECT_EQ(pattern.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(pattern.error().message,
              testing::AllOf(testing::HasSubstr("scope.exclude"), testing::HasSubstr("unclosed")));
  config = {};
  config.blocklist = {"/nonexistent/list.txt"};
  const auto list = Scope::create(config, {});
  ASSERT_FALSE(list.has_value());
  EXPECT_EQ(list.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(list.error().message, testing::AllOf(testing::HasSubstr("scope.blocklist"),
                                                   testing::HasSubstr("/nonexistent/list.txt")));
}

TEST(SkipCounts, CountsByReasonFromManyThreads) {
  SkipCounts counts;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&counts] {
      for (int n = 0; n < 1000; ++n) {
        counts.add(SkipReason::kTooDeep);
        counts.add(SkipReason::kRobots, 3);
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(counts[SkipReason::kTooDeep], 4000u);
  EXPECT_EQ(counts[SkipReason::kRobots], 12'000u);
  EXPECT_EQ(counts[SkipReason::kInvalidUrl], 0u);
}

TEST(SkipCounts, EveryReasonHasAnOwnName) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kSkipReasons; ++i)
    names.push_back(to_string(static_cast<SkipReason>(i)));
  for (const std::string_view name : names) {
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

}  // namespace
}  // namespace trawl
