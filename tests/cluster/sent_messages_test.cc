// SentMessages: which are sent again.
#include "frontier/shared/sent_messages.h"

#include <map>

#include <gtest/gtest.h>

namespace trawl {
namespace {

using std::chrono::milliseconds;

TEST(SentMessages, ThoseWhoseBucketHasMovedSinceTheyWereSentAreSentAgain) {
  SentMessages sent(milliseconds(30'000), 1u << 20);
  const SentMessages::Node master{.address = {.host = "127.0.0.1", .port = 7000}};
  const SentMessages::Node replica{.address = {.host = "127.0.0.1", .port = 7001}};
  std::map<BucketId, SentMessages::Node> nodes = {{1, master}, {2, master}};
  const auto node_of = [&](BucketId bucket) { return std::optional(nodes.at(bucket)); };
  SteadyTime now{std::chrono::hours(1)};
  const auto moved = [&] {
    now += milliseconds(250);
    std::vector<BucketId> buckets;
    for (SentMessages::Message& message : sent.take_moved(now, node_of)) {
      buckets.push_back(message.bucket);
      sent.expect(message.bucket, node_of);
      sent.add(message.bucket, std::move(message.command), now);
    }
    return buckets;
  };
  for (const BucketId bucket : {1, 2})
    sent.expect(bucket, node_of);
  // Acknowledged by the master, which died while the other one waited for it.
  nodes[1] = replica;
  for (const BucketId bucket : {1, 2})
    sent.add(bucket, RedisCommand("PING", ""), now);
  EXPECT_EQ(moved(), std::vector<BucketId>{1});
  EXPECT_EQ(moved(), std::vector<BucketId>{});
  nodes[2] = replica;
  EXPECT_EQ(moved(), std::vector<BucketId>{2});
  nodes[2].breaks = 1;
  EXPECT_EQ(moved(), std::vector<BucketId>{2}) << "the node may have been started again";
  EXPECT_GT(sent.bytes(), 0u);
}

}  // namespace
}  // namespace trawl
