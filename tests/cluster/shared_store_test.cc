// The buckets of a crawler in a real redis-server: while they change owners, and while Redis is
// away.
#include "frontier/shared/shared_store.h"

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/wall_time.h"
#include "frontier/shared/queue_depths_reader.h"
#include "frontier/shared/url_messages.h"
#include "frontier/store/set_aside_record.h"
#include "frontier/store/store_records.h"
#include "tests/cluster/owner_batches.h"
#include "tests/cluster/redis_fixture.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::host_in;
using test::identity;
using test::kBuckets;
using test::OwnerBatches;
using test::url_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct Taken {
  Counters counters;
  std::set<std::uint64_t> fingerprints;
  std::vector<LoadedHost> hosts;
};

class SharedStoreTest : public test::RedisFixture {
 protected:
  void SetUp() override {
    RedisFixture::SetUp();
    if (client_ == nullptr) return;
    buckets_ = std::make_unique<BucketStore>(*client_, BucketKeys("crawl"), true);
  }
  std::unique_ptr<SharedStore> open(bool replicated = true) {
    auto store = SharedStore::open(
        {.redis = {.addresses = {server_->address()}},
         .crawl = "crawl",
         .replicated = replicated,
         .identity = identity(),
         .lost = [this](BucketId bucket,
                        const Error& error) { lost_.emplace_back(bucket, error.code); },
         .clock = [this] { return now_.load(); },
         .patience = milliseconds(200)});
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }
  BucketMeta claim(BucketId bucket, const std::string& token) {
    const auto owners = buckets_->owners(std::span(&bucket, 1));
    const BucketStore::Claim claim{.bucket = bucket, .seen = owners[0].value(), .token = token};
    const auto claimed = buckets_->claim(std::span(&claim, 1));
    EXPECT_EQ(claimed[0].result.code, BucketStore::Written::Code::kDone);
    return claimed[0].meta;
  }
  Taken take(SharedStore& store, BucketId bucket, const std::string& token) {
    Taken taken;
    const auto counters =
        store.take(bucket, token, claim(bucket, token),
                   {.fingerprints =
                        [&](std::span<const Fingerprint> urls) {
                          for (const Fingerprint url : urls)
                            taken.fingerprints.insert(url.low);
                        },
                    .beginning = 2,
                    .host = [&](const LoadedHost& host) { taken.hosts.push_back(host); }});
    EXPECT_TRUE(counters) << counters.error().message;
    taken.counters = counters.value_or(Counters{});
    return taken;
  }
  static std::vector<std::string> read_queue(const SharedStore& store, const std::string& host) {
    QueueRead read{.host = identity().host(host), .limit = 1u << 30};
    EXPECT_TRUE(store.read_queues(std::span(&read, 1)));
    EXPECT_TRUE(read.ended);
    std::vector<std::string> urls;
    for (const QueuedUrl& url : read.urls)
      urls.emplace_back(decode_record(url.record)->url);
    return urls;
  }
  std::vector<InboxMessage> inbox(BucketId bucket) {
    return buckets_->read_inboxes(std::span(&bucket, 1), 1000)[0].value();
  }
  // The URLs in an inbox.
  std::vector<std::string> passed_on(BucketId bucket) {
    std::vector<std::string> urls;
    for (const InboxMessage& message : inbox(bucket)) {
      const auto requests = decode_requests(message.body);
      for (const UrlRequest& request : requests.value().requests)
        urls.emplace_back(request.url);
    }
    return urls;
  }
  // Calls until it is so.
  template <class Is>
  static void wait_for(Is is) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(milliseconds(5));
    EXPECT_TRUE(is());
  }

  std::unique_ptr<BucketStore> buckets_;
  std::vector<std::pair<BucketId, ErrorCode>> lost_;
  std::atomic<SteadyTime> now_{SteadyTime(std::chrono::hours(1))};
};

TEST_F(SharedStoreTest, HostsAndUrlsAreThoseOfTheirBuckets) {
  auto store = open();
  const std::string one = host_in(3), other = host_in(9), foreign = host_in(5);
  take(*store, 3, "a");
  take(*store, 9, "b");
  OwnerBatches third(3), ninth(9);
  third.admit(url_of(one, 1));
  third.admit({.url = url_of(one, 2)}, 5);
  third.admit({.url = url_of(one, 3)}, 0, 30);
  third.batch().set_host(identity().host(one), {.name = one, .failures = 2});
  ninth.admit(url_of(other, 1));
  ninth.admit({.url = url_of(other, 2)}, 0, 20);
  ninth.admit({.url = url_of(other, 3)}, 0, 40);
  const Fingerprint held = identity().of_href(url_of(other, 9)).value();
  ninth.batch().set_aside(
      held,
      encode_set_aside({.reason = "why", .url_record = encode_record({.url = url_of(other, 9)})}));
  ninth.batch().lower_depth(held, 4);
  const std::vector<BatchPart> parts = {third.part(), ninth.part()};
  ASSERT_TRUE(store->write_parts(parts, {}));

  std::vector<QueueRead> reads = {
      {.host = identity().host(one), .limit = 1},
      {.host = identity().host(other), .limit = 10},
      {.host = identity().host(foreign), .limit = 10},
      {.host = identity().host(one), .after = QueueOrder{.priority = 5, .sequence = 1}, .limit = 9},
      {.host = identity().host(one), .limit = 10, .max_bytes = 1}};
  ASSERT_TRUE(store->read_queues(reads));
  ASSERT_EQ(reads[0].urls.size(), 1u);
  EXPECT_EQ(decode_record(reads[0].urls[0].record)->url, url_of(one, 2)) << "priorities first";
  EXPECT_FALSE(reads[0].ended);
  EXPECT_EQ(reads[1].urls.size(), 1u);
  EXPECT_TRUE(reads[1].ended);
  EXPECT_THAT(reads[2].urls, IsEmpty());
  EXPECT_TRUE(reads[2].ended) << "of a bucket that is not there";
  ASSERT_EQ(reads[3].urls.size(), 1u);
  EXPECT_EQ(reads[3].urls[0].order.priority, 0);
  EXPECT_EQ(reads[4].urls.size(), 1u) << "no more than the bytes";
  EXPECT_FALSE(reads[4].ended);

  std::vector<HostRead> hosts = {{.host = identity().host(one)},
                                 {.host = identity().host(foreign)}};
  ASSERT_TRUE(store->read_hosts(hosts));
  EXPECT_EQ(hosts[0].record->failures, 2u);
  EXPECT_FALSE(hosts[1].record);
  std::vector<std::int64_t> times;
  ASSERT_TRUE(store->visit_deferred([&](const DeferredUrl& url) {
    times.push_back(url.not_before);
    return true;
  }));
  EXPECT_THAT(times, ElementsAre(20, 30, 40)) << "over all buckets, by time";
  times.clear();
  ASSERT_TRUE(store->visit_deferred_of(9, [&](const DeferredUrl& url) {
    times.push_back(url.not_before);
    return false;
  }));
  EXPECT_THAT(times, ElementsAre(20));
  EXPECT_EQ(store->set_aside_state(held).value(), SetAsideState::kHeld);
  EXPECT_EQ(store->depth(held).value(), 4u);
  std::set<HostId> queued;
  ASSERT_TRUE(store->visit_queues(0, 1, [&](HostId host, const QueueBeginning& queue) {
    EXPECT_EQ(queue.urls.size(), 1u);
    queued.insert(host);
    return true;
  }));
  EXPECT_THAT(queued, UnorderedElementsAre(identity().host(one), identity().host(other)));
  EXPECT_GT(store->memory(), 500u);

  store->end(9);
  EXPECT_THAT(read_queue(*store, other), IsEmpty());
  EXPECT_FALSE(store->set_aside_state(held).value());
  EXPECT_EQ(read_queue(*store, one).size(), 2u);
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(SharedStoreTest, N1_A2_TheNextOwnerFindsEverything) {
  auto first = open();
  const std::string one = host_in(3, 0), other = host_in(3, 1);
  take(*first, 3, "a");
  OwnerBatches owner(3);
  for (int i = 0; i < 5; ++i)
    owner.admit(url_of(one, i));
  owner.admit({.url = url_of(other, 1)}, 7);
  owner.admit({.url = url_of(other, 2)}, -7);
  owner.admit({.url = url_of(other, 3)}, 0, 30);
  owner.batch().set_host(identity().host(one), {.name = one, .answered = true});
  ASSERT_TRUE(owner.write(*first));
  owner.end(url_of(one, 0), 0);
  const auto key = [&](int i) { return identity().of_href(url_of(one, i)).value(); };
  for (const int i : {1, 2, 3})
    owner.batch().lower_depth(key(i), 4);
  ASSERT_TRUE(owner.write(*first));
  owner.batch().lower_depth(key(1), 5);
  owner.batch().lower_depth(key(2), 3);
  owner.batch().forget_depth(key(3));
  ASSERT_TRUE(owner.write(*first));

  auto second = open();
  const Taken taken = take(*second, 3, "b");
  EXPECT_EQ(taken.counters.admitted, 8u);
  EXPECT_EQ(taken.counters.completed, 1u);
  EXPECT_EQ(taken.fingerprints.size(), 8u);
  EXPECT_TRUE(taken.fingerprints.contains(identity().of_href(url_of(one, 0))->low));
  ASSERT_EQ(taken.hosts.size(), 2u);
  EXPECT_LT(taken.hosts[0].host, taken.hosts[1].host);
  const bool swapped = taken.hosts[0].host != identity().host(one);
  const LoadedHost &loaded_one = taken.hosts[swapped], &loaded_other = taken.hosts[!swapped];
  EXPECT_EQ(loaded_one.urls, 4u);
  EXPECT_TRUE(loaded_one.record->answered);
  ASSERT_EQ(loaded_one.queue.urls.size(), 2u);
  EXPECT_EQ(loaded_one.queue.urls[0].order.sequence, 1u);
  EXPECT_FALSE(loaded_one.queue.whole);
  EXPECT_EQ(loaded_other.urls, 2u);
  EXPECT_FALSE(loaded_other.record);
  ASSERT_EQ(loaded_other.queue.urls.size(), 2u);
  EXPECT_EQ(loaded_other.queue.urls[0].order.priority, 7);
  EXPECT_TRUE(loaded_other.queue.whole);
  EXPECT_EQ(second->counts().missing, 0u);
  EXPECT_EQ(second->depth(key(1)).value(), 4u) << "the smaller one stays";
  EXPECT_EQ(second->depth(key(2)).value(), 3u);
  EXPECT_FALSE(second->depth(key(3)).value());
}

TEST_F(SharedStoreTest, LongQueuesAreReadToTheFrontWhileTheyShrink) {
  auto store = open();
  const std::string one = host_in(3), other = host_in(3, 1);
  take(*store, 3, "a");
  OwnerBatches owner(3);
  constexpr int kUrls = 2500;
  for (int i = 0; i < kUrls; ++i)
    owner.admit(url_of(one, i));
  owner.admit({.url = url_of(one, kUrls)}, 5);
  owner.admit(url_of(other, 1));
  ASSERT_TRUE(owner.write(*store));
  std::set<std::string> found;
  int parts = 0;
  ASSERT_TRUE(store->visit_queue(identity().host(one), [&](std::span<const QueuedUrl> urls) {
    for (const QueuedUrl& url : urls)
      found.emplace(decode_record(url.record)->url);
    if (++parts != 2) return true;
    for (int i = 0; i < 100; ++i)
      owner.end(url_of(one, i), 0);
    return owner.write(*store).has_value();
  }));
  EXPECT_EQ(parts, 4);
  for (int i = 100; i <= kUrls; ++i)
    EXPECT_TRUE(found.contains(url_of(one, i))) << i;

  std::atomic<int> read{0};
  QueueDepthsReader reader(*store, [&](std::string_view) { return ++read > 0; });
  const std::vector<HostId> hosts = {identity().host(one), identity().host(other),
                                     identity().host(host_in(5))};
  reader.add(hosts);
  wait_for([&] { return reader.waiting() == 0; });
  EXPECT_EQ(read.load(), kUrls + 1 - 100 + 1);
}

// What the committer writes does not depend on buckets that come and go.
TEST_F(SharedStoreTest, BucketsAreTakenAndEndedWhileOthersAreWritten) {
  auto store = open();
  const std::string host = host_in(0);
  take(*store, 0, "a");
  std::atomic<bool> stops{false};
  std::atomic<BucketId> taken{0};
  int written = 0;
  std::thread committer([&] {
    OwnerBatches owner(0);
    for (; !stops.load(); ++written) {
      owner.admit(url_of(host, written));
      EXPECT_TRUE(owner.write(*store));
      if (const BucketId bucket = taken.exchange(0); bucket != 0) {
        OwnerBatches other(bucket);
        other.admit(url_of(host_in(bucket), written));
        EXPECT_TRUE(other.write(*store));
        store->end(bucket);
      }
    }
  });
  std::thread reader([&] {
    while (!stops.load())
      read_queue(*store, host);
  });
  for (int round = 0; round < 6; ++round) {
    for (BucketId bucket = 1; bucket < kBuckets; ++bucket) {
      const Taken found = take(*store, bucket, fmt::format("{} {}", bucket, round));
      EXPECT_LE(found.fingerprints.size(), static_cast<std::size_t>(round));
      taken.store(bucket);
      wait_for([&] { return taken.load() == 0; });
    }
  }
  stops.store(true);
  committer.join();
  reader.join();
  EXPECT_EQ(read_queue(*store, host).size(), static_cast<std::size_t>(written));
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(SharedStoreTest, N1_WhatARefusedBatchAdmittedIsInTheInbox) {
  auto store = open();
  const std::string host = host_in(3), other = host_in(4);
  take(*store, 3, "a");
  take(*store, 4, "a");
  OwnerBatches owner(3), fourth(4);
  owner.admit(url_of(host, 1));
  owner.admit(url_of(host, 2));
  ASSERT_TRUE(owner.write(*store));
  claim(3, "b");

  const SystemTime later = from_milliseconds(1'900'000'000'000);
  owner.end(url_of(host, 1), 0);
  owner.retry(url_of(host, 2), 1);
  owner.admit({.url = url_of(host, 3),
               .parent = url_of(other, 7),
               .depth = 4,
               .redirects = 2,
               .note = "a note"},
              6);
  owner.admit({.url = url_of(host, 4), .recrawl = true}, 0, to_milliseconds(later));
  const GivenIdentity with_key = {.fingerprint = identity().of_href(url_of(host, 99))};
  owner.admit({.url = url_of(host, 5), .given = with_key});
  owner.see(url_of(host, 7));
  const Fingerprint held = identity().of_href(url_of(host, 6)).value();
  owner.batch().set_aside(
      held, encode_set_aside({.was_queued = false,
                              .reason = "scope",
                              .rules = 8,
                              .url_record = encode_record({.url = url_of(host, 6)})}));
  fourth.admit(url_of(other, 1));
  const std::vector<BatchPart> parts = {owner.part(), fourth.part()};
  const auto written = store->write_parts(parts, {});
  EXPECT_TRUE(written) << "losing a bucket is not an error";
  EXPECT_THAT(lost_, ElementsAre(std::pair(BucketId{3}, ErrorCode::kInUse)));
  EXPECT_THAT(read_queue(*store, other), ElementsAre(url_of(other, 1)));

  const auto messages = inbox(3);
  ASSERT_EQ(messages.size(), 2u) << "the batch before it might have been taken back";
  const auto message = decode_requests(messages[1].body).value();
  const auto& requests = message.requests;
  ASSERT_EQ(requests.size(), 5u) << "neither what ended nor what is tried again";
  std::map<std::string, UrlRequest> by_url;
  for (const UrlRequest& request : requests)
    by_url[std::string(request.url)] = request;
  const UrlRequest& third = by_url.at(url_of(host, 3));
  EXPECT_EQ(third.parent, url_of(other, 7));
  EXPECT_EQ(third.depth, 4u);
  EXPECT_EQ(third.redirects, 2u);
  EXPECT_EQ(third.note, "a note");
  EXPECT_EQ(third.priority, 6);
  EXPECT_FALSE(third.again);
  EXPECT_FALSE(third.not_before);
  const UrlRequest& again = by_url.at(url_of(host, 4));
  EXPECT_TRUE(again.again);
  EXPECT_EQ(again.not_before, later);
  const auto fifth = std::ranges::find(requests, url_of(host, 5), &UrlRequest::url);
  ASSERT_NE(fifth, requests.end());
  EXPECT_EQ(message.given.at(static_cast<std::size_t>(fifth - requests.begin())), with_key);
  EXPECT_EQ(by_url.at(url_of(host, 6)).hold->reason, "scope");
  const auto seen = std::ranges::find(requests, true, &UrlRequest::seen_only);
  ASSERT_NE(seen, requests.end());
  const auto given = message.given.at(static_cast<std::size_t>(seen - requests.begin()));
  EXPECT_EQ(given.fingerprint->low, identity().of_href(url_of(host, 7))->low);
  EXPECT_EQ(identity().bucket_of(given.fingerprint->high), 3u);

  // Until the frontier drops the bucket, and after that.
  for (const int number : {10, 11}) {
    OwnerBatches late(3);
    late.admit(url_of(host, number));
    ASSERT_TRUE(late.write(*store));
    store->end(3);
  }
  EXPECT_EQ(lost_.size(), 1u) << "reported once";
  EXPECT_THAT(passed_on(3), testing::IsSupersetOf({url_of(host, 10), url_of(host, 11)}));
  EXPECT_EQ(store->counts().passed_on, 4u);
}

TEST_F(SharedStoreTest, ABucketThatCannotBePassedOnIsReportedToo) {
  auto store = open();
  take(*store, 3, "a");
  claim(3, "b");
  server_->cli({"set", "{crawl:3}i", "not an inbox"});
  OwnerBatches owner(3);
  owner.admit(url_of(host_in(3), 1));
  auto written = std::async(std::launch::async, [&] { return owner.write(*store); });
  wait_for([&] { return !store->waits_for().empty(); });
  store->give_up();
  EXPECT_EQ(written.get().error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(lost_, ElementsAre(std::pair(BucketId{3}, ErrorCode::kInUse)));
}

TEST_F(SharedStoreTest, MessagesWaitWhileAnotherProgramUsesTheKeyOfAnInbox) {
  auto store = open();
  const std::string host = host_in(3);
  take(*store, 3, "a");
  server_->cli({"set", "{crawl:8}i", "another program's"});
  OwnerBatches owner(3);
  owner.admit(url_of(host, 1));
  const UrlRequest eighth{.url = "http://eighth.test/"}, ninth{.url = "http://ninth.test/"};
  const std::vector<LinksForOwner> links = {
      {.bucket = 8, .requests = encode_requests(std::span(&eighth, 1))},
      {.bucket = 9, .requests = encode_requests(std::span(&ninth, 1))}};
  const std::vector<BatchPart> parts = {owner.part()};
  auto written = std::async(std::launch::async, [&] { return store->write_parts(parts, links); });
  wait_for([&] { return !store->waits_for().empty(); });
  EXPECT_THAT(store->waits_for(), HasSubstr("{crawl:8}i in Redis is a string, not a list"));
  EXPECT_THAT(passed_on(9), ElementsAre("http://ninth.test/")) << "goes through";
  EXPECT_THAT(read_queue(*store, host), ElementsAre(url_of(host, 1)));
  EXPECT_EQ(written.wait_for(milliseconds(300)), std::future_status::timeout);

  server_->cli({"rename", "{crawl:8}i", "{crawl:8}theirs"});
  EXPECT_TRUE(written.get());
  EXPECT_THAT(store->waits_for(), IsEmpty());
  EXPECT_THAT(passed_on(8), ElementsAre("http://eighth.test/"));
  EXPECT_THAT(passed_on(9), ElementsAre("http://ninth.test/")) << "once";
  EXPECT_THAT(lost_, IsEmpty());
}

// What was acknowledged may be taken back: without replicas, or if all nodes were killed.
TEST_F(SharedStoreTest, N1_WhatWasWrittenLatelyIsPassedOnWithTheBucket) {
  for (const bool replicated : {false, true}) {
    server_->cli({"flushall"});
    auto store = open(replicated);
    const std::string host = host_in(3);
    take(*store, 3, "a");
    OwnerBatches owner(3);
    owner.admit(url_of(host, 1));
    ASSERT_TRUE(owner.write(*store));
    now_ = now_.load() + milliseconds(10'001);
    owner.admit(url_of(host, 2));
    ASSERT_TRUE(owner.write(*store));
    owner.end(url_of(host, 1), 0);
    ASSERT_TRUE(owner.write(*store));
    EXPECT_EQ(store->memory() > 0, true);
    ASSERT_TRUE(store->pass_on(3));
    store->end(3);
    EXPECT_THAT(passed_on(3), ElementsAre(url_of(host, 2)));
    EXPECT_THAT(lost_, IsEmpty());
  }
}

TEST_F(SharedStoreTest, LinksOfOthersAreInTheirInboxes) {
  auto store = open();
  std::vector<std::string> urls;
  std::vector<UrlRequest> requests;
  for (int i = 0; i < 3000; ++i)
    urls.push_back(url_of(host_in(7), i) + std::string(50, 'x'));
  for (const std::string& url : urls)
    requests.push_back({.url = url, .parent = "http://parent.test/"});
  const UrlRequest one{.url = "http://one.test/"};
  const std::vector<LinksForOwner> links = {
      {.bucket = 7, .requests = encode_requests(requests)},
      {.bucket = 8, .requests = encode_requests(std::span(&one, 1))}};
  ASSERT_TRUE(store->write_parts({}, links));
  EXPECT_EQ(passed_on(7), urls);
  EXPECT_THAT(passed_on(8), ElementsAre("http://one.test/"));
  std::set<MessageId> ids;
  for (const InboxMessage& message : inbox(7)) {
    EXPECT_LE(message.body.size(), kMostMessageBytes);
    ids.insert(message.id);
  }
  EXPECT_GT(ids.size(), 2u);
  EXPECT_EQ(ids.size(), inbox(7).size());
  EXPECT_EQ(store->counts().messages, ids.size() + 1);
}

TEST_F(SharedStoreTest, AFullRedisTakesEndsWhileAdmissionsWait) {
  auto store = open();
  const std::string one = host_in(3), other = host_in(4);
  take(*store, 3, "a");
  take(*store, 4, "a");
  OwnerBatches third(3), fourth(4);
  third.admit(url_of(one, 1));
  fourth.admit(url_of(other, 1));
  const std::vector<BatchPart> before = {third.part(), fourth.part()};
  ASSERT_TRUE(store->write_parts(before, {}));
  third.batch().clear();
  fourth.batch().clear();

  server_->cli({"config", "set", "maxmemory", "1"});
  third.admit(url_of(one, 2));
  fourth.end(url_of(other, 1), 0);
  const std::vector<BatchPart> parts = {third.part(), fourth.part()};
  const UrlRequest link{.url = "http://one.test/"};
  const LinksForOwner links{.bucket = 8, .requests = encode_requests(std::span(&link, 1))};
  auto written = std::async(std::launch::async,
                            [&] { return store->write_parts(parts, std::span(&links, 1)); });
  wait_for([&] { return read_queue(*store, other).empty(); });
  wait_for([&] { return !store->waits_for().empty(); });
  EXPECT_THAT(store->waits_for(), HasSubstr("maxmemory"));
  EXPECT_THAT(read_queue(*store, one), ElementsAre(url_of(one, 1)));
  EXPECT_THAT(inbox(8), IsEmpty());
  server_->cli({"config", "set", "maxmemory", "0"});
  EXPECT_TRUE(written.get());
  EXPECT_THAT(store->waits_for(), IsEmpty());
  EXPECT_THAT(read_queue(*store, one), ElementsAre(url_of(one, 1), url_of(one, 2)));
  EXPECT_THAT(passed_on(8), ElementsAre("http://one.test/"));
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(SharedStoreTest, N1_ReadsAndWritesWaitForARedisThatIsAway) {
  server_ = std::make_unique<test::RedisServer>(
      test::Words{"--appendonly", "yes", "--appendfsync", "always"});
  client_ = RedisClient::connect({.addresses = {server_->address()}}).value();
  buckets_ = std::make_unique<BucketStore>(*client_, BucketKeys("crawl"), true);
  auto store = open();
  const std::string host = host_in(3);
  take(*store, 3, "a");
  const BucketMeta fourth = claim(4, "a");
  OwnerBatches owner(3);
  owner.admit(url_of(host, 1));
  ASSERT_TRUE(owner.write(*store));

  for (int round = 2; round < 5; ++round) {
    std::atomic<bool> stops{false};
    // The server dies in the middle of many writes.
    int number = round * 1000;
    std::thread committer([&] {
      for (; !stops.load(); ++number) {
        owner.admit(url_of(host, number));
        EXPECT_TRUE(owner.write(*store));
      }
    });
    std::this_thread::sleep_for(milliseconds(30));
    server_->stop();
    wait_for([&] { return !store->waits_for().empty(); });
    stops.store(true);
    auto read = std::async(std::launch::async, [&] { return read_queue(*store, host); });
    auto taken = std::async(std::launch::async, [&] { return store->take(4, "a", fourth, {}); });
    EXPECT_EQ(read.wait_for(milliseconds(300)), std::future_status::timeout) << "it waits";
    server_->start();
    committer.join();
    EXPECT_THAT(read.get(), testing::Contains(url_of(host, 1)));
    EXPECT_TRUE(taken.get());
    wait_for([&] { return store->waits_for().empty(); });
    const auto urls = read_queue(*store, host);
    for (int i = round * 1000; i < number && i < round * 1000 + 100; ++i)
      EXPECT_THAT(urls, testing::Contains(url_of(host, i)));
  }
  EXPECT_THAT(lost_, IsEmpty());

  server_->stop();
  auto read = std::async(std::launch::async, [&] {
    QueueRead one{.host = identity().host(host), .limit = 10};
    return store->read_queues(std::span(&one, 1));
  });
  owner.admit(url_of(host, 2));
  auto written = std::async(std::launch::async, [&] { return owner.write(*store); });
  EXPECT_EQ(written.wait_for(milliseconds(300)), std::future_status::timeout);
  store->give_up();
  EXPECT_EQ(read.get().error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(written.get().error().code, ErrorCode::kUnavailable);
}

// A bucket that is lost while it is loaded.
TEST_F(SharedStoreTest, ATakeEndsWithItsBucket) {
  auto store = open();
  const BucketMeta meta = claim(3, "a");
  server_->stop();
  auto taken = std::async(std::launch::async, [&] { return store->take(3, "a", meta, {}); });
  wait_for([&] { return !store->waits_for().empty(); });
  store->end(3);
  EXPECT_EQ(taken.get().error().code, ErrorCode::kInUse);
}

}  // namespace
}  // namespace trawl
