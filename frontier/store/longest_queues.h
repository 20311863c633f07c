// LongestQueues: the hosts with the longest queues, of those that are counted one after the other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "frontier/store/queued_url.h"

namespace trawl {

// `What` is what is kept of a host.
template <class What>
class LongestQueues {
 public:
  struct Queue {
    std::uint64_t urls;
    HostId host;
    What what;
    // For a heap with the shortest queue on top; host ids break ties.
    bool operator>(const Queue& other) const {
      return urls != other.urls ? urls > other.urls : host < other.host;
    }
  };

  explicit LongestQueues(std::size_t kept) : kept_(kept) {}

  void add(Queue queue) {
    longest_.push(std::move(queue));
    if (longest_.size() > kept_) longest_.pop();
  }
  // The longest first; none are left.
  std::vector<Queue> take() {
    std::vector<Queue> queues;
    for (; !longest_.empty(); longest_.pop())
      queues.push_back(longest_.top());
    std::ranges::reverse(queues);
    return queues;
  }

 private:
  const std::size_t kept_;
  std::priority_queue<Queue, std::vector<Queue>, std::greater<>> longest_;
};

}  // namespace trawl
