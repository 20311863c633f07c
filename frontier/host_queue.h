// HostQueue: the URLs of one politeness group, the first of them in memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "trawl/frontier.h"

#include "frontier/queued_url.h"

namespace trawl {

// Every pending URL of the host is in exactly one of three places: in `head`, leased, or in the
// store only. Those in the store only come, in queue order, behind `read_up_to`; there are none
// if that is empty.
struct HostQueue {
  explicit HostQueue(std::string host) : name(std::move(host)) {}

  std::string name;
  std::map<QueueOrder, QueuedUrl> head;
  std::optional<QueueOrder> read_up_to;
  SteadyTime next_start{};   // no request before
  std::uint32_t leased = 0;  // leases that count against leases_per_host
  bool scheduled = false;    // has an entry in the shard's schedule

  bool has_urls() const noexcept { return !head.empty() || read_up_to.has_value(); }

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
