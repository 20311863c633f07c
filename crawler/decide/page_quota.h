// PageQuota: enforces scope.max_pages.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/quota.h"

namespace trawl {

// Pages are taken before they are fetched, and given back if they are not fetched, so that any
// number of threads never exceeds the limit. Thread-safe.
class PageQuota {
 public:
  PageQuota(std::optional<std::uint64_t> max_pages, std::uint64_t already_fetched)
      : limit_(max_pages.value_or(kUnlimited)),
        left_(max_pages.value_or(kUnlimited) -
              std::min(max_pages.value_or(kUnlimited), already_fetched)),
        finished_(already_fetched) {}

  // Takes up to `wanted` pages; returns how many.
  std::uint64_t take(std::uint64_t wanted) { return left_.take(wanted); }
  void give_back(std::uint64_t n) { left_.give_back(n); }
  bool all_taken() const { return !left_.has_any(); }
  // A page that was taken has been fetched.
  void finish_one() { finished_.fetch_add(1, std::memory_order_relaxed); }
  bool used_up() const {
    return finished_.load(std::memory_order_relaxed) >= limit_.load(std::memory_order_relaxed);
  }
  // Nothing: there is none.
  std::optional<std::uint64_t> limit() const {
    const std::uint64_t limit = limit_.load(std::memory_order_relaxed);
    return limit == kUnlimited ? std::nullopt : std::optional(limit);
  }
  // Pages that are being fetched are finished, even beyond a lower limit. Not while other threads
  // take pages.
  void set_limit(std::optional<std::uint64_t> max_pages) {
    const std::uint64_t limit = max_pages.value_or(kUnlimited);
    const std::uint64_t before = limit_.exchange(limit, std::memory_order_relaxed);
    if (limit > before) {
      const std::uint64_t more = limit - before;
      const std::uint64_t paid = std::min(more, owed_);
      owed_ -= paid;
      left_.give_back(more - paid);
    } else {
      const std::uint64_t less = before - limit;
      owed_ += less - left_.take(less);
    }
  }

 private:
  // Half of the range, so that giving back never overflows.
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max() / 2;

  std::atomic<std::uint64_t> limit_;
  Quota left_;
  std::uint64_t owed_ = 0;  // pages beyond a limit that was lowered
  std::atomic<std::uint64_t> finished_;
};

}  // namespace trawl
