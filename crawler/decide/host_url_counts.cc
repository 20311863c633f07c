#include "crawler/decide/host_url_counts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/mix.h"

namespace trawl {

namespace {

constexpr std::size_t kSlotBytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);
constexpr std::size_t kLeastSlots = 16;

// 0 marks an empty slot.
std::uint64_t key_of(std::uint64_t host) {
  return host == 0 ? 1 : host;
}

}  // namespace

HostUrlCounts::HostUrlCounts(std::uint64_t most_bytes, TableCharge& charge)
    : most_slots_(std::max<std::uint64_t>(most_bytes / kSlotBytes, kLeastSlots)), charge_(charge) {}

HostUrlCounts::~HostUrlCounts() {
  charge_.give_back(hosts_.size() * kSlotBytes);
}

std::size_t HostUrlCounts::find(std::uint64_t host) const {
  std::size_t slot = scale_to(mix64(host), hosts_.size());
  while (hosts_[slot] != 0 && hosts_[slot] != host)
    slot = slot + 1 == hosts_.size() ? 0 : slot + 1;
  return slot;
}

std::uint64_t HostUrlCounts::of(std::uint64_t host) const {
  // An empty slot has the number 0.
  return hosts_.empty() ? 0 : counts_[find(key_of(host))];
}

void HostUrlCounts::set(std::uint64_t host, std::uint64_t count) {
  const std::uint64_t key = key_of(host);
  if (hosts_.empty()) make_room();
  std::size_t slot = find(key);
  if (hosts_[slot] == 0) {
    if (is_full()) {
      make_room();
      slot = find(key);
    }
    hosts_[slot] = key;
    ++used_;
  }
  counts_[slot] =
      static_cast<Count>(std::min<std::uint64_t>(count, std::numeric_limits<Count>::max()));
}

void HostUrlCounts::decrement(std::uint64_t host) {
  if (const std::uint64_t count = of(host); count > 0) set(host, count - 1);
}

void HostUrlCounts::make_room() {
  if (hosts_.size() < most_slots_) {
    rebuild(std::min(std::max(hosts_.size() * 2, kLeastSlots), most_slots_), 0);
  } else {
    const Count forgotten = lowest_quarter();
    rebuild(hosts_.size(),
            forgotten == std::numeric_limits<Count>::max() ? forgotten : forgotten + 1);
  }
}

void HostUrlCounts::rebuild(std::size_t slots, Count least) {
  const auto hosts = std::exchange(hosts_, std::vector<std::uint64_t>(slots));
  const auto counts = std::exchange(counts_, std::vector<Count>(slots));
  if (slots > hosts.size()) charge_.take((slots - hosts.size()) * kSlotBytes);
  used_ = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i] == 0 || counts[i] < least) continue;
    const std::size_t slot = find(hosts[i]);
    hosts_[slot] = hosts[i];
    counts_[slot] = counts[i];
    ++used_;
  }
}

HostUrlCounts::Count HostUrlCounts::lowest_quarter() const {
  std::vector<Count> counts;
  counts.reserve(used_);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i] != 0) counts.push_back(counts_[i]);
  }
  const auto quarter = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 4);
  std::ranges::nth_element(counts, quarter);
  return *quarter;
}

}  // namespace trawl
