// FailedSeeds: seeds that failed, or pages that they redirect to, for the summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace trawl {

// Of one run. Thread-safe.
class FailedSeeds {
 public:
  static constexpr std::size_t kNamed = 10;

  struct Seed {
    std::string url;
    std::string why;
  };

  void add(const std::string& url, const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (++count_ <= kNamed) named_.push_back({url, why});
  }
  std::uint64_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  // The first of them.
  std::vector<Seed> named() const {
    const std::lock_guard lock(mutex_);
    return named_;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t count_ = 0;  // guarded by mutex_, as the next
  std::vector<Seed> named_;
};

}  // namespace trawl
