#include "frontier/shared/sent_messages.h"

#include <set>
#include <utility>

namespace trawl {

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{250};

std::uint64_t bytes_of(const RedisCommand& command) {
  return command.bytes() + sizeof command;
}

}  // namespace

void SentMessages::expect(BucketId bucket, const NodeOf& node_of) {
  if (!nodes_.contains(bucket)) nodes_[bucket] = node_of(bucket).value_or(Node{});
}

void SentMessages::add(BucketId bucket, RedisCommand message, SteadyTime now) {
  bytes_ += bytes_of(message);
  sent_.push_back({.message = {.bucket = bucket, .command = std::move(message)}, .at = now});
  forget_old(now);
}

std::vector<SentMessages::Message> SentMessages::take_moved(SteadyTime now, const NodeOf& node_of) {
  std::vector<Message> moved;
  if (looked_ && now - *looked_ < kBetweenLooks) return moved;
  looked_ = now;
  forget_old(now);
  std::set<BucketId> buckets;
  for (auto& [bucket, node] : nodes_) {
    const auto is = node_of(bucket);
    if (!is || *is == node) continue;
    node = *is;
    buckets.insert(bucket);
  }
  if (buckets.empty()) return moved;
  std::erase_if(sent_, [&](Sent& sent) {
    if (!buckets.contains(sent.message.bucket)) return false;
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
