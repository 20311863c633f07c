// Whole crawls with other frontiers than the embedded one.
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "trawl/memory_frontier.h"

#include "crawl_fixture.h"
#include "raw_server.h"
#include "tests/crawler/unreliable_frontier.h"

namespace trawl {
namespace {

using test::fast_config;
using test::finish;
using test::keys_of;
using test::LoggedSite;
using test::pages_of;
using test::TemporaryDirectory;

void expect_whole_crawl(const CrawlConfig& config, LoggedSite& site, const CrawlOpening& opening) {
  auto crawl = Crawl::open(config, opening);
  ASSERT_TRUE(crawl) << crawl.error().message;
  (*crawl)->start();
  finish(**crawl);
  EXPECT_EQ((*crawl)->why_ended(), EndReason::kFinished);
  const auto reachable = site->reachable_urls();
  EXPECT_EQ(keys_of(pages_of(config)), reachable);
  EXPECT_EQ(site.asked(), reachable) << "each requested once";
}

// What passes is waited for: nothing is lost, fetched twice, or ends the crawl.
TEST(CrawlFrontiers, N1_AFrontierThatIsOutOfReachAtEveryThirdCallIsCrawledToTheEnd) {
  const TemporaryDirectory directory;
  LoggedSite site(directory, 150, 3);
  CrawlConfig config = fast_config(directory, site->seeds());
  expect_whole_crawl(config, site,
                     {.mode = OpenMode::kCreate,
                      .frontier = test::frontier_within([](auto frontier) {
                        return std::make_unique<test::UnreliableFrontier>(std::move(frontier));
                      })});
}

// As of a worker that was stopped for too long: another takes every fifth lease from it.
class ForgetfulFrontier final : public FrontierDecorator<ForgetfulFrontier> {
 public:
  explicit ForgetfulFrontier(std::unique_ptr<Frontier> frontier)
      : FrontierDecorator(std::move(frontier)) {}

  Result<std::vector<Lease>> lease(const LeaseRequest& request) override {
    auto leases = inner().lease(request);
    for (std::size_t i = 0; leases && i < leases->size(); ++i) {
      if (given_.fetch_add(1) % 5 == 4 && inner().release((*leases)[i].id)) ++forgotten;
    }
    return leases;
  }
  mutable std::atomic<int> forgotten = 0;

 private:
  friend FrontierDecorator;
  template <class Call>
  auto forward(Call&& call) const {
    return call();
  }
  std::atomic<int> given_ = 0;
};

TEST(CrawlFrontiers, N1_LeasesThatExpireEndNoCrawl) {
  const TemporaryDirectory directory;
  LoggedSite site(directory, 150, 3);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.politeness.delay = std::chrono::milliseconds(1);  // each request waits for its turn
  const ForgetfulFrontier* forgetful = nullptr;
  auto crawl = Crawl::open(config, {.mode = OpenMode::kCreate,
                                    .frontier = test::frontier_within([&](auto frontier) {
                                      auto around =
                                          std::make_unique<ForgetfulFrontier>(std::move(frontier));
                                      forgetful = around.get();
                                      return around;
                                    })});
  ASSERT_TRUE(crawl) << crawl.error().message;
  (*crawl)->start();
  while (!(*crawl)->ended())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ((*crawl)->why_ended(), EndReason::kFinished);
  EXPECT_GT(forgetful->forgotten.load(), 20);
  EXPECT_TRUE((*crawl)->close());
  const auto urls = keys_of(pages_of(config));
  const auto reachable = site->reachable_urls();
  EXPECT_EQ(std::set(urls.begin(), urls.end()), std::set(reachable.begin(), reachable.end()));
}

TEST(CrawlFrontiers, TheCrawlerAsksForNothingThatOnlyTheEmbeddedFrontierHas) {
  const TemporaryDirectory directory;
  LoggedSite site(directory, 400, 4);
  CrawlConfig config = fast_config(directory, site->seeds());
  config.fetch.threads = 1;  // as many as it has shards
  expect_whole_crawl(
      config, site,
      {.mode = OpenMode::kCreate, .frontier = [](const EmbeddedOptions& options, OpenReport*) {
         return MemoryFrontier::create({.politeness = options.politeness,
                                        .retry = options.retry,
                                        .limits = options.limits,
                                        .profile = options.seen.profile});
       }});
}

// As of a process that stands still while it connects: the first requests with a lease of their
// host, and the first ones without, may not be sent any more.
class StandstillFrontier final : public FrontierDecorator<StandstillFrontier, SharedFrontier> {
 public:
  StandstillFrontier(std::unique_ptr<Frontier> frontier, int standstills)
      : FrontierDecorator(std::move(frontier)), standstills_(standstills) {}

  Result<StartTurn> start(std::uint64_t lease, std::string_view address) override {
    return noted(inner().start(lease, address), Kind::kLeased);
  }
  Result<StartTurn> start_elsewhere(std::string_view host, std::string_view address) override {
    return noted(inner().start_elsewhere(host, address), Kind::kElsewhere);
  }
  bool may_send(const StartTurn& turn) const noexcept override {
    const std::lock_guard lock(mutex_);
    const auto kind = turns_.find(turn.host);
    const bool sends = kind != turns_.end() && asked_[kind->second]++ >= standstills_;
    allowed_ += sends ? 1 : 0;
    return sends;
  }
  Result<ClusterStatus> cluster_status() const override {
    ClusterStatus status;
    status.members = {{.name = "one", .buckets = 1, .is_self = true}};
    status.buckets = status.owned = 1;
    return status;
  }
  std::string waits_for() const override { return {}; }
  void stop_waiting() override {}
  Result<std::uint64_t> take(SharedLimit, std::uint64_t limit, std::uint64_t) override {
    return limit;
  }
  Result<void> give_back(SharedLimit, std::uint64_t) override { return {}; }
  Result<std::uint64_t> taken(SharedLimit) override { return 0; }

  // How many kinds of requests it was asked about.
  std::size_t kinds() const {
    const std::lock_guard lock(mutex_);
    return asked_.size();
  }
  std::size_t allowed() const {
    const std::lock_guard lock(mutex_);
    return allowed_;
  }

 private:
  enum class Kind : std::uint8_t { kLeased, kElsewhere };
  friend FrontierDecorator;
  template <class Call>
  auto forward(Call&& call) const {
    return call();
  }
  Result<StartTurn> noted(Result<StartTurn> turn, Kind kind) {
    const std::lock_guard lock(mutex_);
    if (turn && turn->when == StartTurn::When::kNow) turns_[turn->host] = kind;
    return turn;
  }
  const int standstills_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Kind> turns_;  // by StartTurn::host, which is another one each time
  mutable std::map<Kind, int> asked_;
  mutable std::size_t allowed_ = 0;
};

constexpr char kHtmlHead[] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

// One crawler of a shared crawl. Its site has three pages; with two kinds of requests its
// robots.txt redirects to another host. `kinds`: for how many it must ask whether it may send.
void expect_asks_before_it_sends(std::chrono::milliseconds delay, int standstills,
                                 std::size_t kinds) {
  const test::RawServer elsewhere(
      [](test::Connection& client, const std::string&) { return client.reply(kHtmlHead, ""); },
      "127.0.1.1");
  const std::string moved = "HTTP/1.1 302 Found\r\nLocation: " + elsewhere.url("/rules") + "\r\n";
  const test::RawServer site([&](test::Connection& client, const std::string& path) {
    if (path == "/robots.txt" && kinds > 1) return client.reply(moved, "");
    return client.reply(kHtmlHead, path == "/" ? "<a href=/1>x</a><a href=/2>x</a>" : "");
  });
  const TemporaryDirectory directory;
  CrawlConfig config = fast_config(directory, {site.url("/")});
  config.fetch.threads = 1;
  config.politeness.delay = delay;
  config.cluster.redis = {"127.0.0.1:1"};
  config.cluster.name = "crawl";
  const StandstillFrontier* frontier = nullptr;
  auto crawl = Crawl::open(
      config,
      {.mode = OpenMode::kCreate,
       .shared_frontier = [&](const SharedOptions& options,
                              OpenReport*) -> Result<std::unique_ptr<SharedFrontier>> {
         auto inner = MemoryFrontier::create(
             {.politeness = options.politeness, .retry = options.retry, .limits = options.limits});
         auto made = std::make_unique<StandstillFrontier>(*std::move(inner), standstills);
         frontier = made.get();
         return made;
       }});
  ASSERT_TRUE(crawl) << crawl.error().message;
  (*crawl)->start();
  test::wait_until([&] { return (*crawl)->ended(); });
  EXPECT_EQ((*crawl)->why_ended(), EndReason::kFinished);
  EXPECT_EQ(frontier->kinds(), kinds);
  const std::size_t sent = site.requests().size() + elsewhere.requests().size();
  EXPECT_EQ(sent, 3 + (kinds > 1 ? 2u : 1u));
  EXPECT_EQ(frontier->allowed(), kinds > 0 ? sent : 0);
  EXPECT_TRUE((*crawl)->close());
}

TEST(CrawlFrontiers, P1_NoRequestIsSentToAHostThatMayBeAnotherCrawlersByThen) {
  expect_asks_before_it_sends(std::chrono::milliseconds(1), 2, 1);
}

TEST(CrawlFrontiers, P1_NorIsOneThatARobotsTxtRedirectsTo) {
  expect_asks_before_it_sends(std::chrono::milliseconds(1), 2, 2);
}

TEST(CrawlFrontiers, RequestsThatHaveNoTurnAreSent) {
  expect_asks_before_it_sends(std::chrono::milliseconds(0), 1'000'000, 0);
}

}  // namespace
}  // namespace trawl
