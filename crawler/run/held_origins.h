// HeldOrigins: origins whose URLs are held one by one while the rest of their host is fetched,
// since their robots.txt cannot be fetched or their certificate is refused.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace trawl {

// The held origins of one run. Thread-safe.
class HeldOrigins {
 public:
  // Bounds the memory: if more origins would be held, their hosts are parked.
  static constexpr std::size_t kMost = 10'000;
  using Set = std::set<std::string, std::less<>>;

  // Returns false if too many origins are held.
  bool add(const std::string& origin, const std::string& why) {
    const MutexLock lock(mutex_);
    const auto known = origins_.find(origin);
    if (known == origins_.end() && origins_.size() >= kMost) return false;
    origins_.insert_or_assign(origin, Held{.why = why});
    return true;
  }
  // Ends the hold; URLs that were held wait to be offered again.
  void release(const std::string& origin) {
    const MutexLock lock(mutex_);
    if (const auto held = origins_.find(origin); held != origins_.end())
      held->second.state = State::kReleased;
  }
  // The origins released since the last call; pass them to offered().
  Set take_released() {
    const MutexLock lock(mutex_);
    Set released;
    for (auto& [origin, held] : origins_) {
      if (held.state != State::kReleased) continue;
      held.state = State::kTaken;
      released.insert(origin);
    }
    return released;
  }
  // Their URLs were offered. Forgets these origins, except those that are held again.
  void offered(const Set& origins) {
    const MutexLock lock(mutex_);
    for (const std::string& origin : origins) {
      const auto held = origins_.find(origin);
      if (held != origins_.end() && held->second.state == State::kTaken) origins_.erase(held);
    }
  }

  // Whether URLs remain to be offered before the crawl is done.
  bool has_released() const {
    const MutexLock lock(mutex_);
    for (const auto& [origin, held] : origins_) {
      if (held.state == State::kReleased) return true;
    }
    return false;
  }
  // How many origins may have held URLs.
  std::size_t count() const {
    const MutexLock lock(mutex_);
    return origins_.size();
  }
  // One of these origins and the reason; both empty if there is none.
  std::pair<std::string, std::string> example() const {
    const MutexLock lock(mutex_);
    if (origins_.empty()) return {};
    return {origins_.begin()->first, origins_.begin()->second.why};
  }

 private:
  enum class State : unsigned char { kHeld, kReleased, kTaken };
  struct Held {
    std::string why;
    State state = State::kHeld;
  };

  mutable Mutex mutex_;
  std::map<std::string, Held> origins_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
