#include "frontier/registrable_domain.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace trawl {
namespace {

std::string group(std::string_view url) {
  const auto parsed = Url::parse(url);
  return parsed ? politeness_group(*parsed) : parsed.error().message;
}

TEST(RegistrableDomain, IsThePublicSuffixAndOneLabelMore) {
  EXPECT_EQ(registrable_domain("example.com"), "example.com");
  EXPECT_EQ(registrable_domain("a.b.www.example.com"), "example.com");
  EXPECT_EQ(registrable_domain("www.example.co.uk"), "example.co.uk");
  EXPECT_EQ(registrable_domain("a.b.c.kobe.jp"), "b.c.kobe.jp") << "a wildcard rule";
  EXPECT_EQ(registrable_domain("www.city.kobe.jp"), "city.kobe.jp") << "its exception";
  EXPECT_EQ(registrable_domain("www.xn--85x722f.xn--55qx5d.cn"), "xn--85x722f.xn--55qx5d.cn");
}

TEST(RegistrableDomain, OfAnUnlistedTopLevelDomainIsItsSecondLevel) {
  EXPECT_EQ(registrable_domain("a.wiki.intranet-of-ours"), "wiki.intranet-of-ours");
}

TEST(RegistrableDomain, OfSuffixesAndSingleLabelsIsTheHostItself) {
  for (const auto* host : {"com", "co.uk", "localhost", "c.kobe.jp", "unlisted-name"}) {
    EXPECT_EQ(registrable_domain(host), host);
  }
  EXPECT_EQ(registrable_domain(""), "");
}

TEST(RegistrableDomain, OfIpAddressesIsTheAddress) {
  for (const auto* host : {"127.0.0.1", "8.8.8.8", "[::1]", "[2001:db8::1]"}) {
    EXPECT_EQ(registrable_domain(host), host);
  }
}

TEST(RegistrableDomain, IgnoresOneTrailingDot) {
  EXPECT_EQ(registrable_domain("www.example.co.uk."), "example.co.uk");
  EXPECT_EQ(registrable_domain("co.uk."), "co.uk");
  EXPECT_EQ(registrable_domain("localhost."), "localhost");
}

// Hosts without sense must give some part of themselves, in linear time.
TEST(RegistrableDomain, OfOddHostsIsAPartOfThem) {
  std::string labels;
  for (int i = 0; i < 500'000; ++i)
    labels += "a.";
  EXPECT_EQ(registrable_domain(labels + "example.com"), "example.com");
  EXPECT_EQ(registrable_domain("www." + std::string(1'000'000, 'a') + ".com").size(), 1'000'004u);
  const std::string dots(1'000'000, '.');
  for (const std::string& host :
       {std::string("."), std::string(".."), std::string("..com"), std::string("a..com"),
        std::string(".co.uk"), dots, "a" + dots + "b", labels}) {
    const std::string_view view = host;
    const std::string_view domain = registrable_domain(view);
    EXPECT_FALSE(domain.empty());
    EXPECT_GE(domain.data(), view.data());
    EXPECT_LE(domain.data() + domain.size(), view.data() + view.size());
  }
}

TEST(PolitenessGroup, IsTheHostAndAPortOfItsOwn) {
  EXPECT_EQ(group("http://www.Example.com/a?b"), "www.example.com");
  EXPECT_EQ(group("https://u:p@www.example.com/"), "www.example.com");
  EXPECT_EQ(group("http://www.example.com.:80/"), "www.example.com");
  EXPECT_EQ(group("http://www.example.com.:8080/"), "www.example.com:8080");
  EXPECT_EQ(group("http://www.example.com:443/"), "www.example.com:443");
  EXPECT_EQ(group("https://www.example.com:443/"), "www.example.com");
  EXPECT_EQ(group("http://[::1]:8080/"), "[::1]:8080");
  EXPECT_EQ(group("http://./"), ".") << "never empty";
}

}  // namespace
}  // namespace trawl
