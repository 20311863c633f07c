// DistinctHosts: hosts that are named again and again, each once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "frontier/store/queued_url.h"

namespace trawl {

// Takes 8 bytes for each of some million hosts, or some three times as much as the distinct ones
// need, however often they are named.
class DistinctHosts {
 public:
  void add(HostId host) {
    if (hosts_.size() >= std::max(kRoom, 2 * distinct_)) drop_repeated();
    hosts_.push_back(host);
  }
  // In ascending order.
  std::vector<HostId> take() {
    drop_repeated();
    distinct_ = 0;
    return std::exchange(hosts_, {});
  }
  std::size_t memory() const noexcept { return hosts_.capacity() * sizeof(HostId); }

 private:
  static constexpr std::size_t kRoom = 1u << 20;

  void drop_repeated() {
    std::ranges::sort(hosts_);
    hosts_.erase(std::unique(hosts_.begin(), hosts_.end()), hosts_.end());
    distinct_ = hosts_.size();
  }

  std::vector<HostId> hosts_;
  std::size_t distinct_ = 0;  // after the last drop_repeated()
};

}  // namespace trawl
