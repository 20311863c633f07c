// Buckets on a cluster whose masters are killed after their replication was cut: what was
// acknowledged meanwhile is gone with them.
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "frontier/shared/bucket_store.h"
#include "tests/cluster/redis_servers.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::has_redis;
using test::RedisClusterServers;
using test::RedisServer;
using Code = BucketStore::Written::Code;

constexpr BucketId kRolledBack = 3;
constexpr HostId kItsHost = 0x300000000000001;

BucketBatch one_admission(std::uint64_t sequence) {
  BucketBatch batch;
  batch.admitted = {sequence};
  batch.queues.push_back(
      {.host = kItsHost,
       .added = {encode_queued(
           sequence, encode_record({.url = fmt::format("http://a.test/{}", sequence)}))}});
  return batch;
}

// The replica gets nothing any more. On loopback a master that is killed has otherwise sent all.
void cut_replication(const RedisServer& replica) {
  replica.cli({"config", "set", "masterauth", "x"});
  replica.cli({"client", "kill", "type", "master"});
}
void allow_replication(const RedisServer& replica) {
  replica.cli({"config", "set", "masterauth", ""});
}

TEST(BucketFailover, WhatAFailoverTakesBackIsNoticedAndReplayed) {
  SKIP_WITHOUT_REDIS();
  RedisClusterServers servers;
  auto connected = RedisClient::connect({.addresses = servers.addresses()});
  ASSERT_TRUE(connected.has_value()) << connected.error().message;
  RedisClient& client = **connected;
  BucketStore replicated(client, BucketKeys("crawl"), true);
  BucketStore async(client, BucketKeys("crawl"), false);
  replicated.set_patience(milliseconds(30'000));
  async.set_patience(milliseconds(30'000));
  const BucketStore::Claim claim{.bucket = kRolledBack, .token = "a"};
  ASSERT_EQ(replicated.claim(std::span(&claim, 1))[0].result.code, Code::kDone);

  std::vector<RedisCommand> ring;  // batch n is ring[n - 1]
  const auto send = [&](BucketStore& store, std::uint64_t number) {
    if (ring.size() < number)
      ring.push_back(store.encode(kRolledBack, "a", number, one_admission(number)));
    return store.apply(std::span(&ring[number - 1], 1)).front();
  };
  for (std::uint64_t n = 1; n <= 3; ++n)
    ASSERT_EQ(send(replicated, n).code, Code::kDone);

  const std::string key = BucketKeys("crawl").meta(kRolledBack);
  RedisServer& master = servers.master_of(key);
  RedisServer& replica = servers.replica_of(master);
  cut_replication(replica);
  for (std::uint64_t n = 4; n <= 7; ++n)
    ASSERT_EQ(send(async, n).code, Code::kDone) << "acknowledged by the master alone";
  const BucketStore::Push push{.bucket = kRolledBack, .messages = {{.id = {}, .body = "a link"}}};
  ASSERT_EQ(async.push(std::span(&push, 1))[0].code, Code::kDone);
  // A caller that waits for a replica knows that it cannot rely on the write, nor on its ownership.
  replicated.set_patience(milliseconds(300));
  EXPECT_EQ(send(replicated, 8).code, Code::kUnknown);
  const BucketStore::Renewal renewal{.bucket = kRolledBack, .token = "a", .name = "a1"};
  EXPECT_EQ(replicated.renew(std::span(&renewal, 1))[0].code, Code::kUnknown);
  replicated.set_patience(milliseconds(30'000));

  master.stop();
  servers.wait_for_master(replica);
  allow_replication(replica);
  const BucketStore::Written gap = send(async, 9);
  EXPECT_EQ(gap.code, Code::kBehind);
  EXPECT_EQ(gap.version, 3u);
  EXPECT_EQ(async.inbox_sizes(std::span(&kRolledBack, 1))[0].value(), 0u)
      << "the sender pushes it again";
  master.start();
  const auto replayed = replicated.apply(std::span(ring).subspan(gap.version));
  for (const BucketStore::Written& one : replayed)
    EXPECT_EQ(one.code, Code::kDone) << (one.error ? one.error->message : "");
  const auto urls = async.read_queue(kRolledBack, kItsHost, 0, 0, 100);
  ASSERT_TRUE(urls.has_value()) << urls.error().message;
  ASSERT_EQ(urls->size(), 9u);
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_EQ((*urls)[i].order.sequence, i + 1);
}

}  // namespace
}  // namespace trawl
