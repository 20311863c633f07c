#include "frontier/redis/slot_map.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using std::chrono::seconds;

const RedisAddress kAsked{.host = "10.0.0.1", .port = 7001};

RedisReply integer(std::int64_t value) {
  RedisReply reply;
  reply.kind = RedisReply::Kind::kInteger;
  reply.integer = value;
  return reply;
}

RedisReply text(const std::string& value) {
  RedisReply reply;
  reply.kind = RedisReply::Kind::kString;
  reply.text = value;
  return reply;
}

RedisReply array(std::vector<RedisReply> elements) {
  RedisReply reply;
  reply.kind = RedisReply::Kind::kArray;
  reply.elements = std::move(elements);
  return reply;
}

RedisReply node(std::int64_t port) {
  return array({text("10.0.0.1"), integer(port)});
}

// Slots 0 to 99 of one master.
RedisReply slots(bool with_replica) {
  RedisReply range = array({integer(0), integer(99), node(7001)});
  if (with_replica) range.elements.push_back(node(7002));
  return array({range});
}

TEST(SlotMap, AMasterCountsAsReplicatedForAWhileAfterItsReplicaIsGone) {
  SlotMap map(seconds(60));
  SlotMap::Time now{seconds(1000)};
  const auto read = [&](bool with_replica, int after) {
    now += seconds(after);
    ASSERT_TRUE(map.read(slots(with_replica), kAsked, now).has_value());
  };
  read(false, 0);
  EXPECT_FALSE(map.has_replicas(5)) << "it never had one";
  read(true, 0);
  EXPECT_TRUE(map.has_replicas(5));
  EXPECT_FALSE(map.has_replicas(100)) << "a slot of nobody";
  read(false, 3600);
  EXPECT_TRUE(map.has_replicas(5)) << "it may be a failover: counted from the first map without";
  read(false, 59);
  EXPECT_TRUE(map.has_replicas(5));
  read(true, 0);
  read(false, 30);
  read(false, 59);
  EXPECT_TRUE(map.has_replicas(5)) << "there was one in between";
  EXPECT_TRUE(map.nodes_without_replicas().empty());
  read(false, 1);
  EXPECT_FALSE(map.has_replicas(5));
  EXPECT_EQ(map.nodes_without_replicas().size(), 1u);
  read(true, 1);
  EXPECT_TRUE(map.has_replicas(5)) << "a new one";
}

}  // namespace
}  // namespace trawl
