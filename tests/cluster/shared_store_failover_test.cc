// A crawler without waiting for replicas, on a cluster a master of which is killed after its
// replication was cut: batches and links that were acknowledged are gone with it.
#include <map>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "frontier/shared/shared_store.h"
#include "frontier/shared/url_messages.h"
#include "tests/cluster/owner_batches.h"
#include "tests/cluster/redis_servers.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::has_redis;
using test::host_in;
using test::identity;
using test::kBuckets;
using test::OwnerBatches;
using test::RedisClusterServers;
using test::RedisServer;
using test::url_of;
using testing::ElementsAre;
using testing::IsEmpty;

class SharedStoreFailover : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_REDIS();
    servers_ = std::make_unique<RedisClusterServers>();
    client_ = RedisClient::connect({.addresses = servers_->addresses()}).value();
    buckets_ = std::make_unique<BucketStore>(*client_, BucketKeys("crawl"), true);
    buckets_->set_patience(milliseconds(30'000));
    // Four buckets of one master.
    std::map<std::string, std::vector<BucketId>> on;
    for (BucketId bucket = 0; bucket < kBuckets; ++bucket) {
      auto& same = on[servers_->master_of(BucketKeys("crawl").meta(bucket)).port()];
      same.push_back(bucket);
      if (same.size() == 4) on_one_ = same;
    }
    ASSERT_EQ(on_one_.size(), 4u);
    auto store = SharedStore::open(
        {.redis = {.addresses = servers_->addresses(), .map_age = milliseconds(200)},
         .crawl = "crawl",
         .replicated = false,
         .identity = identity(),
         .lost = [this](BucketId bucket, const Error&) { lost_.insert(bucket); }});
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
  }
  void claim(BucketId bucket, const std::string& token, BucketMeta& meta) {
    const auto owners = buckets_->owners(std::span(&bucket, 1));
    const BucketStore::Claim claim{.bucket = bucket, .seen = owners[0].value(), .token = token};
    const auto claimed = buckets_->claim(std::span(&claim, 1));
    ASSERT_EQ(claimed[0].result.code, BucketStore::Written::Code::kDone);
    meta = claimed[0].meta;
  }
  void take(BucketId bucket) {
    BucketMeta meta;
    claim(bucket, "a", meta);
    ASSERT_TRUE(store_->take(bucket, "a", meta, {}));
  }
  std::vector<std::string> queue_of(const std::string& host) {
    QueueRead read{.host = identity().host(host), .limit = 1000};
    EXPECT_TRUE(store_->read_queues(std::span(&read, 1)));
    std::vector<std::string> urls;
    for (const QueuedUrl& url : read.urls)
      urls.emplace_back(decode_record(url.record)->url);
    return urls;
  }
  std::vector<std::string> inbox(BucketId bucket) {
    std::vector<std::string> urls;
    const auto messages = buckets_->read_inboxes(std::span(&bucket, 1), 100)[0].value();
    for (const InboxMessage& message : messages) {
      const auto requests = decode_requests(message.body).value().requests;
      for (const UrlRequest& request : requests)
        urls.emplace_back(request.url);
    }
    return urls;
  }

  std::unique_ptr<RedisClusterServers> servers_;
  std::unique_ptr<RedisClient> client_;
  std::unique_ptr<BucketStore> buckets_;
  std::unique_ptr<SharedStore> store_;
  std::vector<BucketId> on_one_;
  std::set<BucketId> lost_;
};

TEST_F(SharedStoreFailover, N1_WhatAFailoverTakesBackIsThereAgainOrPassedOn) {
  if (IsSkipped()) return;
  // One is written on, one is idle, one is lost meanwhile, and one is owned by another crawler.
  const BucketId busy = on_one_[0], idle = on_one_[1], lost = on_one_[2], foreign = on_one_[3];
  std::map<BucketId, OwnerBatches> owners;
  std::map<BucketId, std::string> hosts;
  for (const BucketId bucket : {busy, idle, lost}) {
    take(bucket);
    owners.emplace(bucket, OwnerBatches(bucket));
    hosts[bucket] = host_in(bucket);
    owners.at(bucket).admit(url_of(hosts[bucket], 1));
    ASSERT_TRUE(owners.at(bucket).write(*store_));
  }
  // All of that is replicated when this is.
  BucketMeta meta;
  claim(foreign, "other", meta);

  RedisServer& master = servers_->master_of(BucketKeys("crawl").meta(busy));
  RedisServer& replica = servers_->replica_of(master);
  replica.cli({"config", "set", "masterauth", "x"});
  replica.cli({"client", "kill", "type", "master"});
  for (const BucketId bucket : {busy, idle, lost}) {
    owners.at(bucket).admit(url_of(hosts[bucket], 2));
    ASSERT_TRUE(owners.at(bucket).write(*store_)) << "acknowledged by the master alone";
  }
  const UrlRequest link{.url = "http://link.test/"};
  const LinksForOwner links{.bucket = foreign, .requests = encode_requests(std::span(&link, 1))};
  ASSERT_TRUE(store_->write_parts({}, std::span(&links, 1)));
  master.stop();
  servers_->wait_for_master(replica);
  replica.cli({"config", "set", "masterauth", ""});
  EXPECT_THAT(inbox(foreign), IsEmpty()) << "or nothing was taken back";
  EXPECT_THAT(queue_of(hosts[idle]), ElementsAre(url_of(hosts[idle], 1)));
  master.start();

  owners.at(busy).admit(url_of(hosts[busy], 3));
  ASSERT_TRUE(owners.at(busy).write(*store_));
  EXPECT_THAT(queue_of(hosts[busy]),
              ElementsAre(url_of(hosts[busy], 1), url_of(hosts[busy], 2), url_of(hosts[busy], 3)));
  EXPECT_THAT(queue_of(hosts[idle]), ElementsAre(url_of(hosts[idle], 1)));
  // A renewal finds it.
  const auto found = buckets_->owners(std::span(&idle, 1))[0].value();
  EXPECT_EQ(found.version, 1u);
  store_->note_version(idle, found.version);
  store_->note_version(busy, 1);  // answered before it was replayed
  for (int i = 0; i == 0 || (i < 100 && store_->counts().repeated == 0); ++i) {
    ASSERT_TRUE(store_->write_parts({}, {}));
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_THAT(queue_of(hosts[idle]), ElementsAre(url_of(hosts[idle], 1), url_of(hosts[idle], 2)));
  EXPECT_THAT(inbox(foreign), ElementsAre("http://link.test/"));
  EXPECT_EQ(store_->counts().replayed, 2u);
  EXPECT_EQ(store_->counts().repeated, 1u);
  EXPECT_THAT(lost_, IsEmpty());

  claim(lost, "b", meta);
  EXPECT_EQ(meta.version, 1u);
  owners.at(lost).admit(url_of(hosts[lost], 3));
  ASSERT_TRUE(owners.at(lost).write(*store_));
  EXPECT_THAT(lost_, ElementsAre(lost));
  EXPECT_THAT(inbox(lost), testing::IsSupersetOf({url_of(hosts[lost], 2), url_of(hosts[lost], 3)}))
      << "the next owner does not have the second one";
}

}  // namespace
}  // namespace trawl
