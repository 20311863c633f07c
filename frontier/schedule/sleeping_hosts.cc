#include "frontier/schedule/sleeping_hosts.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace trawl {

namespace {

constexpr std::size_t kLeastSlots = 8;
// A table has at most 7/8 of its slots in use, and unless it is tiny at least a quarter.
constexpr bool is_crowded(std::size_t used, std::size_t slots) {
  return used > slots / 8 * 7;
}
constexpr bool is_sparse(std::size_t used, std::size_t slots) {
  return slots > kLeastSlots && used < slots / 4;
}

}  // namespace

std::size_t SleepingHosts::Table::find(HostId id) const {
  std::size_t slot = home(id);
  while (urls_[slot] != 0 && ids_[slot] != id)
    slot = after(slot);
  return slot;
}

bool SleepingHosts::Table::set(HostId id, std::uint8_t urls) {
  if (is_crowded(size_ + 1, ids_.size()))
    resize(std::max(kLeastSlots, (ids_.size() + ids_.size() / 2 + 7) / 8 * 8));
  const std::size_t slot = find(id);
  const bool is_new = urls_[slot] == 0;
  ids_[slot] = id;
  urls_[slot] = urls;
  size_ += is_new ? 1 : 0;
  return is_new;
}

std::uint8_t SleepingHosts::Table::remove(HostId id) {
  if (ids_.empty()) return 0;
  std::size_t hole = find(id);
  const std::uint8_t urls = urls_[hole];
  if (urls == 0) return 0;
  for (std::size_t slot = after(hole); urls_[slot] != 0; slot = after(slot)) {
    // A host may move into the hole unless its first place is behind the hole.
    const std::size_t first = home(ids_[slot]);
    const bool stays = hole < slot ? first > hole && first <= slot : first > hole || first <= slot;
    if (stays) continue;
    ids_[hole] = ids_[slot];
    urls_[hole] = urls_[slot];
    hole = slot;
  }
  urls_[hole] = 0;
  --size_;
  if (is_sparse(size_, ids_.size())) resize(std::max(kLeastSlots, ids_.size() / 2 / 8 * 8));
  return urls;
}

void SleepingHosts::Table::resize(std::size_t slots) {
  const auto ids = std::exchange(ids_, std::vector<HostId>(slots));
  const auto urls = std::exchange(urls_, std::vector<std::uint8_t>(slots));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (urls[i] == 0) continue;
    const std::size_t slot = find(ids[i]);
    ids_[slot] = ids[i];
    urls_[slot] = urls[i];
  }
}

std::optional<SleepingHosts::Host> SleepingHosts::Table::last_before(std::size_t& slot) const {
  slot = std::min(slot, ids_.size());
  while (slot > 0) {
    --slot;
    if (urls_[slot] != 0) return Host{.id = ids_[slot], .urls = urls_[slot]};
  }
  return std::nullopt;
}

std::size_t SleepingHosts::bytes() const noexcept {
  std::size_t bytes = 0;
  for (const Table& table : tables_)
    bytes += table.bytes();
  return bytes;
}

void SleepingHosts::set(HostId host, std::uint64_t urls) {
  assert(urls >= 1 && urls <= kMostUrls);
  if (tables_[number_of(host)].set(host, static_cast<std::uint8_t>(urls))) ++size_;
}

std::uint64_t SleepingHosts::remove(HostId host) {
  const std::uint64_t urls = tables_[number_of(host)].remove(host);
  if (urls > 0) --size_;
  return urls;
}

// Downwards, since a removal moves hosts to lower slots, and an insertion takes higher ones: what
// comes behind the place stays behind it. A table that was resized has its hosts in about the same
// order.
std::optional<SleepingHosts::Host> SleepingHosts::look_at_next() {
  if (empty()) return std::nullopt;
  for (;;) {
    if (const auto host = tables_[turn_].last_before(slot_)) return host;
    turn_ = turn_ + 1 == kTables ? 0 : turn_ + 1;
    slot_ = tables_[turn_].slots();
  }
}

SleepingHosts::Host SleepingHosts::take(const Host& host) {
  const Table& table = tables_[turn_];
  const std::size_t slots = table.slots();
  remove(host.id);
  if (table.slots() != slots) slot_ = slot_ * table.slots() / slots;
  return host;
}

}  // namespace trawl
