// AskedDelays: delays of hosts that somebody set while the crawl runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace trawl {

// A host's robots.txt, which is read again from time to time, must not shorten such a delay.
// Thread-safe.
class AskedDelays {
 public:
  static constexpr std::size_t kMostHosts = 10'000;

  // 0 forgets it. False if there are too many.
  bool set(const std::string& host, std::chrono::milliseconds delay) {
    const MutexLock lock(mutex_);
    if (delay.count() <= 0) {
      delays_.erase(host);
      return true;
    }
    if (delays_.size() >= kMostHosts && !delays_.contains(host)) return false;
    delays_[host] = delay;
    return true;
  }
  // 0 if there is none.
  std::chrono::milliseconds of(std::string_view host) const {
    const MutexLock lock(mutex_);
    const auto delay = delays_.find(host);
    return delay == delays_.end() ? std::chrono::milliseconds(0) : delay->second;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::chrono::milliseconds, std::less<>> delays_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
