#include "crawler/scope.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

Url url(std::string_view text) {
  auto parsed = Url::parse(text);
  if (!parsed) ADD_FAILURE() << text << ": " << parsed.error().message;
  return parsed ? *parsed : *Url::parse("http://unparsable.invalid/");
}

Scope scope_of(ScopeType type, const std::vector<std::string>& seeds,
               CrawlConfig::Scope config = {}) {
  config.type = type;
  std::vector<Url> urls;
  for (const std::string& seed : seeds)
    urls.push_back(url(seed));
  return Scope(config, urls);
}

CrawlConfig::Scope with_max_depth(std::uint32_t depth) {
  CrawlConfig::Scope config;
  config.max_depth = depth;
  return config;
}

bool covers(const Scope& scope, std::string_view link) {
  const SkipReason reason = scope.check(url(link), 1);
  EXPECT_TRUE(reason == SkipReason::kReasons || reason == SkipReason::kOutOfScope) << link;
  return reason == SkipReason::kReasons;
}

TEST(Scope, AnyCoversEveryHost) {
  const Scope scope = scope_of(ScopeType::kAny, {"http://example.com/"});
  EXPECT_TRUE(covers(scope, "http://example.com/x"));
  EXPECT_TRUE(covers(scope, "https://other.example.org:8443/?q"));
  EXPECT_TRUE(covers(scope, "http://[2001:db8::1]/"));
}

TEST(Scope, HostCoversTheSeedsHostsAndNoOthers) {
  const Scope scope = scope_of(ScopeType::kHost, {"http://example.com/a/b", "http://two.test/"});
  EXPECT_TRUE(covers(scope, "http://example.com/"));
  EXPECT_TRUE(covers(scope, "http://example.com/elsewhere?q=1#f"));
  EXPECT_TRUE(covers(scope, "http://EXAMPLE.com/"));
  EXPECT_TRUE(covers(scope, "http://user:pw@example.com/"));
  EXPECT_TRUE(covers(scope, "http://two.test/x"));
  EXPECT_FALSE(covers(scope, "http://www.example.com/"));
  EXPECT_FALSE(covers(scope, "http://example.com.evil.test/"));
  EXPECT_FALSE(covers(scope, "http://notexample.com/"));
  EXPECT_FALSE(covers(scope, "http://com/"));
  EXPECT_FALSE(covers(scope, "http://example.com@evil.test/"));
}

TEST(Scope, HostCoversHttpAndHttpsOnTheirDefaultPorts) {
  for (const char* seed : {"http://example.com/", "https://example.com/"}) {
    const Scope scope = scope_of(ScopeType::kHost, {seed});
    EXPECT_TRUE(covers(scope, "http://example.com/x")) << seed;
    EXPECT_TRUE(covers(scope, "https://example.com/x")) << seed;
    EXPECT_TRUE(covers(scope, "http://example.com:80/x")) << seed;
    EXPECT_TRUE(covers(scope, "https://example.com:443/x")) << seed;
    EXPECT_FALSE(covers(scope, "http://example.com:8080/x")) << seed;
    EXPECT_TRUE(covers(scope, "http://example.com:443/x")) << seed << ": the same server";
  }
}

TEST(Scope, HostKeepsToThePort) {
  const Scope scope = scope_of(ScopeType::kHost, {"http://127.0.0.1:8080/"});
  EXPECT_TRUE(covers(scope, "http://127.0.0.1:8080/x"));
  EXPECT_TRUE(covers(scope, "http://0x7f.1:8080/x")) << "another spelling of the address";
  EXPECT_FALSE(covers(scope, "http://127.0.0.1/x"));
  EXPECT_FALSE(covers(scope, "http://127.0.0.1:8081/x"));
  EXPECT_FALSE(covers(scope, "http://127.0.0.2:8080/x"));
}

TEST(Scope, HostIgnoresATrailingDot) {
  const Scope scope = scope_of(ScopeType::kHost, {"http://example.com./"});
  EXPECT_TRUE(covers(scope, "http://example.com/"));
  EXPECT_TRUE(covers(scope, "http://example.com./"));
}

TEST(Scope, DomainCoversAllHostsOfTheRegistrableDomain) {
  const Scope scope = scope_of(ScopeType::kDomain, {"http://www.example.co.uk/start"});
  EXPECT_TRUE(covers(scope, "http://example.co.uk/"));
  EXPECT_TRUE(covers(scope, "https://a.b.example.co.uk:8443/x"));
  EXPECT_TRUE(covers(scope, "http://www.example.co.uk./x"));
  EXPECT_FALSE(covers(scope, "http://other.co.uk/"));
  EXPECT_FALSE(covers(scope, "http://co.uk/"));
  EXPECT_FALSE(covers(scope, "http://notexample.co.uk/"));
  EXPECT_FALSE(covers(scope, "http://example.co.uk.evil.test/"));
}

TEST(Scope, DomainOfAPublicSuffixIsThatHostAlone) {
  const Scope scope = scope_of(ScopeType::kDomain, {"http://co.uk/"});
  EXPECT_TRUE(covers(scope, "http://co.uk/x"));
  EXPECT_FALSE(covers(scope, "http://example.co.uk/"));
}

TEST(Scope, DomainOfAnAddressOrALabelIsThatHostAlone) {
  const Scope v4 = scope_of(ScopeType::kDomain, {"http://192.0.2.7/"});
  EXPECT_TRUE(covers(v4, "https://192.0.2.7:8443/x"));
  EXPECT_FALSE(covers(v4, "http://198.51.2.7/"));
  EXPECT_FALSE(covers(v4, "http://192.0.3.7/"));
  const Scope v6 = scope_of(ScopeType::kDomain, {"http://[2001:db8::7]/"});
  EXPECT_TRUE(covers(v6, "http://[2001:DB8:0::7]/x"));
  EXPECT_FALSE(covers(v6, "http://[2001:db8::8]/"));
  const Scope label = scope_of(ScopeType::kDomain, {"http://localhost:8080/"});
  EXPECT_TRUE(covers(label, "http://localhost/"));
  EXPECT_FALSE(covers(label, "http://otherhost/"));
}

TEST(Scope, PrefixCoversTheDirectoryOfTheSeed) {
  const Scope scope = scope_of(ScopeType::kPrefix, {"http://example.com/docs/start.html?v=/x/"});
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
  const Scope scope = scope_of(ScopeType::kPrefix, {"http://example.com/docs/"});
  EXPECT_TRUE(covers(scope, "http://example.com/docs/x"));
  EXPECT_FALSE(covers(scope, "http://example.com/other/x"));
}

TEST(Scope, PrefixOfARootIsTheHost) {
  const Scope scope = scope_of(ScopeType::kPrefix, {"http://example.com", "http://b.test/x/y"});
  EXPECT_TRUE(covers(scope, "http://example.com/any/thing"));
  EXPECT_TRUE(covers(scope, "http://b.test/x/"));
  EXPECT_FALSE(covers(scope, "http://b.test/"));
  EXPECT_FALSE(covers(scope, "http://sub.example.com/"));
}

TEST(Scope, DepthIsTheLinksOwnAndTheLimitIncluded) {
  const Scope scope = scope_of(ScopeType::kAny, {"http://h.test/"}, with_max_depth(2));
  EXPECT_EQ(scope.check(url("http://h.test/"), 0), SkipReason::kReasons);
  EXPECT_EQ(scope.check(url("http://h.test/"), 2), SkipReason::kReasons);
  EXPECT_EQ(scope.check(url("http://h.test/"), 3), SkipReason::kTooDeep);
  const Scope seeds_only = scope_of(ScopeType::kAny, {"http://h.test/"}, with_max_depth(0));
  EXPECT_EQ(seeds_only.check(url("http://h.test/"), 0), SkipReason::kReasons);
  EXPECT_EQ(seeds_only.check(url("http://h.test/"), 1), SkipReason::kTooDeep);
  const Scope unlimited = scope_of(ScopeType::kAny, {"http://h.test/"});
  EXPECT_EQ(unlimited.check(url("http://h.test/"), UINT32_MAX), SkipReason::kReasons);
}

TEST(Scope, LengthIsThatOfTheUrlWithoutItsFragment) {
  const std::string at_limit = "http://h.test/" + std::string(26, 'a');
  ASSERT_EQ(at_limit.size(), 40u);
  CrawlConfig::Scope config;
  config.max_url_length = 40;
  const Scope scope = scope_of(ScopeType::kAny, {"http://h.test/"}, config);
  EXPECT_EQ(scope.check(url(at_limit), 1), SkipReason::kReasons);
  EXPECT_EQ(scope.check(url(at_limit + "#" + std::string(500, 'f')), 1), SkipReason::kReasons);
  EXPECT_EQ(scope.check(url(at_limit + "a"), 1), SkipReason::kTooLong);
  EXPECT_EQ(scope.check(url(at_limit + "?"), 1), SkipReason::kTooLong);
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
  for (auto i = 0; i <= static_cast<int>(SkipReason::kReasons); ++i)
    names.push_back(to_string(static_cast<SkipReason>(i)));
  for (const std::string_view name : names) {
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

}  // namespace
}  // namespace trawl
