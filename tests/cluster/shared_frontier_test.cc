// Several crawlers on one frontier, each with its own threads, in one process.
#include "trawl/shared_frontier.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crawler/decide/host_limits.h"
#include "frontier/redis/redis_client.h"
#include "frontier/shared/bucket_store.h"
#include "frontier/shared/message_ids.h"
#include "frontier/shared/shared_config.h"
#include "frontier/shared/url_messages.h"
#include "frontier/store/url_identity.h"
#include "tests/cluster/redis_servers.h"
#include "tests/frontier/frontier_calls.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kBuckets = 16;

class SharedFrontierTest : public ::testing::Test, protected FrontierCalls {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_REDIS();
    server_ = std::make_unique<RedisServer>(Words{"--appendonly", "yes"});
  }
  SharedOptions options(const std::string& member) const {
    SharedOptions options{
        .cluster = {.redis = {"127.0.0.1:" + server_->port()},
                    .name = "crawl",
                    .buckets = kBuckets,
                    .member = member,
                    .takeover_after = 4s},
        .on_trouble = [](const Error& error) { ADD_FAILURE() << "trouble: " << error.message; }};
    options.politeness.delay = 0ms;
    options.politeness.leases_per_host = 4;
    options.seen.expected_urls = 100'000;
    return options;
  }
  std::unique_ptr<SharedFrontier> open(const std::string& member) const {
    return SharedFrontier::open(options(member)).value();
  }
  static bool wait_until(const std::function<bool()>& holds, std::chrono::seconds most = 20s) {
    const auto until = std::chrono::steady_clock::now() + most;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }
  static std::uint64_t owned(const SharedFrontier& frontier) {
    return frontier.cluster_status()->owned;
  }

  // Each has some, and the others are with nobody.
  static bool are_shared(const SharedFrontier& one, const SharedFrontier& two) {
    return owned(one) > 0 && owned(two) > 0 && owned(one) + owned(two) == kBuckets;
  }

  std::unique_ptr<RedisServer> server_;
};

// Sends messages to the owners of buckets.
class Inboxes {
 public:
  explicit Inboxes(const RedisServer& server)
      : client_(RedisClient::connect({.addresses = {server.address()}}).value()),
        store_(*client_, keys_, true),
        identity_(read_crawl(*client_, keys_).value().hash, Profile{}, kBuckets) {}

  Fingerprint fingerprint_of_key(std::string_view key, std::string_view queue) const {
    std::string buffer;
    return identity_.of_key(key, queue, buffer);
  }
  Fingerprint fingerprint_of(const std::string& url) const { return *identity_.of_href(url); }
  BucketId bucket_of(Fingerprint url) const { return identity_.bucket_of(url.high); }
  std::string url_in(BucketId bucket) const {
    for (int i = 0;; ++i) {
      std::string url = fmt::format("http://last{}.test/", i);
      if (bucket_of(fingerprint_of(url)) == bucket) return url;
    }
  }
  void push(BucketId bucket, const UrlRequest& request, const GivenIdentity& given) {
    const RedisCommand command = store_.encode(BucketStore::Push{
        .bucket = bucket,
        .messages = {{.id = ids_.next(),
                      .body = encode_requests(std::span(&request, 1), std::span(&given, 1))}}});
    EXPECT_EQ(store_.apply(std::span(&command, 1))[0].code, BucketStore::Written::Code::kDone);
  }

 private:
  const BucketKeys keys_{"crawl"};
  const std::unique_ptr<RedisClient> client_;
  BucketStore store_;
  const UrlIdentity identity_;
  MessageIds ids_;
};

// A tree: a page has one link to it, so that whatever is lost is missed.
struct Tree {
  static constexpr int kPages = 2000;
  static constexpr int kLinks = 3;

  static std::string url(int page) {
    return fmt::format("http://h{}.d{}.test/{}", page % 7, page % 50, page);
  }
  static std::vector<std::string> links(int page) {
    std::vector<std::string> links;
    for (int i = 1; i <= kLinks; ++i) {
      const int child = page * kLinks + i;
      if (child < kPages) links.push_back(url(child));
    }
    links.push_back(url(page / 2));  // known
    return links;
  }
};

class Fetched {
 public:
  void add(const std::string& url) {
    const std::lock_guard lock(mutex_);
    ++urls_[url];
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return urls_.size();
  }
  int most() const {
    const std::lock_guard lock(mutex_);
    int most = 0;
    for (const auto& [url, n] : urls_)
      most = std::max(most, n);
    return most;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int> urls_;
};

// Fetches until the crawl has ended, or `stop` is set.
void crawl(SharedFrontier& frontier, Fetched& fetched, const std::atomic<bool>& stop) {
  while (!stop) {
    const auto leases = frontier.lease({.max = 16, .wait = 50ms});
    ASSERT_TRUE(leases) << leases.error().message;
    for (const Lease& lease : *leases) {
      const int page = std::stoi(lease.url.substr(lease.url.rfind('/') + 1));
      fetched.add(lease.url);
      const auto links = Tree::links(page);
      ASSERT_TRUE(frontier.complete(lease.id, {.status = 200}, Requests(links).get()));
    }
    if (leases->empty() && frontier.progress()->at_end()) return;
  }
}

TEST_F(SharedFrontierTest, TwoCrawlersFetchEachPageOnceAndBothSeeTheEnd) {
  const auto one = open("one");
  const auto two = open("two");
  ASSERT_TRUE(wait_until([&] { return are_shared(*one, *two); }));
  EXPECT_EQ(one->cluster_status()->members.size(), 2u);
  ASSERT_TRUE(wait_until([&] {
    const auto members = one->cluster_status()->members;
    return members.size() == 2 && members[0].buckets + members[1].buckets == kBuckets;
  }));
  offer(*one, {Tree::url(0)});
  // Each looks for the end ten times a second, and saw it before.
  ASSERT_TRUE(wait_until([&] { return !one->progress()->at_end() && !two->progress()->at_end(); }));
  Fetched fetched;
  std::atomic<bool> stop{false};
  std::thread other([&] { crawl(*two, fetched, stop); });
  crawl(*one, fetched, stop);
  other.join();
  EXPECT_EQ(fetched.size(), std::size_t{Tree::kPages});
  EXPECT_EQ(fetched.most(), 1);
  const auto a = one->stats().value();
  const auto b = two->stats().value();
  EXPECT_EQ(a.admitted + b.admitted, std::uint64_t{Tree::kPages});
  EXPECT_EQ(a.completed + b.completed, std::uint64_t{Tree::kPages});
  EXPECT_GT(one->cluster_status()->forwarded, 0u);
  // A look at what the other did may still be under way.
  for (SharedFrontier* frontier : {one.get(), two.get()})
    EXPECT_TRUE(wait_until([&] { return frontier->progress()->finished; }));
  EXPECT_TRUE(one->close());
  EXPECT_TRUE(two->close());
}

// Each second the store is called although there is nothing to write: who asks just then hears the
// same.
TEST_F(SharedFrontierTest, TheEndStaysTheEnd) {
  const auto one = open("one");
  ASSERT_TRUE(wait_until([&] { return owned(*one) == kBuckets; }));
  offer(*one, {Tree::url(0)});
  ASSERT_TRUE(wait_until([&] { return !one->progress()->at_end(); }));
  Fetched fetched;
  const std::atomic<bool> stop{false};
  crawl(*one, fetched, stop);
  ASSERT_TRUE(wait_until([&] { return one->progress()->finished; }));
  EXPECT_FALSE(wait_until([&] { return !one->progress()->finished; }, 3s));
  EXPECT_TRUE(one->close());
}

// A crawler that comes gets a share, and one that goes hands over at once.
TEST_F(SharedFrontierTest, CrawlersComeAndGoMeanwhile) {
  auto one = open("one");
  ASSERT_TRUE(wait_until([&] { return owned(*one) == kBuckets; }));
  offer(*one, {Tree::url(0)});
  Fetched fetched;
  std::atomic<bool> stop_one{false}, stop{false};
  std::thread first([&] { crawl(*one, fetched, stop_one); });
  ASSERT_TRUE(wait_until([&] { return fetched.size() > 200; }));
  const auto two = open("two");
  std::thread second([&] { crawl(*two, fetched, stop); });
  ASSERT_TRUE(wait_until([&] { return are_shared(*one, *two); }));
  ASSERT_TRUE(wait_until([&] { return fetched.size() > 500; }));
  stop_one = true;
  first.join();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(one->close());
  one.reset();
  EXPECT_TRUE(wait_until([&] { return owned(*two) == kBuckets; }));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 3s) << "less than a lease";
  second.join();
  EXPECT_EQ(fetched.size(), std::size_t{Tree::kPages});
  EXPECT_LE(fetched.most(), 2) << "only what was leased at a hand-over is fetched again";
  EXPECT_TRUE(two->progress()->finished);
}

// The next owner reads long queues while it leases from them.
TEST_F(SharedFrontierTest, ASmallerDepthOfAUrlFarBehindInItsQueueIsKept) {
  constexpr int kUrls = 1500;
  const auto url = [](int i) { return fmt::format("http://a.test/{}", i); };
  {
    const auto first = open("one");
    ASSERT_TRUE(wait_until([&] { return owned(*first) == kBuckets; }));
    for (int i = 0; i < kUrls; ++i) {
      const std::string one = url(i);
      const UrlRequest request{.url = one, .depth = 9};
      ASSERT_TRUE(first->offer(std::span(&request, 1)));
    }
    const std::string noted = url(kUrls - 2);
    const UrlRequest nearer{.url = noted, .depth = 3};
    ASSERT_TRUE(first->offer(std::span(&nearer, 1)));
    ASSERT_TRUE(first->close());
  }
  const auto second = open("two");
  ASSERT_TRUE(wait_until([&] { return owned(*second) == kBuckets; }));
  std::map<std::string, std::uint32_t> depths;
  const std::string last = url(kUrls - 1);
  const bool all = wait_until([&] {
    const UrlRequest nearer{.url = last, .depth = 2};
    EXPECT_TRUE(second->offer(std::span(&nearer, 1)));
    const auto leases = second->lease({.max = 64}).value();
    for (const Lease& lease : leases) {
      depths[lease.url] = lease.depth;
      EXPECT_TRUE(second->complete(lease.id, {.status = 200}, {}));
    }
    return depths.size() == kUrls;
  });
  ASSERT_TRUE(all) << depths.size();
  EXPECT_EQ(depths[last], 2u);
  EXPECT_EQ(depths[url(kUrls - 2)], 3u) << "noted by the owner before";
  EXPECT_EQ(depths[url(kUrls - 3)], 9u);
}

// The one in the inbox of another bucket too, which is sent on.
TEST_F(SharedFrontierTest, A2_WhatWasPassedOnKeepsItsFingerprint) {
  const auto one = open("one");
  const auto two = open("two");
  ASSERT_TRUE(wait_until([&] { return are_shared(*one, *two); }));
  Inboxes inboxes(*server_);
  constexpr std::size_t kUrls = 40;
  std::vector<std::string> urls, keys;
  for (std::size_t i = 0; i < kUrls; ++i) {
    urls.push_back(fmt::format("HTTP://d{}.test/{}", i, i));
    keys.push_back(fmt::format("key {}", i));
  }
  for (std::size_t i = 0; i < kUrls; ++i) {
    GivenIdentity given;
    if (i % 2 == 0) given = {.queue = fmt::format("queue {}", i), .named = true};
    const UrlRequest request{.url = urls[i], .queue = given.queue};
    const std::string queue = given.named ? given.queue : fmt::format("d{}.test", i);
    given.fingerprint = inboxes.fingerprint_of_key(keys[i], queue);
    const BucketId bucket = inboxes.bucket_of(*given.fingerprint);
    inboxes.push((bucket + i) % kBuckets, request, given);
  }
  ASSERT_TRUE(wait_until([&] { return stats(*one).admitted + stats(*two).admitted == kUrls; }));
  std::map<std::string, std::string> hosts;
  for (const auto& frontier : {one.get(), two.get()}) {
    for (std::vector<Lease> leases; !(leases = frontier->lease({.max = 64}).value()).empty();) {
      for (const Lease& lease : leases)
        hosts[lease.url] = lease.host;
    }
  }
  for (std::size_t i = 0; i < kUrls; ++i) {
    const UrlRequest request{
        .url = urls[i], .key = keys[i], .queue = i % 2 == 0 ? hosts[urls[i]] : std::string_view()};
    EXPECT_EQ(hosts[urls[i]], i % 2 == 0 ? fmt::format("queue {}", i) : fmt::format("d{}.test", i));
    ASSERT_TRUE(one->offer(std::span(&request, 1)));
    ASSERT_TRUE(two->offer(std::span(&request, 1)));
  }
  // The last ones of each inbox.
  for (BucketId bucket = 0; bucket < kBuckets; ++bucket) {
    const std::string last = inboxes.url_in(bucket);
    inboxes.push(bucket, {.url = last}, {});
  }
  const auto admitted = [&] { return stats(*one).admitted + stats(*two).admitted; };
  ASSERT_TRUE(wait_until([&] { return admitted() >= kUrls + kBuckets; }));
  EXPECT_EQ(admitted(), kUrls + kBuckets);
}

TEST_F(SharedFrontierTest, A2_WhatWasPassedOnAsSeenIsSeen) {
  const auto one = open("one");
  ASSERT_TRUE(wait_until([&] { return owned(*one) == kBuckets; }));
  Inboxes inboxes(*server_);
  const std::string url = "http://a.test/";
  const Fingerprint whole = inboxes.fingerprint_of(url);
  const Fingerprint lower = {.high = whole.high >> 48 << 48, .low = whole.low};
  const BucketId bucket = inboxes.bucket_of(whole);
  for (int i = 0; i < 2; ++i)
    inboxes.push(bucket, {.url = {}, .seen_only = true}, {.fingerprint = lower});
  ASSERT_TRUE(wait_until([&] { return one->cluster_status()->messages_taken >= 2; }));
  EXPECT_EQ(offer_one(*one, url), Admission::kSeen);
  EXPECT_EQ(stats(*one).seen_only, 1u);
}

TEST_F(SharedFrontierTest, AFingerprintOfAnotherBucketThanItsHostIsInvalid) {
  const auto one = open("one");
  ASSERT_TRUE(wait_until([&] { return owned(*one) == kBuckets; }));
  Inboxes inboxes(*server_);
  const std::string url = inboxes.url_in(3), last = inboxes.url_in(4);
  inboxes.push(4, {.url = url}, {.fingerprint = inboxes.fingerprint_of(last)});
  inboxes.push(4, {.url = last}, {});
  EXPECT_EQ(urls_of(one->lease({.max = 2, .wait = 10s}).value()), std::vector<std::string>{last});
  EXPECT_EQ(stats(*one).invalid, 1u);
}

TEST_F(SharedFrontierTest, HostsOfOtherOwnersAreBlockedAndDroppedByThem) {
  const auto one = open("one");
  const auto two = open("two");
  ASSERT_TRUE(wait_until([&] { return are_shared(*one, *two); }));
  std::vector<std::string> urls;
  for (int i = 0; i < 20; ++i)
    urls.push_back(fmt::format("http://d{}.test/", i));
  offer(*one, urls);
  ASSERT_TRUE(wait_until([&] { return stats(*one).admitted + stats(*two).admitted == 20; }));
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(one->set_host(fmt::format("d{}.test", i), {.delay = 5s}));
  const auto delayed = [&] {
    std::size_t hosts = 0;
    for (const auto& frontier : {one.get(), two.get()}) {
      const auto all = frontier->hosts("", 100).value();
      for (const HostInfo& host : all)
        hosts += host.settings.delay == 5000ms ? 1 : 0;
    }
    return hosts;
  };
  EXPECT_TRUE(wait_until([&] { return delayed() == 20; })) << delayed();
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(two->drop_host(fmt::format("d{}.test", i)));
  EXPECT_TRUE(wait_until([&] { return stats(*one).dropped + stats(*two).dropped == 20; }));
  EXPECT_TRUE(wait_until([&] { return one->progress()->finished && two->progress()->finished; }));
}

TEST_F(SharedFrontierTest, P1_RequestsToHostsOfOtherOwnersAreTheDelayApart) {
  auto slow = options("one");
  slow.politeness.delay = 600s;
  const auto one = SharedFrontier::open(slow).value();
  slow.cluster.member = "two";
  const auto two = SharedFrontier::open(slow).value();
  ASSERT_TRUE(wait_until([&] { return are_shared(*one, *two); }));
  // "one" may have handed over some buckets just now, whose hosts it asks later.
  for (int i = 0; i < 20; ++i) {
    const std::string host = fmt::format("d{}.test", i);
    const auto first = two->start_elsewhere(host, "").value();
    EXPECT_EQ(first.when, StartTurn::When::kNow);
    EXPECT_TRUE(two->may_send(first));
    const auto sent = std::chrono::steady_clock::now() + 5s;  // connected slowly
    EXPECT_TRUE(two->sent(first, sent, ""));
    const StartTurn next = two->start_elsewhere(host, "").value();
    EXPECT_EQ(next.when, StartTurn::When::kLater);
    EXPECT_GE(next.at, sent + 600s);
  }
}

// The turns of requests that are being connected.
std::vector<StartTurn> begin_all(SharedFrontier& frontier, std::size_t count) {
  std::vector<StartTurn> turns;
  while (turns.size() < count) {
    const auto leases = frontier.lease({.max = 64, .wait = 5s}).value();
    if (leases.empty()) break;
    for (const Lease& lease : leases) {
      turns.push_back(frontier.start(lease.id, "").value());
      EXPECT_EQ(turns.back().when, StartTurn::When::kNow);
      EXPECT_TRUE(frontier.complete(lease.id, {.status = 200}, {}));
    }
  }
  EXPECT_EQ(turns.size(), count);
  return turns;
}

std::size_t count_sendable(const SharedFrontier& frontier, const std::vector<StartTurn>& turns) {
  return static_cast<std::size_t>(
      std::ranges::count_if(turns, [&](const StartTurn& turn) { return frontier.may_send(turn); }));
}

TEST_F(SharedFrontierTest, P1_NoRequestIsSentWhenAnotherCrawlerMayOwnItsHost) {
  auto patient = options("one");
  patient.on_trouble = nullptr;
  const auto one = SharedFrontier::open(patient).value();
  ASSERT_TRUE(wait_until([&] { return owned(*one) == kBuckets; }));
  offer(*one, {"http://a.test/"});
  const auto turns = begin_all(*one, 1);
  const StartTurn elsewhere = one->start_elsewhere("b.test", "").value();
  EXPECT_EQ(count_sendable(*one, turns), 1u);
  EXPECT_TRUE(one->may_send(elsewhere));
  server_->freeze();
  EXPECT_TRUE(wait_until([&] { return count_sendable(*one, turns) == 0; }));
  EXPECT_TRUE(wait_until([&] { return !one->may_send(elsewhere); }));
  server_->thaw();
  // Nobody took it meanwhile.
  EXPECT_TRUE(wait_until([&] { return count_sendable(*one, turns) == 1; }));
}

TEST_F(SharedFrontierTest, P1_NoRequestIsSentWhoseHostWasAnotherCrawlersMeanwhile) {
  constexpr std::size_t kHosts = 40;
  const auto one = open("one");
  ASSERT_TRUE(wait_until([&] { return owned(*one) == kBuckets; }));
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < kHosts; ++i)
    urls.push_back(fmt::format("http://d{}.test/", i));
  offer(*one, urls);
  const auto turns = begin_all(*one, kHosts);
  EXPECT_EQ(count_sendable(*one, turns), kHosts);
  const auto two = open("two");
  ASSERT_TRUE(wait_until([&] { return are_shared(*one, *two); }));
  const std::size_t kept = count_sendable(*one, turns);
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, kHosts);
  ASSERT_TRUE(two->close());
  ASSERT_TRUE(wait_until([&] { return owned(*one) == kBuckets; }));
  EXPECT_EQ(count_sendable(*one, turns), kept);
  // A turn of now may be used.
  const StartTurn elsewhere = one->start_elsewhere("d0.test", "").value();
  EXPECT_TRUE(one->may_send(elsewhere));
}

// A crawl that ended can be joined, and goes on when something is offered.
TEST_F(SharedFrontierTest, ACrawlThatEndedGoesOn) {
  {
    const auto one = open("one");
    EXPECT_TRUE(wait_until([&] { return owned(*one) == kBuckets; }));
    offer(*one, {"http://a.test/"});
    complete(*one, one->lease({.max = 1, .wait = 5s}).value().at(0), {"http://b.test/"});
    EXPECT_TRUE(one->close());
  }
  const auto two = open("two");
  EXPECT_TRUE(wait_until([&] { return owned(*two) == kBuckets; }));
  EXPECT_EQ(offer_one(*two, "http://a.test/"), Admission::kSeen);
  const auto leases = two->lease({.max = 2, .wait = 5s}).value();
  ASSERT_EQ(urls_of(leases), std::vector<std::string>{"http://b.test/"});
  complete(*two, leases[0]);
  EXPECT_TRUE(wait_until([&] { return two->progress()->finished; }));
  EXPECT_EQ(offer_one(*two, "http://c.test/"), Admission::kNew);
  EXPECT_FALSE(two->progress()->finished);
  EXPECT_EQ(two->take(SharedLimit::kPages, 100).value(), 1u) << "a hundredth";
  EXPECT_EQ(two->taken(SharedLimit::kPages).value(), 1u);
}

// A master, and its replica, that do not answer: each host of the others is fetched meanwhile.
TEST_F(SharedFrontierTest, AFrozenNodeHoldsUpNoLeaseOfOthers) {
  constexpr int kHosts = 40;
  constexpr int kUrls = 300;  // more than are in memory
  RedisClusterServers servers;
  SharedOptions with_nodes = options("one");
  with_nodes.cluster.redis.clear();
  for (const RedisAddress& node : servers.addresses())
    with_nodes.cluster.redis.push_back(node.text());
  with_nodes.cluster.durability = SharedDurability::kAsync;
  with_nodes.cluster.takeover_after = 60s;  // nothing is taken over
  with_nodes.politeness.leases_per_host = kUrls;
  with_nodes.on_trouble = nullptr;
  const auto frontier = SharedFrontier::open(with_nodes).value();
  ASSERT_TRUE(wait_until([&] { return owned(*frontier) == kBuckets; }));
  const auto host = [](int i) { return fmt::format("d{}.test", i); };
  std::vector<std::string> urls;
  for (int i = 0; i < kHosts * kUrls; ++i)
    urls.push_back(fmt::format("http://{}/{}", host(i % kHosts), i));
  offer(*frontier, urls);
  ASSERT_TRUE(frontier->flush());

  const BucketKeys keys("crawl");
  const auto client = RedisClient::connect({.addresses = servers.addresses()}).value();
  const UrlIdentity identity(read_crawl(*client, keys).value().hash, Profile{}, kBuckets);
  const auto node_of = [&](int i) {
    const BucketId bucket = identity.bucket_of(identity.host(host(i)));
    return client->slots().node_of(hash_slot(keys.meta(bucket)));
  };
  RedisServer& master = servers.server(node_of(0)->port);
  std::set<std::string> of_others;
  for (int i = 0; i < kHosts; ++i)
    if (node_of(i) != node_of(0)) of_others.insert(host(i));
  ASSERT_GT(of_others.size(), 0u);
  RedisServer& replica = servers.replica_of(master);
  replica.freeze();  // first, so that it is not promoted
  master.freeze();

  std::map<std::string, int> leased;  // by URL
  std::atomic<std::size_t> others{0}, all{0};
  std::atomic<bool> stop{false};
  std::thread fetcher([&] {
    while (!stop) {
      const auto leases = frontier->lease({.max = 64, .wait = 50ms});
      ASSERT_TRUE(leases) << leases.error().message;
      for (const Lease& lease : *leases) {
        ++leased[lease.url];
        ++all;
        if (of_others.contains(lease.host)) ++others;
      }
    }
  });
  EXPECT_TRUE(wait_until([&] { return others == of_others.size() * kUrls; })) << others;
  EXPECT_LT(all, urls.size());
  EXPECT_TRUE(wait_until([&] { return !frontier->waits_for().empty(); }));
  master.thaw();
  replica.thaw();
  EXPECT_TRUE(wait_until([&] { return all == urls.size(); })) << all;
  EXPECT_TRUE(wait_until([&] { return frontier->waits_for().empty(); }));
  stop = true;
  fetcher.join();
  EXPECT_EQ(leased.size(), urls.size()) << "each once";
}

constexpr std::uint64_t kLimit = 10;
constexpr int kFound = 50;
constexpr const char* kCrowded = "crowded.test";

// Offers links to that host as a crawler does: those that have a place, a few a page.
void find(SharedFrontier& frontier, HostUrlQuota& quota, int first, int count) {
  constexpr int kOfAPage = 4;
  for (int page = first; page < first + count; page += kOfAPage) {
    std::vector<std::string> urls;
    std::vector<HostUrlLimit::Place> places;
    for (int i = page; i < std::min(page + kOfAPage, first + count); ++i) {
      std::string url = fmt::format("http://{}/{}", kCrowded, i);
      const auto place = quota.take(kCrowded, url);
      if (!place) continue;
      places.push_back(*place);
      urls.push_back(std::move(url));
    }
    std::vector<UrlRequest> links;
    for (const std::string& url : urls)
      links.push_back({.url = url, .depth = 1, .parent = "http://a.test/"});
    const auto answers = frontier.offer(links);
    ASSERT_TRUE(answers) << answers.error().message;
    for (std::size_t i = 0; i < places.size(); ++i)
      quota.report(places[i], (*answers)[i]);
  }
}

// Only the owner knows how many there are, then the next owner.
TEST_F(SharedFrontierTest, TheUrlsOfAHostAreLimitedOverAllCrawlers) {
  HostUrlQuota quota_one(kLimit), quota_two(kLimit);
  auto with_limit = options("one");
  with_limit.url_limit = &quota_one;
  auto one = SharedFrontier::open(with_limit).value();
  with_limit = options("two");
  with_limit.url_limit = &quota_two;
  auto two = SharedFrontier::open(with_limit).value();
  ASSERT_TRUE(wait_until([&] { return are_shared(*one, *two); }));
  std::thread other([&] { find(*two, quota_two, 0, kFound); });
  find(*one, quota_one, 0, kFound);
  other.join();
  const auto beyond = [&] {
    return one->cluster_status()->over_limit + two->cluster_status()->over_limit;
  };
  // The crawler that is not the owner has sent all of them.
  ASSERT_TRUE(wait_until([&] { return beyond() == kFound - kLimit; })) << beyond();
  EXPECT_EQ(stats(*one).admitted + stats(*two).admitted, kLimit);
  EXPECT_TRUE(wait_until([&] { return stats(*one).held + stats(*two).held == kFound - kLimit; }));
  const bool is_of_one = stats(*one).admitted > 0;
  EXPECT_EQ(stats(is_of_one ? *two : *one).admitted, 0u);
  EXPECT_EQ((is_of_one ? quota_one : quota_two).count(kCrowded), kLimit);
  EXPECT_EQ((is_of_one ? quota_two : quota_one).count(kCrowded), 0u) << "is counted by its owner";

  auto& owner = is_of_one ? one : two;
  SharedFrontier& next = is_of_one ? *two : *one;
  HostUrlQuota& quota_next = is_of_one ? quota_two : quota_one;
  constexpr std::uint64_t kFetched = 3;
  for (std::uint64_t i = 0; i < kFetched; ++i)
    complete(*owner, owner->lease({.max = 1, .wait = 5s}).value().at(0));
  ASSERT_TRUE(owner->flush());
  EXPECT_TRUE(owner->close());
  owner.reset();
  ASSERT_TRUE(wait_until([&] { return owned(next) == kBuckets; }));
  EXPECT_EQ(quota_next.count(kCrowded), kLimit) << "what was fetched counts too";
  find(next, quota_next, kFound, kFound);
  EXPECT_EQ(stats(next).admitted, kLimit) << "of the whole bucket";
  EXPECT_EQ(quota_next.count(kCrowded), kLimit);

  // Also when nothing of the host waits.
  for (std::uint64_t i = kFetched; i < kLimit; ++i)
    complete(next, next.lease({.max = 1, .wait = 5s}).value().at(0));
  ASSERT_TRUE(next.flush());
  EXPECT_TRUE(next.close());
  HostUrlQuota quota_raised(kLimit + 2);
  with_limit = options("three");
  with_limit.url_limit = &quota_raised;
  const auto last = SharedFrontier::open(with_limit).value();
  ASSERT_TRUE(wait_until([&] { return owned(*last) == kBuckets; }));
  EXPECT_EQ(quota_raised.count(kCrowded), kLimit);
  find(*last, quota_raised, 2 * kFound, kFound);
  EXPECT_EQ(stats(*last).admitted, kLimit + 2);
}

// As HostPageQuota sets it.
TEST_F(SharedFrontierTest, AnotherLimitOfPagesIsForAllHostsThatCome) {
  const auto open_with = [&](std::optional<std::uint64_t> limit, const std::string& member) {
    auto with_limit = options(member);
    with_limit.politeness.leases_per_host = 1;
    with_limit.page_limit = [limit](std::string_view) { return limit; };
    auto frontier = SharedFrontier::open(with_limit).value();
    EXPECT_TRUE(wait_until([&] { return owned(*frontier) == kBuckets; }));
    return frontier;
  };
  // Fetches what it may, and returns how many those were; then another crawler takes over.
  const auto fetch = [&](SharedFrontier& frontier) {
    std::size_t fetched = 0;
    for (auto leases = frontier.lease({.max = 1, .wait = 2s}).value(); !leases.empty();
         leases = frontier.lease({.max = 1, .wait = 200ms}).value()) {
      complete(frontier, leases.at(0));
      ++fetched;
    }
    EXPECT_TRUE(frontier.close());
    return fetched;
  };
  {
    const auto one = open_with(3, "one");
    std::vector<std::string> urls;
    for (int i = 0; i < 20; ++i)
      urls.push_back(fmt::format("http://a.test/{}", i));
    offer(*one, urls);
    ASSERT_TRUE(one->set_host("a.test", {.limit = 3}));
    EXPECT_EQ(fetch(*one), 3u);
  }
  EXPECT_EQ(fetch(*open_with(3, "two")), 0u);
  EXPECT_EQ(fetch(*open_with(5, "three")), 2u);
  EXPECT_EQ(fetch(*open_with(2, "four")), 0u) << "more are fetched already";
  EXPECT_EQ(fetch(*open_with(6, "five")), 1u);
  EXPECT_EQ(fetch(*open_with(std::nullopt, "six")), 14u);
}

}  // namespace
}  // namespace trawl::test
