// DistinctHosts: a set of hosts that are added many times each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "frontier/store/queued_url.h"

namespace trawl {

// A vector that is sorted and deduplicated when it is full. Takes 8 bytes for each of up to some
// million additions, or about three times what the distinct hosts need, however often each is
// added.
class DistinctHosts {
 public:
  void add(HostId host) {
    if (hosts_.size() >= std::max(kRoom, 2 * distinct_)) drop_repeated();
    hosts_.push_back(host);
  }
  // Returns the hosts in ascending order.
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
