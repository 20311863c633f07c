// SentMessages: links sent to the owners of other buckets that a failover may take back.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "trawl/clocks.h"

#include "frontier/redis/redis_command.h"
#include "frontier/redis/redis_options.h"
#include "frontier/shared/bucket_keys.h"

namespace trawl {

// Messages that were acknowledged may be gone with their node: without a replica that has them, or
// if both were killed before they had written them to their files, which a busy disk holds up. Then
// nobody notices but the sender, who sees that another node has the bucket now, or that the node
// may have been started again. So they are kept and sent again. Owners take a message twice without
// harm. Not thread-safe.
class SentMessages {
 public:
  struct Node {
    RedisAddress address;
    std::uint64_t breaks = 0;  // RedisClient::breaks()
    bool operator==(const Node&) const = default;
  };
  using NodeOf = std::function<std::optional<Node>(BucketId)>;

  // Kept for this time, as long as they take up to so many bytes; longer than it takes to notice
  // that the nodes have changed.
  SentMessages(std::chrono::milliseconds kept, std::uint64_t max_bytes)
      : kept_(kept), max_bytes_(max_bytes) {}

  // Before a message is sent: Redis may acknowledge it, and a failover take it back, before add().
  void expect(BucketId bucket, const NodeOf& node_of);
  // Redis has acknowledged it now.
  void add(BucketId bucket, RedisCommand message, SteadyTime now);
  // Those whose buckets are on another node than the one that had acknowledged them, or perhaps
  // were since, or whose node may have been started again. They are taken out: add() them again
  // when they are acknowledged. Looks from time to time only.
  struct Message {
    BucketId bucket = 0;
    RedisCommand command;
  };
  std::vector<Message> take_moved(SteadyTime now, const NodeOf& node_of);

  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  struct Sent {
    Message message;
    SteadyTime at;
  };
  void forget_old(SteadyTime now);

  const std::chrono::milliseconds kept_;
  const std::uint64_t max_bytes_;
  std::deque<Sent> sent_;
  std::uint64_t bytes_ = 0;
  // The node of each bucket when its first message was sent, or it last moved.
  std::map<BucketId, Node> nodes_;
  std::optional<SteadyTime> looked_;
};

}  // namespace trawl
