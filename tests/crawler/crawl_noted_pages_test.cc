// Pages that wait to be read by another thread, whose requests no longer count:
// Frontier::fetched().
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/frontier_decorator.h"
#include "crawl_fixture.h"
#include "crawler/run/unread_pages.h"
#include "raw_server.h"

namespace trawl {
namespace {

using namespace std::chrono_literals;
using test::Connection;
using test::fast_config;
using test::finish;
using test::key_of;
using test::keys_of;
using test::pages_of;
using test::RawServer;
using test::run;
using test::TemporaryDirectory;

// The leases that were passed to fetched(), and those of them that did not end.
class NotedLeases {
 public:
  // Called in fetched(), before the page waits.
  std::function<void()> on_noted = [] {};

  void add(std::uint64_t lease) {
    {
      const std::lock_guard lock(mutex_);
      open_.insert(lease);
      most_ = std::max(most_, open_.size());
      ++total_;
    }
    on_noted();
  }
  void end(std::uint64_t lease) {
    const std::lock_guard lock(mutex_);
    open_.erase(lease);
  }
  std::size_t open() const { return locked(open_).size(); }
  std::size_t most() const { return locked(most_); }
  std::size_t total() const { return locked(total_); }

 private:
  template <class T>
  T locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }
  mutable std::mutex mutex_;
  std::set<std::uint64_t> open_;
  std::size_t most_ = 0;
  std::size_t total_ = 0;
};

class NotingFrontier final : public FrontierDecorator<NotingFrontier> {
 public:
  NotingFrontier(std::unique_ptr<Frontier> frontier, NotedLeases& noted)
      : FrontierDecorator(std::move(frontier)), noted_(noted) {}

  Result<void> fetched(std::uint64_t lease, std::chrono::microseconds started_after) override {
    auto done = inner().fetched(lease, started_after);
    if (done) noted_.add(lease);
    return done;
  }
  Result<std::vector<Admission>> complete(std::uint64_t lease, const Outcome& outcome,
                                          std::span<const UrlRequest> links) override {
    noted_.end(lease);
    return inner().complete(lease, outcome, links);
  }

 private:
  friend FrontierDecorator;
  template <class Call>
  auto forward(Call&& call) const {
    return call();
  }
  NotedLeases& noted_;
};

// A host with the pages /0, /1, ...: each links to new ones, so that some always wait, until the
// test has seen enough. Answers of a page are always the same.
class GrowingSite {
 public:
  // How many pages are linked before they are requested.
  static constexpr int kAhead = 40;

  // `size_of(i)` is the least size of page i.
  explicit GrowingSite(std::function<std::size_t(int)> size_of = [](int) { return 20'000; })
      : size_of_(std::move(size_of)),
        server_(std::make_unique<RawServer>([this](Connection& client, const std::string& target) {
          return answer(client, target);
        })) {}

  void grow(bool grows) { grows_ = grows; }
  // Then the next page links to so many others. Their answers wait until `places` of them are
  // requested at the same time, and until more had the time to be.
  void end_with_gates(int gates, int places) {
    const std::lock_guard lock(mutex_);
    gates_ = gates;
    places_ = places;
    grows_ = false;
  }

  std::string seed() const { return server_->url("/0"); }
  // The keys of all pages; of all requests for them. In order.
  std::vector<std::string> linked() const {
    const std::lock_guard lock(mutex_);
    std::set<std::string> targets = {"/0"};
    for (const auto& [page, links] : links_)
      targets.insert(links.begin(), links.end());
    return keys({targets.begin(), targets.end()});
  }
  std::vector<std::string> asked() const {
    std::vector<std::string> targets;
    for (const std::string& head : server_->requests()) {
      const auto start = head.find(' ') + 1;
      std::string target = head.substr(start, head.find(' ', start) - start);
      if (target != "/robots.txt") targets.push_back(std::move(target));
    }
    return keys(targets);
  }
  // From page to page, with repeats.
  std::multiset<std::pair<std::string, std::string>> links() const {
    const std::lock_guard lock(mutex_);
    std::multiset<std::pair<std::string, std::string>> all;
    for (const auto& [page, links] : links_) {
      for (const std::string& link : links)
        all.emplace(server_->url(page), server_->url(link));
    }
    return all;
  }
  int most_open() const { return most_open_; }
  int most_at_gates() const {
    const std::lock_guard lock(mutex_);
    return most_at_gates_;
  }

 private:
  std::vector<std::string> keys(const std::vector<std::string>& targets) const {
    std::vector<std::string> keys;
    for (const std::string& target : targets)
      keys.push_back(key_of(server_->url(target)));
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  bool answer(Connection& client, const std::string& target) {
    if (target == "/robots.txt") return client.reply("HTTP/1.1 404 Not Found\r\n", "");
    const int now = ++open_;
    for (int most = most_open_; most < now && !most_open_.compare_exchange_weak(most, now);) {
    }
    std::string body;
    if (target.starts_with("/gate")) {
      wait_at_gate();
    } else {
      const int page = std::stoi(target.substr(1));
      for (const std::string& link : links_of(page))
        body += fmt::format("<a href={}>x</a>", link);
      const std::size_t size = size_of_(page);
      while (body.size() < size)
        body += "<p><b>some</b> <i>text</i>";
    }
    // Its client may send the next as soon as it has the answer.
    --open_;
    return client.reply("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", body);
  }

  std::vector<std::string> links_of(int page) {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = links_.try_emplace(fmt::format("/{}", page));
    std::vector<std::string>& links = known->second;
    if (!is_new) return links;
    // Also some that are known.
    links = {"/0", fmt::format("/{}", page), fmt::format("/{}", page / 2)};
    for (; grows_ && next_ <= page + kAhead; ++next_)
      links.push_back(fmt::format("/{}", next_));
    for (; !grows_ && gates_ > 0; --gates_)
      links.push_back(fmt::format("/gate{}", gates_));
    return links;
  }

  void wait_at_gate() {
    std::unique_lock lock(mutex_);
    most_at_gates_ = std::max(most_at_gates_, ++at_gates_);
    changed_.notify_all();
    // A deadline for tests that fail.
    changed_.wait_for(lock, 20s, [&] { return gates_open_ || at_gates_ >= places_; });
    changed_.wait_for(lock, 50ms, [&] { return gates_open_ || at_gates_ > places_; });
    gates_open_ = true;
    --at_gates_;
    changed_.notify_all();
  }

  const std::function<std::size_t(int)> size_of_;
  std::atomic<bool> grows_ = true;
  std::atomic<int> open_ = 0;
  std::atomic<int> most_open_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> links_;
  int next_ = 1;
  int gates_ = 0;
  int places_ = 0;
  int at_gates_ = 0;
  int most_at_gates_ = 0;
  bool gates_open_ = false;
  std::condition_variable changed_;
  std::unique_ptr<RawServer> server_;  // the last: it uses the others
};

CrawlConfig config_of(const TemporaryDirectory& directory, const GrowingSite& site,
                      std::uint32_t threads) {
  CrawlConfig config = fast_config(directory, {site.seed()});
  config.fetch.threads = threads;
  return config;
}

std::unique_ptr<Crawl> opened(const CrawlConfig& config, OpenMode mode, NotedLeases& noted) {
  auto crawl = Crawl::open(
      config, {.mode = mode, .frontier = test::frontier_within([&](auto frontier) {
                               return std::make_unique<NotingFrontier>(std::move(frontier), noted);
                             })});
  EXPECT_TRUE(crawl) << crawl.error().message;
  return *std::move(crawl);
}

// Crawls to the end.
void crawl_all(const CrawlConfig& config, NotedLeases& noted) {
  const auto crawl = opened(config, OpenMode::kCreate, noted);
  crawl->start();
  finish(*crawl);
  EXPECT_EQ(crawl->why_ended(), EndReason::kFinished);
  EXPECT_EQ(noted.open(), 0u);
}

// Crawls a site that grows, and stops the crawl when a page was noted and is about to wait: its
// fetcher stands still until then.
void stop_when_noted(const CrawlConfig& config, OpenMode mode, GrowingSite& site,
                     NotedLeases& noted, void (Crawl::*stop)()) {
  std::binary_semaphore has_noted{0};
  std::binary_semaphore has_stopped{0};
  noted.on_noted = [&, first = true]() mutable {
    if (!std::exchange(first, false)) return;
    has_noted.release();
    has_stopped.acquire();
  };
  site.grow(true);
  const auto crawl = opened(config, mode, noted);
  crawl->start();
  has_noted.acquire();
  site.grow(false);
  (*crawl.*stop)();
  has_stopped.release();
  finish(*crawl);
}

TEST(CrawlNotedPages, N1_DrainedTheyEndAndNothingIsAskedForTwice) {
  GrowingSite site;
  const TemporaryDirectory directory;
  const CrawlConfig config = config_of(directory, site, 3);
  for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kResume}) {
    NotedLeases noted;
    stop_when_noted(config, mode, site, noted, &Crawl::drain);
    EXPECT_EQ(noted.open(), 0u);
    EXPECT_EQ(keys_of(pages_of(config)), site.asked()) << "what was requested was finished";
    EXPECT_NE(site.asked(), site.linked()) << "something is left";
  }
  EXPECT_TRUE(run(config, OpenMode::kResume));
  EXPECT_EQ(keys_of(pages_of(config)), site.linked());
  EXPECT_EQ(site.asked(), site.linked()) << "each once";
}

TEST(CrawlNotedPages, N1_AbortedTheyAreFetchedAgainAndNothingIsLost) {
  GrowingSite site;
  const TemporaryDirectory directory;
  CrawlConfig config = config_of(directory, site, 3);
  // So few pages are not finished in the round in which they came.
  config.politeness.per_host_connections = 2;
  std::map<std::string, std::ptrdiff_t> finished;  // how often each was asked for until then
  for (const OpenMode mode : {OpenMode::kCreate, OpenMode::kResume}) {
    NotedLeases noted;
    stop_when_noted(config, mode, site, noted, &Crawl::abort);
    EXPECT_GT(noted.open(), 0u) << "they waited";
    const auto asked = site.asked();
    for (const std::string& page : keys_of(pages_of(config)))
      finished.try_emplace(page, std::ranges::count(asked, page));
  }
  EXPECT_TRUE(run(config, OpenMode::kResume));
  EXPECT_EQ(keys_of(pages_of(config)), site.linked()) << "a line each";
  const auto asked = site.asked();
  for (const auto& [page, times] : finished)
    EXPECT_EQ(std::ranges::count(asked, page), times) << page << " was asked for again";
}

TEST(CrawlNotedPages, TheirConnectionsAreAllUsedAgainAndNoneTwice) {
  constexpr int kConnections = 4;
  GrowingSite site;
  NotedLeases noted;
  noted.on_noted = [&] {
    if (noted.total() == 60) site.end_with_gates(kConnections + 1, kConnections);
  };
  const TemporaryDirectory directory;
  CrawlConfig config = config_of(directory, site, 3);
  config.fetch.connections = kConnections;
  config.politeness.per_host_connections = 2 * kConnections;
  crawl_all(config, noted);
  EXPECT_EQ(site.most_at_gates(), kConnections);
  EXPECT_EQ(site.most_open(), kConnections);
  EXPECT_EQ(site.asked(), site.linked());
}

TEST(CrawlNotedPages, SixThreadsFollowTheLinksOfAHost) {
  GrowingSite site;
  NotedLeases noted;
  noted.on_noted = [&] {
    if (noted.total() == 60) site.grow(false);
  };
  const TemporaryDirectory directory;
  CrawlConfig config = config_of(directory, site, 6);
  config.output.links = true;
  crawl_all(config, noted);
  EXPECT_EQ(site.asked(), site.linked()) << "each once";
  EXPECT_EQ(keys_of(pages_of(config)), site.linked());
  std::multiset<std::pair<std::string, std::string>> links;
  std::ifstream file(output_directory(config) / "links.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto link = test::Json::parse(line);
    links.emplace(link["from"], link["to"]);
  }
  EXPECT_EQ(links, site.links());
}

// While one page is read, which takes long, others come and wait to be finished after it.
TEST(CrawlNotedPages, TheyAreNotMoreThanThereArePlaces) {
  GrowingSite site([](int page) { return page % GrowingSite::kAhead == 8 ? 600'000 : 20'000; });
  NotedLeases noted;
  noted.on_noted = [&] {
    if (noted.most() >= UnreadPages::kPlaces) site.grow(false);
  };
  const TemporaryDirectory directory;
  CrawlConfig config = config_of(directory, site, 3);
  config.links.engine = LinkEngine::kGumbo;
  crawl_all(config, noted);
  EXPECT_EQ(noted.most(), UnreadPages::kPlaces);
}

}  // namespace
}  // namespace trawl
