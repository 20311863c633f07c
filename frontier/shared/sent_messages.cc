#include "frontier/shared/sent_messages.h"

#include <map>
#include <utility>

namespace trawl {

namespace {

std::uint64_t bytes_of(const RedisCommand& command) {
  return command.bytes() + sizeof command;
}

}  // namespace

void SentMessages::add(BucketId bucket, RedisCommand message, SteadyTime now,
                       const NodeOf& node_of) {
  bytes_ += bytes_of(message);
  sent_.push_back({.message = {.bucket = bucket, .command = std::move(message)},
                   .node = node_of(bucket).value_or(RedisAddress{}),
                   .at = now});
  forget_old(now);
}

std::vector<SentMessages::Message> SentMessages::take_moved(SteadyTime now, const NodeOf& node_of) {
  forget_old(now);
  std::vector<Message> moved;
  std::map<BucketId, std::optional<RedisAddress>> nodes;
  std::erase_if(sent_, [&](Sent& sent) {
    const BucketId bucket = sent.message.bucket;
    const auto [node, is_new] = nodes.try_emplace(bucket);
    if (is_new) node->second = node_of(bucket);
    if (!node->second || *node->second == sent.node) return false;
    bytes_ -= bytes_of(sent.message.command);
    moved.push_back(std::move(sent.message));
    return true;
  });
  return moved;
}

void SentMessages::forget_old(SteadyTime now) {
  while (!sent_.empty() && (sent_.front().at + kept_ < now || bytes_ > max_bytes_)) {
    bytes_ -= bytes_of(sent_.front().message.command);
    sent_.pop_front();
  }
}

}  // namespace trawl
