#include "frontier/redis/slot_map.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace trawl {

std::uint16_t SlotMap::number_of(const RedisAddress& node) {
  const auto found = std::ranges::find(nodes_, node);
  const auto at = static_cast<std::uint16_t>(found - nodes_.begin());
  if (found == nodes_.end()) nodes_.push_back(node);
  return static_cast<std::uint16_t>(at + 1);
}

void SlotMap::note_replicas(std::size_t slot, bool has, Time now) {
  const auto since_boot = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  const auto second = static_cast<std::uint32_t>(since_boot.count()) + 1;
  std::uint32_t& since = alone_since_[slot];
  if (has) {
    replicated_.set(slot);
    since = 0;
  } else if (replicated_[slot]) {
    if (since == 0) since = second;
    replicated_[slot] = second < since + patience_.count();
  }
}

namespace {

// [host, port, id, ...]. A node that does not know its own address leaves the host empty.
std::optional<RedisAddress> address_in(const RedisReply& node, const RedisAddress& asked) {
  if (!node.is_array() || node.elements.size() < 2) return std::nullopt;
  const std::int64_t port = node.elements[1].integer;
  if (port <= 0 || port > 65535) return std::nullopt;
  RedisAddress address{.host = node.elements[0].text, .port = static_cast<std::uint16_t>(port)};
  if (address.host.empty() || address.host == "?") address.host = asked.host;
  return address;
}

}  // namespace

// [[first, last, node, replica...], ...].
Result<void> SlotMap::read(const RedisReply& reply, const RedisAddress& asked, Time now) {
  const auto damaged = [&] {
    return error(
        ErrorCode::kCorrupt,
        fmt::format("the Redis node {} answers CLUSTER SLOTS with something else", asked.text()));
  };
  if (!reply.is_array()) return damaged();
  SlotMap map(patience_);
  std::bitset<kSlots> copied;
  map.is_cluster_ = true;
  for (const RedisReply& range : reply.elements) {
    if (!range.is_array() || range.elements.size() < 3) return damaged();
    const std::int64_t first = range.elements[0].integer, last = range.elements[1].integer;
    if (first < 0 || last < first || last >= static_cast<std::int64_t>(kSlots)) return damaged();
    const auto address = address_in(range.elements[2], asked);
    if (!address) return damaged();
    const std::uint16_t number = map.number_of(*address);
    for (std::size_t i = 3; i < range.elements.size(); ++i) {
      const auto replica = address_in(range.elements[i], asked);
      if (replica && std::ranges::find(map.replicas_, *replica) == map.replicas_.end())
        map.replicas_.push_back(*replica);
    }
    for (std::int64_t slot = first; slot <= last; ++slot) {
      map.node_of_[static_cast<std::size_t>(slot)] = number;
      if (range.elements.size() > 3) copied.set(static_cast<std::size_t>(slot));
    }
  }
  map.replicated_ = replicated_;
  map.alone_since_ = alone_since_;
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    map.note_replicas(slot, copied[slot], now);
  *this = std::move(map);
  return {};
}

std::vector<RedisAddress> SlotMap::nodes_without_replicas() const {
  std::vector<bool> with(nodes_.size() + 1), alone(nodes_.size() + 1);
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    (replicated_[slot] ? with : alone)[node_of_[slot]] = true;
  std::vector<RedisAddress> nodes;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (alone[i + 1] && !with[i + 1]) nodes.push_back(nodes_[i]);
  return nodes;
}

void SlotMap::set_single(const RedisAddress& server, bool has_replicas, Time now) {
  is_cluster_ = false;
  nodes_ = {server};
  node_of_.fill(1);
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    note_replicas(slot, has_replicas, now);
}

void SlotMap::set_replicated(const RedisAddress& node, Time now) {
  const std::uint16_t number = number_of(node);
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    if (node_of_[slot] == number) note_replicas(slot, true, now);
}

void SlotMap::move(std::uint16_t slot, const RedisAddress& node) {
  node_of_[slot] = number_of(node);
}

std::optional<RedisAddress> SlotMap::node_of(std::uint16_t slot) const {
  const std::uint16_t number = node_of_[slot];
  if (number == 0) return std::nullopt;
  return nodes_[number - 1u];
}

std::optional<RedisAddress> redirected_to(const RedisReply& reply, const RedisAddress& asked) {
  const std::string_view text = reply.text;
  const std::size_t space = text.rfind(' '), colon = text.rfind(':');
  if (space == std::string_view::npos || colon == std::string_view::npos || colon < space)
    return std::nullopt;
  RedisAddress to{.host = std::string(text.substr(space + 1, colon - space - 1)), .port = 0};
  const auto [end, failed] =
      std::from_chars(text.data() + colon + 1, text.data() + text.size(), to.port);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (to.host.empty()) to.host = asked.host;
  return to;
}

}  // namespace trawl
