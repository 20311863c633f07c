// LedgerCache: fingerprints known to be in the ledger, so that links repeated on every page are not
// looked up on disk each time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trawl/fingerprint.h"

#include "base/mix.h"
#include "base/mutex.h"

namespace trawl {

// A set-associative cache: sets of kWays fingerprints, most recently used first. Records never
// leave the ledger, so that entries never become wrong. Thread-safe.
class LedgerCache {
 public:
  // Caches nothing if `bytes` is less than one set.
  explicit LedgerCache(std::uint64_t bytes) : sets_(bytes / sizeof(Set)) {}

  bool contains(Fingerprint key) {
    if (sets_.empty()) return false;
    const MutexLock lock(mutex_of(key));
    Set& set = set_of(key);
    const auto found = std::ranges::find(set, key);
    if (found == set.end()) return false;
    std::rotate(set.begin(), found, found + 1);
    return true;
  }
  void add(Fingerprint key) {
    if (sets_.empty()) return;
    const MutexLock lock(mutex_of(key));
    Set& set = set_of(key);
    std::rotate(set.begin(), set.end() - 1, set.end());
    set.front() = key;
  }
  std::uint64_t memory() const noexcept { return sets_.size() * sizeof(Set); }

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kMutexes = 64;
  // Free places hold the fingerprint {0, 0}, which a URL has with a probability of 2^-128.
  using Set = std::array<Fingerprint, kWays>;

  Set& set_of(Fingerprint key) TRAWL_REQUIRES(mutex_of(key)) {
    return sets_[scale_to(key.low, sets_.size())];
  }
  Mutex& mutex_of(Fingerprint key) {
    // Chosen by the set, so that all keys of a set share the mutex.
    return mutexes_[scale_to(key.low, sets_.size()) % kMutexes];
  }

  std::vector<Set> sets_;
  std::array<Mutex, kMutexes> mutexes_;
};

}  // namespace trawl
