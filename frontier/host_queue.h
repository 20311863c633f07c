// HostQueue: the URLs of one politeness group, the first of them in memory.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trawl/frontier.h"

#include "frontier/queued_url.h"

namespace trawl {

// Of the URLs of the host that the shard knows of, each is either in `head`, or leased, or in the
// store only. Those in the store only come, in queue order, behind `read_up_to`; there are none if
// that is empty.
struct HostQueue {
  explicit HostQueue(std::string host) : name(std::move(host)) {}

  std::string name;
  std::map<QueueOrder, QueuedUrl> head;
  std::optional<QueueOrder> read_up_to;

  // When the requests of its open leases start, as far as is known, and when the last request that
  // was surely made did.
  std::multiset<SteadyTime> open_starts;
  std::optional<SteadyTime> surely_started;
  SteadyTime not_before{};   // the clock's epoch, which has passed
  std::uint32_t leased = 0;  // leases that count against leases_per_host

  // Its entries in the shard's schedule: how many, and the one that counts, if any.
  std::uint32_t entries = 0;
  std::optional<std::uint64_t> ticket;
  SteadyTime scheduled_for{};

  bool has_urls() const noexcept { return !head.empty() || read_up_to.has_value(); }

  // When the next request may start.
  SteadyTime next_start(std::chrono::milliseconds delay) const {
    SteadyTime start = not_before;
    if (surely_started) start = std::max(start, *surely_started + delay);
    if (!open_starts.empty()) start = std::max(start, *open_starts.rbegin() + delay);
    return start;
  }

  // Takes in URLs that are next in the store.
  void append(std::vector<QueuedUrl> urls) {
    for (auto& url : urls) {
      const QueueOrder order = url.order;
      head.emplace(order, std::move(url));
    }
  }

  // Takes a pending URL in, unless it belongs behind `read_up_to`, where the store has it. Keeps
  // at most `limit` (>= 1) in memory.
  void add(QueuedUrl url, std::size_t limit) {
    if (read_up_to && url.order > *read_up_to) return;
    const QueueOrder order = url.order;
    head.emplace(order, std::move(url));
    while (head.size() > limit) {
      head.erase(std::prev(head.end()));
      read_up_to = head.rbegin()->first;
    }
  }
};

}  // namespace trawl
