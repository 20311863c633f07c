// When a crawl asks its hosts: P1.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "arrivals.h"
#include "crawl_fixture.h"
#include "raw_server.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::Connection;
using test::expect_apart;
using test::fast_config;
using test::finish;
using test::opened;
using test::pages_of;
using test::RawServer;
using test::run;
using test::TemporaryDirectory;
using test::wait_until;

// The requests to a host start at least `delay` apart, as the kernel saw them come.
void expect_delay(const RawServer& host, milliseconds delay, std::size_t requests) {
  SCOPED_TRACE(host.url("/"));
  expect_apart(host.arrivals(), delay, requests);
}

// A host with a root that links to `pages` others. The larger `bytes`, the longer the fetcher
// thread is busy with each.
std::unique_ptr<RawServer> star(const std::string& address, int pages, std::string robots,
                                std::size_t bytes = 0) {
  const auto answer = [=](Connection& client, const std::string& target) {
    const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
    if (target == "/robots.txt") return client.reply(head, robots);
    std::string body;
    for (int i = 0; target == "/" && i < pages; ++i)
      body += fmt::format("<a href=/{}>x</a>", i);
    while (body.size() < bytes)
      body += "<p><b>some</b> <i>text</i>";
    return client.reply(head, body);
  };
  return std::make_unique<RawServer>(answer, address);
}

void expect_delay_between_all(const CrawlConfig& config,
                              const std::vector<std::unique_ptr<RawServer>>& hosts, int pages) {
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), hosts.size() * (pages + 1));
  for (const auto& host : hosts)
    expect_delay(*host, config.politeness.delay, pages + 2);  // the root and robots.txt too
}

TEST(Crawl, P1_RequestsToAHostStartADelayApart) {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<RawServer>> hosts;
  std::vector<std::string> seeds;
  for (int i = 1; i <= 3; ++i) {
    hosts.push_back(star(fmt::format("127.0.0.{}", i), 20, ""));
    seeds.push_back(hosts.back()->url("/"));
  }
  CrawlConfig config = fast_config(directory, seeds);
  config.politeness.delay = milliseconds(30);
  config.politeness.per_host_connections = 1;
  expect_delay_between_all(config, hosts, 20);
}

// Between the lease of a URL and its request lie those of other hosts, in an order that changes,
// and the reading of their pages.
TEST(Crawl, P1_HoldsOnAThreadThatIsBusyWithManyHosts) {
  const TemporaryDirectory directory;
  std::vector<std::unique_ptr<RawServer>> hosts;
  std::vector<std::string> seeds;
  for (int i = 1; i <= 40; ++i) {
    hosts.push_back(star(fmt::format("127.0.0.{}", i), 15, "", i % 10 == 0 ? 50'000 : 0));
    seeds.push_back(hosts.back()->url("/"));
  }
  CrawlConfig config = fast_config(directory, seeds);
  config.fetch.threads = 1;
  config.fetch.connections = 40;
  config.politeness.delay = milliseconds(50);
  config.politeness.per_host_connections = 1;
  expect_delay_between_all(config, hosts, 15);
}

TEST(Crawl, P1_HoldsAcrossRestarts) {
  const TemporaryDirectory directory;
  const auto host = star("127.0.0.1", 20, "");
  CrawlConfig config = fast_config(directory, {host->url("/")});
  config.politeness.delay = milliseconds(100);
  config.politeness.per_host_connections = 1;
  OpenMode mode = OpenMode::kCreate;
  constexpr int kRuns = 4;
  for (int i = 0; i < kRuns; ++i) {
    const auto crawl = opened(config, mode);
    const std::uint64_t before = crawl->progress().fetched;
    crawl->start();
    wait_until([&] { return crawl->progress().fetched > before; });
    crawl->drain();
    finish(*crawl);
    mode = OpenMode::kResume;
  }
  expect_delay(*host, milliseconds(100), 2 * kRuns);  // robots.txt and a page at least, each time
}

TEST(Crawl, P1_CrawlDelayOfRobotsTxtIsKept) {
  const auto host = star("127.0.0.1", 10, "User-agent: *\nCrawl-delay: 0.05\n");
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {host->url("/")});
  config.politeness.per_host_connections = 1;
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 11u);
  expect_delay(*host, milliseconds(50), 12);
}

TEST(Crawl, P1_CrawlDelayIsCappedAndNeverShortensTheConfiguredDelay) {
  // An hour, were it not capped: the test would not end.
  const auto slow = star("127.0.0.1", 10, "User-agent: *\nCrawl-delay: 3600\n");
  const auto quick = star("127.0.0.2", 10, "User-agent: *\nCrawl-delay: 0.001\n");
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {slow->url("/"), quick->url("/")});
  config.politeness.delay = milliseconds(20);
  config.politeness.max_crawl_delay = milliseconds(40);
  config.politeness.per_host_connections = 1;
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 22u);
  expect_delay(*slow, milliseconds(40), 12);
  expect_delay(*quick, milliseconds(20), 12);
}

// Two hosts of one address, by their ports. Each one's first request comes before its address is
// known.
TEST(Crawl, P1_TheDelayOfAnAddressIsKeptAmongItsHosts) {
  std::vector<std::unique_ptr<RawServer>> hosts;
  std::vector<std::string> seeds;
  for (int i = 0; i < 3; ++i) {
    hosts.push_back(star("127.0.0.1", 8, ""));
    seeds.push_back(hosts.back()->url("/"));
  }
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, seeds);
  config.politeness.ip_delay = milliseconds(25);
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 27u);
  std::vector<std::chrono::nanoseconds> later;
  for (const auto& host : hosts) {
    auto arrivals = host->arrivals();
    std::ranges::sort(arrivals);
    later.insert(later.end(), arrivals.begin() + 1, arrivals.end());
  }
  expect_apart(later, milliseconds(25), 27);
}

TEST(Crawl, P1_AHostThatAnswersSlowlyIsAskedAllTheLessOften) {
  constexpr milliseconds kThought{20};
  const RawServer host([&](Connection& client, const std::string& target) {
    std::this_thread::sleep_for(kThought);
    return client.reply("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
                        target == "/" ? "<a href=/1>x</a> <a href=/2>x</a> <a href=/3>x</a>" : "");
  });
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {host.url("/")});
  config.politeness.per_host_connections = 1;
  config.politeness.adaptive_delay = 4;
  EXPECT_TRUE(run(config));
  auto arrivals = host.arrivals();
  ASSERT_EQ(arrivals.size(), 5u);
  std::ranges::sort(arrivals);
  // How fast it answers is known from the root on, which comes after robots.txt.
  expect_apart({arrivals.begin() + 1, arrivals.end()}, 4 * kThought, 4);
}

// A host whose robots.txt is answered with `refusal` so many times before it is there.
std::unique_ptr<RawServer> refusing(int times, std::string refusal) {
  auto asked = std::make_shared<std::atomic<int>>(0);
  return std::make_unique<RawServer>([=](Connection& client, const std::string& target) {
    if (target == "/robots.txt") {
      return client.reply(asked->fetch_add(1) < times ? refusal : "HTTP/1.1 200 OK\r\n", "");
    }
    return client.reply("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
                        "<a href=/1>x</a> <a href=/2>x</a>");
  });
}

TEST(Crawl, P1_RetriesForRobotsTxtKeepTheDelayToo) {
  const auto host = refusing(4, "HTTP/1.1 500 Oh\r\n");
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {host->url("/")});
  config.politeness.delay = milliseconds(30);
  config.politeness.per_host_connections = 1;
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 3u);
  EXPECT_EQ(host->requests().size(), 8u);
  expect_delay(*host, milliseconds(30), 8);
}

TEST(Crawl, P1_RetryAfterOfRobotsTxtIsKept) {
  const auto host = refusing(1, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\n");
  const TemporaryDirectory directory;
  const CrawlConfig config = fast_config(directory, {host->url("/")});
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 3u);
  auto arrivals = host->arrivals();
  ASSERT_EQ(arrivals.size(), 5u);
  std::ranges::sort(arrivals);
  EXPECT_GE(arrivals[1] - arrivals[0], std::chrono::milliseconds(999));
}

constexpr char kHtml[] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

std::string moved(const std::string& location) {
  return "HTTP/1.1 302 Found\r\nLocation: " + location + "\r\n";
}

TEST(Crawl, P1_RedirectsOfRobotsTxtKeepTheDelay) {
  const RawServer host([](Connection& client, const std::string& target) {
    if (target == "/robots.txt") return client.reply(moved("/r2"), "");
    if (target == "/r2") return client.reply(moved("r3?x"), "");
    if (target == "/r3?x") return client.reply(kHtml, "User-agent: *\nDisallow: /no\n");
    return client.reply(kHtml, "<a href=/no>x</a> <a href=/1>x</a>");
  });
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {host.url("/"), host.url("/2"), host.url("/3")});
  config.politeness.delay = milliseconds(30);
  config.politeness.per_host_connections = 1;
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 4u);
  EXPECT_EQ(host.requests().size(), 7u);
  expect_delay(host, milliseconds(30), 7);
}

TEST(Crawl, P1_RedirectsOfRobotsTxtToAnotherHostKeepTheDelayThereToo) {
  const RawServer other(
      [](Connection& client, const std::string& target) {
        if (target == "/a") return client.reply(moved("/b"), "");
        if (target == "/b") return client.reply(moved("/c"), "");
        return client.reply(kHtml, "User-agent: *\nDisallow: /no\n");
      },
      "127.0.0.2");
  const RawServer host([&](Connection& client, const std::string& target) {
    if (target == "/robots.txt") return client.reply(moved(other.url("/a")), "");
    return client.reply(kHtml, "<a href=/no>x</a>");
  });
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {host.url("/")});
  config.politeness.delay = milliseconds(30);
  config.politeness.per_host_connections = 1;
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 1u);
  EXPECT_EQ(host.requests().size(), 2u);
  EXPECT_EQ(other.requests().size(), 3u);
  expect_delay(host, milliseconds(4 * 30), 2);
  expect_delay(other, milliseconds(30), 3);
}

TEST(Crawl, P1_AKeptAliveConnectionThatEndsAtARedirectOfRobotsTxtKeepsTheDelay) {
  std::atomic<int> dropped{0};
  const RawServer host([&](Connection& client, const std::string& target) {
    if (target == "/robots.txt") return client.reply(moved("/r2"), "");
    if (target == "/r2") {
      return dropped.fetch_add(1) != 0 && client.reply(kHtml, "User-agent: *\nDisallow: /no\n");
    }
    return client.reply(kHtml, "<a href=/no>x</a>");
  });
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {host.url("/")});
  config.politeness.delay = milliseconds(30);
  config.politeness.per_host_connections = 1;
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 1u);
  EXPECT_EQ(host.requests().size(), 4u);
  expect_delay(host, milliseconds(30), 4);
}

TEST(Crawl, ACrawlDelayThatIsGoneFromRobotsTxtIsGone) {
  std::atomic<int> asked{0};
  const RawServer host([&](Connection& client, const std::string& target) {
    if (target == "/robots.txt") {
      return client.reply(kHtml, asked.fetch_add(1) == 0 ? "User-agent: *\nCrawl-delay: 1\n" : "");
    }
    return client.reply(kHtml, "");
  });
  const TemporaryDirectory directory;
  CrawlConfig config =
      fast_config(directory, {host.url("/1"), host.url("/2"), host.url("/3"), host.url("/4")});
  config.politeness.delay = milliseconds(1);
  config.politeness.per_host_connections = 1;
  config.politeness.robots_max_age = milliseconds(1);
  EXPECT_TRUE(run(config));
  EXPECT_EQ(pages_of(config).size(), 4u);
  auto arrivals = host.arrivals();
  std::ranges::sort(arrivals);
  ASSERT_GE(arrivals.size(), 7u);
  auto shortest = arrivals[1] - arrivals[0];
  EXPECT_GE(shortest, milliseconds(999)) << "it was there";
  for (std::size_t i = 1; i < arrivals.size(); ++i)
    shortest = std::min(shortest, arrivals[i] - arrivals[i - 1]);
  EXPECT_LT(shortest, milliseconds(999));
}

}  // namespace
}  // namespace trawl
