// Every request of a crawl takes a turn of its host, its domain and its address: P1.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arrivals.h"
#include "crawl_fixture.h"
#include "dns_server.h"
#include "raw_server.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::Connection;
using test::DnsServer;
using test::expect_apart;
using test::fast_config;
using test::pages_of;
using test::RawServer;
using test::run;
using test::TemporaryDirectory;

constexpr char kPage[] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

// Many hosts at one address, or at several, all on one port; what each answers to a path is the
// test's to say.
class Street {
 public:
  using Answer = std::function<bool(Connection&, const std::string& path)>;

  explicit Street(Answer answer, std::string address = "127.0.0.1")
      : server_(std::move(answer), address),
        dns_([this, address](const std::string&, int type) -> test::dns::Answer {
          if (first_.exchange(false)) std::this_thread::sleep_for(slow_.load());
          if (type == test::dns::kA) return {{test::dns::a(address)}};
          return {};
        }) {}

  // Looking up the first name takes this long, and others wait for the name server meanwhile.
  void set_slow(milliseconds slow) { slow_ = slow; }
  std::string url(const std::string& host, const std::string& path = "/") const {
    return server_.url(path, host);
  }
  CrawlConfig config(const TemporaryDirectory& directory, std::vector<std::string> seeds) const {
    CrawlConfig config = fast_config(directory, std::move(seeds));
    config.fetch.dns_servers = {dns_.address()};
    config.fetch.ip_version = IpVersion::kV4;
    config.fetch.connections = 60;
    config.politeness.per_host_connections = 1;
    return config;
  }
  test::Arrivals arrivals() const { return server_.arrivals(); }
  std::size_t asked_for(const std::string& path) const {
    const auto requests = server_.requests();
    return static_cast<std::size_t>(std::ranges::count_if(
        requests, [&](const std::string& head) { return head.starts_with("GET " + path + " "); }));
  }

 private:
  std::atomic<bool> first_{true};
  std::atomic<milliseconds> slow_{milliseconds(0)};
  RawServer server_;
  DnsServer dns_;
};

bool answer_page(Connection& client, const std::string& path) {
  if (path == "/robots.txt") return client.reply("HTTP/1.1 404 Not Found\r\n", "");
  return client.reply(kPage, path == "/" ? "<a href=/1>x</a><a href=/2>x</a>" : "");
}

std::vector<std::string> roots(const Street& street, int hosts, const std::string& domain) {
  std::vector<std::string> seeds;
  for (int i = 0; i < hosts; ++i)
    seeds.push_back(street.url(fmt::format("h{}{}", i, domain)));
  return seeds;
}

void expect_ip_delay(std::uint32_t threads) {
  const Street street(answer_page);
  const TemporaryDirectory directory;
  CrawlConfig config = street.config(directory, roots(street, 20, ".test"));
  config.fetch.threads = threads;
  config.politeness.ip_delay = milliseconds(15);
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 60u);
  EXPECT_EQ(street.asked_for("/robots.txt"), 20u);
  expect_apart(street.arrivals(), milliseconds(15), 80);
}

TEST(CrawlTurns, P1_TheFirstRequestsToTheHostsOfAnAddressAreItsDelayApart) {
  expect_ip_delay(1);
}

TEST(CrawlTurns, P1_TheDelayOfAnAddressHoldsOverAllThreads) {
  expect_ip_delay(4);
}

TEST(CrawlTurns, P1_TheDelayOfAnAddressHoldsForHostsThatAreOneByTheirNumber) {
  const Street street(answer_page);
  const TemporaryDirectory directory;
  CrawlConfig config = street.config(
      directory, {street.url("127.0.0.1"), street.url("localhost"), street.url("x.test")});
  config.politeness.ip_delay = milliseconds(30);
  EXPECT_TRUE(run(config));
  expect_apart(street.arrivals(), milliseconds(30), 12);
}

// They are leased the delay apart, and their addresses become known at the same time.
TEST(CrawlTurns, P1_TheDelayOfADomainHoldsThoughANameTakesLongToLookUp) {
  for (const bool by_address : {false, true}) {
    SCOPED_TRACE(by_address);
    Street street(answer_page);
    street.set_slow(milliseconds(150));
    const TemporaryDirectory directory;
    CrawlConfig config = street.config(directory, roots(street, 8, ".d.test"));
    config.fetch.dns_timeout = milliseconds(60'000);
    config.politeness.domain_delay = milliseconds(20);
    config.politeness.ip_delay = milliseconds(by_address ? 30 : 0);
    EXPECT_TRUE(run(config));
    EXPECT_EQ(pages_of(config).size(), 24u);
    expect_apart(street.arrivals(), milliseconds(by_address ? 30 : 20), 32);
  }
}

TEST(CrawlTurns, P1_RequestsToAHostAreADelayApartThoughItsNameTakesLongToLookUp) {
  Street street(answer_page);
  street.set_slow(milliseconds(100));
  const TemporaryDirectory directory;
  CrawlConfig config = street.config(directory, {});
  for (int i = 0; i < 10; ++i)
    config.crawl.seeds.push_back(street.url("h.test", fmt::format("/page{}", i)));
  config.politeness.respect_robots = false;
  config.politeness.per_host_connections = 10;
  config.politeness.delay = milliseconds(20);
  EXPECT_TRUE(run(config));
  expect_apart(street.arrivals(), milliseconds(20), 10);
}

// A host that is crawled, and eight others whose robots.txt redirects to it.
void expect_kept_by_redirects(milliseconds delay, const std::string& robots,
                              const std::function<void(CrawlConfig&)>& set) {
  const Street street([&](Connection& client, const std::string& path) {
    if (path == "/robots.txt") return client.reply(kPage, robots);
    std::string body;
    for (int i = 0; path == "/" && i < 15; ++i)
      body += fmt::format("<a href=/{}>x</a>", i);
    return client.reply(kPage, body);
  });
  std::vector<std::unique_ptr<RawServer>> others;
  std::vector<std::string> seeds = {street.url("cdn.x.test")};
  for (int i = 0; i < 8; ++i) {
    others.push_back(std::make_unique<RawServer>(
        [&street, i](Connection& client, const std::string& path) {
          if (path != "/robots.txt") return client.reply(kPage, "");
          const std::string to = street.url("cdn.x.test", fmt::format("/for{}", i));
          return client.reply("HTTP/1.1 302 Found\r\nLocation: " + to + "\r\n", "");
        },
        fmt::format("127.0.1.{}", 1 + i)));
    seeds.push_back(others.back()->url("/"));
  }
  const TemporaryDirectory directory;
  CrawlConfig config = street.config(directory, seeds);
  set(config);
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 16u + 8u);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(street.asked_for(fmt::format("/for{}", i)), 1u);
  expect_apart(street.arrivals(), delay, 1 + 16 + 8);
}

TEST(CrawlTurns, P1_RedirectsOfRobotsTxtToAHostThatIsCrawledKeepItsDelay) {
  for (const std::uint32_t threads : {1u, 4u}) {
    SCOPED_TRACE(threads);
    expect_kept_by_redirects(milliseconds(25), "", [&](CrawlConfig& config) {
      config.politeness.delay = milliseconds(25);
      config.fetch.threads = threads;
    });
  }
}

TEST(CrawlTurns, P1_RedirectsOfRobotsTxtToAHostThatIsCrawledKeepItsCrawlDelay) {
  const Street street(answer_page);
  const auto slow = std::make_unique<RawServer>([&](Connection& client, const std::string& path) {
    std::string body = "User-agent: *\nCrawl-delay: 0.05\n";
    for (int i = 0; path == "/" && i < 15; ++i)
      body += fmt::format("<a href=/{}>x</a>", i);
    return client.reply(kPage, body);
  });
  std::atomic<int> number{0};
  // It is there before the others know where their robots.txt is.
  std::vector<std::unique_ptr<RawServer>> others;
  std::vector<std::string> seeds = {slow->url("/")};
  for (int i = 0; i < 5; ++i) {
    others.push_back(std::make_unique<RawServer>(
        [&](Connection& client, const std::string& path) {
          if (path != "/robots.txt") return client.reply(kPage, "");
          while (slow->requests().size() < 2)
            std::this_thread::sleep_for(milliseconds(1));
          const std::string to = slow->url(fmt::format("/for{}", ++number));
          return client.reply("HTTP/1.1 302 Found\r\nLocation: " + to + "\r\n", "");
        },
        fmt::format("127.0.1.{}", 1 + i)));
    seeds.push_back(others.back()->url("/"));
  }
  const TemporaryDirectory directory;
  CrawlConfig config = street.config(directory, seeds);
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 16u + 5u);
  expect_apart(slow->arrivals(), milliseconds(50), 1 + 16 + 5);
}

TEST(CrawlTurns, P1_RedirectsOfRobotsTxtKeepTheDelaysOfDomainAndAddressThere) {
  expect_kept_by_redirects(milliseconds(20), "", [](CrawlConfig& config) {
    config.politeness.domain_delay = milliseconds(20);
  });
  expect_kept_by_redirects(milliseconds(20), "", [](CrawlConfig& config) {
    config.politeness.ip_delay = milliseconds(20);
  });
}

TEST(CrawlTurns, P1_SitemapsAndRetriesTakeATurnOfTheirAddressToo) {
  std::atomic<int> failed{0};
  std::string maps;
  std::unique_ptr<Street> street;
  street = std::make_unique<Street>([&](Connection& client, const std::string& path) {
    if (path == "/robots.txt") return client.reply("HTTP/1.1 200 OK\r\n", maps);
    if (path == "/map.xml") {
      return client.reply("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n",
                          "<urlset><url><loc>/1</loc></url></urlset>");
    }
    if (failed.fetch_add(1) % 2 == 0)
      return client.reply("HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/html\r\n", "");
    return client.reply(kPage, "");
  });
  constexpr int kHosts = 6;
  for (int i = 0; i < kHosts; ++i)
    maps += fmt::format("Sitemap: {}\n", street->url(fmt::format("h{}.test", i), "/map.xml"));
  const TemporaryDirectory directory;
  CrawlConfig config = street->config(directory, roots(*street, kHosts, ".test"));
  config.links.sitemaps = true;
  config.politeness.retries = 30;
  config.politeness.ip_delay = milliseconds(15);
  EXPECT_TRUE(run(config));
  EXPECT_EQ(street->asked_for("/map.xml"), kHosts * 1u);
  EXPECT_GT(street->asked_for("/"), kHosts * 1u) << "some were tried again";
  expect_apart(street->arrivals(), milliseconds(15), 4 * kHosts);
}

// No URL uses up a try or is lost while it waits, nor does a page of the budget.
TEST(CrawlTurns, WhatWaitsForItsAddressLosesNothing) {
  const Street street(answer_page);
  const TemporaryDirectory directory;
  CrawlConfig config = street.config(directory, roots(street, 300, ".test"));
  config.politeness.respect_robots = false;
  config.politeness.ip_delay = milliseconds(5);
  config.politeness.retries = 0;
  config.scope.max_pages = 300;
  config.fetch.connections = 20;
  run(config);
  const auto pages = pages_of(config);
  EXPECT_EQ(pages.size(), 300u);
  for (const auto& page : pages)
    EXPECT_EQ(page["status"], 200) << page;
  expect_apart(street.arrivals(), milliseconds(5), 300);
}

}  // namespace
}  // namespace trawl
