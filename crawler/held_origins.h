// HeldOrigins: origins whose URLs are held one by one, since their robots.txt cannot be had while
// another origin of the same host answers.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace trawl {

// Of one run. Thread-safe.
class HeldOrigins {
 public:
  static constexpr std::size_t kMost = 10'000;  // beyond, they are held but not listed

  void add(const std::string& origin, const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (origins_.size() < kMost) origins_.try_emplace(origin, why);
  }
  void remove(const std::string& origin) {
    const std::lock_guard lock(mutex_);
    origins_.erase(origin);
  }
  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return origins_.size();
  }
  // One of them, and why; both empty if there is none.
  std::pair<std::string, std::string> example() const {
    const std::lock_guard lock(mutex_);
    if (origins_.empty()) return {};
    return *origins_.begin();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> origins_;  // guarded by mutex_; why, by origin
};

}  // namespace trawl
