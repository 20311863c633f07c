// Nodes that do not answer, and maps of slots that change, on real servers.
#include <future>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "frontier/redis/redis_client.h"
#include "frontier/shared/bucket_ownership.h"
#include "tests/cluster/redis_servers.h"

namespace trawl {
namespace {

using std::chrono::milliseconds;
using test::has_redis;
using test::RedisServer;

constexpr milliseconds kLong{60'000};

RedisCommand write_to(const std::string& key) {
  RedisCommand command("SET", key);
  command.arg(key).arg("value");
  return command;
}

// A cluster of two masters: one has the slots up to 8000, the other the rest.
class TwoMasters {
 public:
  TwoMasters() {
    first.cli({"cluster", "addslotsrange", "0", "8000"});
    second.cli({"cluster", "addslotsrange", "8001", "16383"});
    first.cli({"cluster", "meet", "127.0.0.1", second.port()});
    for (const RedisServer* one : {&first, &second})
      while (one->cli({"cluster", "slots"}).find("8001") == std::string::npos ||
             one->cli({"cluster", "slots"}).find("8000") == std::string::npos ||
             one->cli({"cluster", "info"}).find("cluster_state:ok") == std::string::npos)
        std::this_thread::sleep_for(milliseconds(20));
  }
  // Gives a slot without keys to the second master. Clients do not learn of it.
  void move(std::uint16_t slot) {
    const std::string to = second.cli({"cluster", "myid"});
    for (const RedisServer* one : {&second, &first})
      EXPECT_EQ(one->cli({"cluster", "setslot", std::to_string(slot), "node", to}), "OK");
  }
  static test::Words options() {
    return {"--cluster-enabled",      "yes",  "--cluster-require-full-coverage", "no",
            "--cluster-node-timeout", "60000"};
  }
  RedisServer first{options()}, second{options()};
};

constexpr const char* kOfFirst = "b";   // slot 3300
constexpr const char* kOfSecond = "a";  // slot 15495

std::unique_ptr<RedisClient> connect_to(const RedisOptions& options) {
  auto client = RedisClient::connect(options);
  EXPECT_TRUE(client.has_value()) << client.error().message;
  return client ? std::move(*client) : nullptr;
}

TEST(RedisNodes, ANodeThatDoesNotAnswerDelaysNoCommandToAnother) {
  SKIP_WITHOUT_REDIS();
  TwoMasters masters;
  auto client = connect_to({.addresses = {masters.first.address()}, .answer_timeout = kLong});
  // The first command is for a node that has no connection and does not log anyone in.
  masters.first.cli({"client", "kill", "type", "normal"});
  masters.first.freeze();
  auto answers = std::async(std::launch::async, [&] {
    const std::vector<RedisCommand> commands = {write_to(kOfFirst), write_to(kOfSecond)};
    return client->run(commands, {.patience = kLong});
  });
  while (masters.second.cli({"exists", kOfSecond}) != "1")
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(answers.wait_for(milliseconds(0)), std::future_status::timeout);
  masters.first.thaw();
  for (const RedisAnswer& answer : answers.get())
    EXPECT_TRUE(answer.reply.has_value()) << answer.trouble;
}

TEST(RedisNodes, ANodeThatDoesNotAnswerIsNotWaitedForToReadTheMap) {
  SKIP_WITHOUT_REDIS();
  TwoMasters masters;
  const RedisOptions options{.addresses = {masters.first.address(), masters.second.address()},
                             .connect_timeout = kLong,
                             .answer_timeout = kLong};
  auto client = connect_to(options);
  masters.first.freeze();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 4; ++i)  // begins with each of them twice
    EXPECT_TRUE(client->refresh().has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLong);
  masters.first.thaw();
}

TEST(RedisNodes, AMapThatIsOldIsReadAgain) {
  SKIP_WITHOUT_REDIS();
  TwoMasters masters;
  RedisOptions options{.addresses = {masters.first.address()}, .map_age = milliseconds(0)};
  auto fresh = connect_to(options);
  options.map_age = kLong;
  auto old = connect_to(options);
  const std::uint16_t moved = 17;
  masters.move(moved);
  EXPECT_TRUE(fresh->run_one(write_to(kOfFirst), {}).reply.has_value());
  EXPECT_TRUE(old->run_one(write_to(kOfFirst), {}).reply.has_value());
  EXPECT_EQ(fresh->slots().node_of(moved), masters.second.address());
  EXPECT_EQ(old->slots().node_of(moved), masters.first.address());
  // A connection that broke is a reason too.
  masters.first.cli({"client", "kill", "type", "normal"});
  old->run_one(write_to(kOfFirst).once(), {});
  EXPECT_TRUE(old->run_one(write_to(kOfFirst), {}).reply.has_value());
  EXPECT_EQ(old->slots().node_of(moved), masters.second.address());
}

TEST(RedisNodes, AReplicaThatCameLaterIsWaitedFor) {
  SKIP_WITHOUT_REDIS();
  const RedisServer master;
  auto client = connect_to({.addresses = {master.address()}, .map_age = milliseconds(0)});
  EXPECT_FALSE(client->slots().has_replicas(0));
  RedisServer replica({"--replicaof", "127.0.0.1 " + master.port()});
  while (master.cli({"info", "replication"}).find("state=online") == std::string::npos)
    std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(client->run_one(write_to("a"), {.wait = true, .patience = kLong}).replicated);
  EXPECT_TRUE(client->slots().has_replicas(0));
  replica.stop();
  EXPECT_FALSE(
      client->run_one(write_to("a"), {.wait = true, .patience = milliseconds(200)}).replicated);
}

TEST(RedisNodes, WhatWasNotSentYetIsSentAgainAlthoughItMustNotBeExecutedTwice) {
  SKIP_WITHOUT_REDIS();
  RedisServer server;
  auto client = connect_to({.addresses = {server.address()}, .answer_timeout = milliseconds(300)});
  const auto increase = [&] {
    RedisCommand once("INCR", "n");
    once.arg("n").once();
    return client->run_one(once, {.patience = kLong});
  };
  server.freeze();
  EXPECT_FALSE(increase().reply.has_value()) << "sent, and not answered";
  auto thawed = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(milliseconds(700));
    server.thaw();
  });
  EXPECT_TRUE(increase().reply.has_value()) << "nothing is sent before the login";
  thawed.get();
  EXPECT_EQ(server.cli({"get", "n"}), "2");
}

// Some of its calls wait for that node, but not for too long together.
TEST(RedisNodes, BucketsStayOwnedWhileANodeOfOthersDoesNotAnswer) {
  SKIP_WITHOUT_REDIS();
  TwoMasters masters;
  auto client = connect_to({.addresses = {masters.first.address()}});
  const BucketKeys keys("crawl");
  constexpr milliseconds kShortLease{5000};
  constexpr BucketId kAll = 16;
  BucketStore store(*client, keys, true);
  BucketOwnership ownership(store,
                            {.member = "a", .session = "s", .buckets = kAll, .lease = kShortLease});
  EXPECT_EQ(ownership.step().value().gained.size(), kAll);
  masters.second.freeze();
  std::vector<BucketId> healthy, frozen;
  for (BucketId b = 0; b < kAll; ++b)
    (hash_slot(keys.meta(b)) <= 8000 ? healthy : frozen).push_back(b);
  const BootTime until = BootClock::now() + 2 * kShortLease;
  std::size_t troubles = 0;
  while (BootClock::now() < until) {
    const auto events = ownership.step();
    ASSERT_TRUE(events.has_value()) << events.error().message;
    troubles += events->troubles.size();
    EXPECT_TRUE(events->lost.empty());
    for (const BucketId b : healthy)
      EXPECT_TRUE(ownership.may_start(b, BootClock::now())) << b;
    std::this_thread::sleep_for(kShortLease / 20);
  }
  EXPECT_GT(troubles, 0u);
  for (const BucketId b : frozen)
    EXPECT_FALSE(ownership.may_start(b, BootClock::now())) << b;
  masters.second.thaw();
  for (int i = 0; i < 1000 && !ownership.may_start(frozen[0], BootClock::now()); ++i) {
    EXPECT_TRUE(ownership.step().has_value());
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(ownership.may_start(frozen[0], BootClock::now()));
}

// A connection of its own: the other one is busy for as long as it likes.
TEST(RedisNodes, RenewalsDoNotWaitBehindOtherCommands) {
  SKIP_WITHOUT_REDIS();
  const RedisServer server;
  auto data = connect_to({.addresses = {server.address()}, .answer_timeout = kLong});
  auto for_ownership = connect_to({.addresses = {server.address()}});
  BucketStore store(*for_ownership, BucketKeys("crawl"), true);
  BucketOwnership ownership(store, {.member = "a", .session = "s", .buckets = 16});
  auto busy = std::async(std::launch::async, [&] {
    RedisCommand command("BLPOP", "nothing");
    return data->run_one(command.arg("nothing").arg(0), {.patience = kLong});
  });
  EXPECT_EQ(ownership.step().value().gained.size(), 16u);
  EXPECT_TRUE(ownership.may_start(3, BootClock::now()));
  EXPECT_EQ(busy.wait_for(milliseconds(0)), std::future_status::timeout);
  server.cli({"rpush", "nothing", "x"});
  EXPECT_TRUE(busy.get().reply.has_value());
}

}  // namespace
}  // namespace trawl
