// RankedHosts: the hosts with the highest ranks of many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "frontier/store/queued_url.h"

namespace trawl {

// Takes memory for the hosts that it keeps.
class RankedHosts {
 public:
  explicit RankedHosts(std::size_t limit) : limit_(limit) {}

  void add(std::uint64_t rank, HostId host) {
    if (limit_ == 0 || (heap_.size() == limit_ && heap_.front().first >= rank)) return;
    if (heap_.size() == limit_) {
      std::ranges::pop_heap(heap_, kHigher);
      heap_.pop_back();
    }
    heap_.emplace_back(rank, host);
    std::ranges::push_heap(heap_, kHigher);
  }
  // The highest rank first.
  std::vector<HostId> take() {
    std::ranges::sort(heap_, kHigher);
    std::vector<HostId> hosts;
    hosts.reserve(heap_.size());
    for (const auto& [rank, host] : heap_)
      hosts.push_back(host);
    heap_.clear();
    return hosts;
  }

 private:
  using Ranked = std::pair<std::uint64_t, HostId>;
  static constexpr auto kHigher = [](const Ranked& a, const Ranked& b) { return a > b; };

  const std::size_t limit_;
  std::vector<Ranked> heap_;  // the lowest rank on top
};

}  // namespace trawl
