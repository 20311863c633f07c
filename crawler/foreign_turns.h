// ForeignTurns: keeps apart the requests that a host gets on behalf of others, because their
// robots.txt redirects to it.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace trawl {

// The frontier keeps the delays between a host's own URLs; these requests are no leases of it.
// Thread-safe.
class ForeignTurns {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Nothing: `host` may be asked now, and again after `delay`. Else when it may be.
  std::optional<Time> take(const std::string& host, Time now, std::chrono::milliseconds delay) {
    if (delay.count() <= 0) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (next_.size() >= kMost)
      std::erase_if(next_, [now](const auto& at) { return at.second <= now; });
    Time& next = next_[host];
    if (next > now) return next;
    next = now + delay;
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kMost = 10'000;  // before those whose delay is over are dropped

  std::mutex mutex_;
  std::unordered_map<std::string, Time> next_;
};

}  // namespace trawl
