#include "url/registrable_domain.h"

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
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

TEST(RegistrableDomain, CountsPrivateSuffixes) {
  EXPECT_EQ(registrable_domain("a.alice.github.io"), "alice.github.io");
  EXPECT_EQ(registrable_domain("github.io"), "github.io");
}

TEST(RegistrableDomain, IsThereOrNot) {
  for (const auto* host : {"example.com", "a.example.co.uk.", "alice.github.io", "a.b.unlisted"}) {
    EXPECT_TRUE(has_registrable_domain(host)) << host;
  }
  for (const auto* host : {"", ".", "com", "co.uk", "co.uk.", "github.io", "localhost", "127.0.0.1",
                           "[::1]", "unlisted."}) {
    EXPECT_FALSE(has_registrable_domain(host)) << host;
  }
}

// Answers are remembered, in few places: those of one host must never be another's.
TEST(RegistrableDomain, OfManyHostsInTurn) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2'000; ++i) {
      const std::string domain = fmt::format("d{}.{}", i, i % 2 == 0 ? "com" : "co.uk");
      ASSERT_EQ(registrable_domain(fmt::format("www.{}", domain)), domain);
      ASSERT_EQ(registrable_domain(domain), domain);
      ASSERT_FALSE(has_registrable_domain(i % 2 == 0 ? "com" : "co.uk"));
    }
  }
}

TEST(RegistrableDomain, OnManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 500; ++i) {
        const std::string domain = fmt::format("d{}.com", i * (t + 1));
        EXPECT_EQ(registrable_domain("www." + domain), domain);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

TEST(GroupHost, IsTheHostAsHostsAreCompared) {
  const auto host = [](std::string_view input) {
    const auto url = Url::parse(input);
    return url ? std::string(group_host(*url)) : url.error().message;
  };
  EXPECT_EQ(host("http://WWW.Example.COM.:8080/"), "www.example.com");
  EXPECT_EQ(host("http://b\xC3\xBC"
                 "cher.example/"),
            "xn--bcher-kva.example");
  EXPECT_EQ(host("http://XN--bcher-KVA.example/"), "xn--bcher-kva.example");
  EXPECT_EQ(host("http://0x7f.1/"), "127.0.0.1");
  EXPECT_EQ(host("http://127.0.0.1./"), "127.0.0.1");
  EXPECT_EQ(host("http://[0:0::0:1]/"), "[::1]");
  EXPECT_EQ(host("http://[::ffff:127.0.0.1]/"), "[::ffff:7f00:1]");
  EXPECT_EQ(host("http://./"), ".");
}

TEST(PolitenessGroup, ByDomainIsTheRegistrableOne) {
  const auto by_domain = [](std::string_view input) {
    const auto url = Url::parse(input);
    return url ? politeness_group(*url, PolitenessGroup::kDomain) : url.error().message;
  };
  EXPECT_EQ(by_domain("http://a.example.com:8080/"), "example.com");
  EXPECT_EQ(by_domain("https://example.com./"), "example.com");
  EXPECT_EQ(by_domain("http://a.alice.github.io/"), "alice.github.io");
  EXPECT_EQ(by_domain("http://0x7f.1:81/"), "127.0.0.1");
  EXPECT_EQ(by_domain("http://[::0:1]:81/"), "[::1]");
  EXPECT_EQ(by_domain("http://localhost:81/"), "localhost");
  EXPECT_EQ(by_domain("http://./"), ".") << "never empty";
}

TEST(PolitenessGroup, IsTheHostAndAPortOfItsOwn) {
  EXPECT_EQ(group("http://www.Example.com/a?b"), "www.example.com");
  EXPECT_EQ(group("https://u:p@www.example.com/"), "www.example.com");
  EXPECT_EQ(group("http://www.example.com.:80/"), "www.example.com");
  EXPECT_EQ(group("http://www.example.com.:8080/"), "www.example.com:8080");
  EXPECT_EQ(group("http://www.example.com:443/"), "www.example.com") << "https's port";
  EXPECT_EQ(group("https://www.example.com:80/"), "www.example.com") << "http's port";
  EXPECT_EQ(group("https://www.example.com:8080/"), "www.example.com:8080");
  EXPECT_EQ(group("https://www.example.com:443/"), "www.example.com");
  EXPECT_EQ(group("http://[::1]:8080/"), "[::1]:8080");
  EXPECT_EQ(group("http://./"), ".") << "never empty";
  EXPECT_EQ(politeness_group(Url()), "") << "without a URL";
  EXPECT_EQ(group_host(Url()), "");
}

}  // namespace
}  // namespace trawl
