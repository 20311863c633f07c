// FailedSeeds: seeds that failed, or pages that they redirect to, for the summary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"

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
    const MutexLock lock(mutex_);
    if (++count_ <= kNamed) named_.push_back({url, why});
  }
  std::uint64_t count() const {
    const MutexLock lock(mutex_);
    return count_;
  }
  // The first of them.
  std::vector<Seed> named() const {
    const MutexLock lock(mutex_);
    return named_;
  }

 private:
  mutable Mutex mutex_;
  std::uint64_t count_ TRAWL_GUARDED_BY(mutex_) = 0;
  std::vector<Seed> named_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
