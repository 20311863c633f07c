// One site that several threads read: the same pages, links and lines as with one thread.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/frontier_decorator.h"
#include "crawl_fixture.h"
#include "raw_server.h"

namespace trawl {
namespace {

using test::Connection;
using test::fast_config;
using test::finish;
using test::Json;
using test::keys_of;
using test::LoggedSite;
using test::pages_of;
using test::RawServer;
using test::run;
using test::run_until;
using test::TemporaryDirectory;

CrawlConfig one_site(const TemporaryDirectory& directory, const LoggedSite& site,
                     std::uint32_t threads) {
  CrawlConfig config = fast_config(directory, site->seeds());
  config.fetch.threads = threads;
  config.politeness.per_host_connections = 8;
  return config;
}

// What lines say of a page, whatever came before it; by key, as the order of answers is the
// network's.
std::map<std::string, Json> facts_of(const std::vector<Json>& pages) {
  std::map<std::string, Json> facts;
  for (const Json& page : pages) {
    Json& fact = facts[test::key_of(page["url"])];
    for (const char* name : {"status", "bytes", "links", "digest", "title", "canonical", "language",
                             "noindex", "nofollow", "redirect", "content_type"})
      fact[name] = page.value(name, Json());
  }
  return facts;
}

TEST(CrawlOneSite, ManyThreadsFindWhatOneFinds) {
  std::vector<std::map<std::string, Json>> facts;
  std::vector<std::uint64_t> new_links;
  for (const std::uint32_t threads : {1u, 4u}) {
    const TemporaryDirectory directory;
    const LoggedSite site(directory, 400, 1, LoggedSite::kShared);
    CrawlConfig config = one_site(directory, site, threads);
    config.output.warc = true;
    ASSERT_TRUE(run(config));
    const auto pages = pages_of(config);
    EXPECT_EQ(keys_of(pages), site->reachable_urls());
    EXPECT_EQ(site.asked(), site->reachable_urls()) << "each once";
    facts.push_back(facts_of(pages));
    std::uint64_t sum = 0;
    for (const Json& page : pages)
      sum += page["new_links"].get<std::uint64_t>();
    new_links.push_back(sum);
  }
  // The sites have different ports.
  ASSERT_EQ(facts[0].size(), facts[1].size());
  const auto without_urls = [](Json fact) {
    for (const char* name : {"canonical", "redirect", "digest", "bytes"})
      fact.erase(name);
    return fact.dump();
  };
  const auto sorted = [&](const std::map<std::string, Json>& of) {
    std::vector<std::string> texts;
    for (const auto& [key, fact] : of)
      texts.push_back(key.substr(key.find('/', 8)) + " " + without_urls(fact));
    std::sort(texts.begin(), texts.end());
    return texts;
  };
  EXPECT_EQ(sorted(facts[0]), sorted(facts[1]));
  EXPECT_EQ(new_links[0], new_links[1]);
}

TEST(CrawlOneSite, N1_DrainedAndResumedNothingIsAskedForTwice) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 400, 1, LoggedSite::kShared);
  const CrawlConfig config = one_site(directory, site, 4);
  OpenMode mode = OpenMode::kCreate;
  for (const std::uint64_t pages : {1u, 20u, 150u}) {
    SCOPED_TRACE(pages);
    run_until(config, mode, pages, [](Crawl& crawl) { crawl.drain(); });
    EXPECT_EQ(keys_of(pages_of(config)), site.asked()) << "what was requested was finished";
    mode = OpenMode::kResume;
  }
  EXPECT_TRUE(run(config, mode));
  EXPECT_EQ(keys_of(pages_of(config)), site->reachable_urls());
  EXPECT_EQ(site.asked(), site->reachable_urls());
}

TEST(CrawlOneSite, N1_AbortedAndResumedNothingIsLost) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 400, 1, LoggedSite::kShared);
  const CrawlConfig config = one_site(directory, site, 4);
  OpenMode mode = OpenMode::kCreate;
  for (const std::uint64_t pages : {1u, 20u, 150u}) {
    run_until(config, mode, pages, [](Crawl& crawl) { crawl.abort(); });
    mode = OpenMode::kResume;
  }
  EXPECT_TRUE(run(config, mode));
  EXPECT_EQ(keys_of(pages_of(config)), site->reachable_urls()) << "a line each";
}

// How often fetched() was called for the pages of a SlowSite.
struct FetchedPages {
  std::atomic<int> even = 0;
  std::atomic<int> odd = 0;
  int all() const { return even + odd; }
};

class CountingFrontier final : public FrontierDecorator<CountingFrontier> {
 public:
  CountingFrontier(std::unique_ptr<Frontier> frontier, FetchedPages& fetched)
      : FrontierDecorator(std::move(frontier)), fetched_(fetched) {}

  Result<std::vector<Lease>> lease(const LeaseRequest& request) override {
    auto leases = inner().lease(request);
    const std::lock_guard lock(mutex_);
    for (const Lease& lease : leases ? *leases : std::vector<Lease>())
      is_odd_[lease.id] = (lease.url.back() - '0') % 2 == 1;
    return leases;
  }
  Result<void> fetched(std::uint64_t lease, std::chrono::microseconds started_after) override {
    {
      const std::lock_guard lock(mutex_);
      ++(is_odd_.at(lease) ? fetched_.odd : fetched_.even);
    }
    return inner().fetched(lease, started_after);
  }

 private:
  friend FrontierDecorator;
  template <class Call>
  auto forward(Call&& call) const {
    return call();
  }
  FetchedPages& fetched_;
  std::mutex mutex_;
  std::map<std::uint64_t, bool> is_odd_;
};

void crawl_counting(const CrawlConfig& config, FetchedPages& fetched) {
  auto crawl = Crawl::open(
      config, {.mode = OpenMode::kCreate, .frontier = test::frontier_within([&](auto frontier) {
                                            return std::make_unique<CountingFrontier>(
                                                std::move(frontier), fetched);
                                          })});
  ASSERT_TRUE(crawl) << crawl.error().message;
  (*crawl)->start();
  finish(**crawl);
}

// The tests above rely on it.
TEST(CrawlOneSite, PagesOfTheSampleSiteWaitForOtherThreads) {
  const TemporaryDirectory directory;
  const LoggedSite site(directory, 400, 1, LoggedSite::kShared);
  FetchedPages fetched;
  crawl_counting(one_site(directory, site, 4), fetched);
  EXPECT_GT(fetched.all(), 20);
}

constexpr std::string_view kGoodAnswer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

// A root that links to pages that take a while to read; the answers of odd ones begin with `odd`.
struct SlowSite {
  static constexpr int kPages = 200;
  static constexpr std::size_t kConnections = 4;

  explicit SlowSite(std::string_view odd = kGoodAnswer, std::size_t bytes = 40'000) {
    server = std::make_unique<RawServer>([=, this](Connection& client, const std::string& target) {
      const bool is_odd = (target.back() - '0') % 2 == 1;
      const bool is_page = target != "/" && target != "/robots.txt";
      std::string body;
      for (int i = 0; target == "/" && i < kPages; ++i)
        body += fmt::format("<a href=/{}>x</a>", i);
      while (is_page && body.size() < bytes)
        body += "<p><b>some</b> <i>text</i>";
      const int now = ++open;
      for (int most = most_open; most < now && !most_open.compare_exchange_weak(most, now);) {
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      // Its client may send the next as soon as it has the answer.
      --open;
      return client.reply(std::string(is_page && is_odd ? odd : kGoodAnswer), body);
    });
  }

  // Crawls it with several threads.
  void crawl(double adaptive_delay = 0) {
    const TemporaryDirectory directory;
    CrawlConfig config = fast_config(directory, {server->url("/")});
    config.fetch.threads = 3;
    config.politeness.per_host_connections = kConnections;
    config.politeness.adaptive_delay = adaptive_delay;
    config.politeness.retries = 0;
    crawl_counting(config, fetched);
    EXPECT_GE(pages_of(config).size(), kConnections);
    EXPECT_LE(most_open.load(), static_cast<int>(kConnections));
  }

  FetchedPages fetched;
  std::atomic<int> open = 0;
  std::atomic<int> most_open = 0;
  std::unique_ptr<RawServer> server;  // the last: it uses the others
};

TEST(CrawlOneSite, APageThatWaitsToBeReadMakesRoomForTheNextAndForNoMore) {
  SlowSite site;
  site.crawl();
  EXPECT_GT(site.fetched.all(), 0);
  EXPECT_EQ(site.most_open.load(), static_cast<int>(SlowSite::kConnections));
}

TEST(CrawlOneSite, SmallPagesDoNotWaitForAnotherThread) {
  SlowSite site(kGoodAnswer, 2'000);
  site.crawl();
  EXPECT_EQ(site.fetched.all(), 0);
}

// They are what says when the host may be asked again.
TEST(CrawlOneSite, P1_FailuresAndResponseTimesAreCountedBeforeTheNextRequest) {
  for (const std::string_view failing : {"HTTP/1.1 500 Oh\r\nContent-Type: text/html\r\n",
                                         "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"}) {
    SCOPED_TRACE(failing);  // the second is not gzip
    SlowSite site(failing);
    site.crawl();
    EXPECT_EQ(site.fetched.odd, 0);
    EXPECT_GT(site.fetched.even, 0);
  }
  constexpr double kTooLittleToMatter = 1e-6;
  SlowSite site;
  site.crawl(kTooLittleToMatter);
  EXPECT_EQ(site.fetched.all(), 0);
}

}  // namespace
}  // namespace trawl
