// SlotMap: which node has which slots.
#pragma once

#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "trawl/result.h"

#include "frontier/redis/redis_options.h"
#include "frontier/redis/redis_reply.h"

namespace trawl {

class SlotMap {
 public:
  static constexpr std::size_t kSlots = 16384;
  using Time = std::chrono::steady_clock::time_point;

  // `patience`: see has_replicas().
  explicit SlotMap(std::chrono::seconds patience) : patience_(patience) {}

  // Replaces the map by a reply to CLUSTER SLOTS that `asked` gave at `now`. Errors: kCorrupt.
  Result<void> read(const RedisReply& reply, const RedisAddress& asked, Time now);
  // One server without cluster mode has all slots.
  void set_single(const RedisAddress& server, bool has_replicas, Time now);
  // The node said that replicas are connected to it.
  void set_replicated(const RedisAddress& node, Time now);
  void move(std::uint16_t slot, const RedisAddress& node);

  // Empty for a slot that no node has.
  std::optional<RedisAddress> node_of(std::uint16_t slot) const;
  // Whether the slot's master has replicas, or had some: it ends when maps have shown none for the
  // patience, not when a failover leaves a master without one, as a write would be in one place
  // only.
  bool has_replicas(std::uint16_t slot) const { return replicated_[slot]; }
  const std::vector<RedisAddress>& nodes() const noexcept { return nodes_; }
  // Of a cluster, as far as the node asked knew them.
  const std::vector<RedisAddress>& replicas() const noexcept { return replicas_; }
  // Nodes with slots, none of which has a replica, or had one.
  std::vector<RedisAddress> nodes_without_replicas() const;
  bool is_cluster() const noexcept { return is_cluster_; }

 private:
  std::uint16_t number_of(const RedisAddress& node);
  void note_replicas(std::size_t slot, bool has, Time now);

  std::chrono::seconds patience_;
  std::vector<RedisAddress> nodes_;
  std::vector<RedisAddress> replicas_;
  std::array<std::uint16_t, kSlots> node_of_{};  // 1 + index; 0: none
  std::bitset<kSlots> replicated_;
  // The second since which maps show no replica of a slot that is in `replicated_`; 0: they do.
  std::array<std::uint32_t, kSlots> alone_since_{};
  bool is_cluster_ = false;
};

// The address in a reply such as "MOVED 3999 127.0.0.1:6381"; without a host it is that of `asked`.
std::optional<RedisAddress> redirected_to(const RedisReply& reply, const RedisAddress& asked);

}  // namespace trawl
