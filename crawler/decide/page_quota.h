// PageQuota: enforces scope.max_pages.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/quota.h"
#include "crawler/decide/limit_portions.h"

namespace trawl {

// Pages are taken before they are fetched, and given back if they are not fetched, so that any
// number of threads never exceeds the limit; nor does any number of crawlers that share it.
// Thread-safe.
class PageQuota {
 public:
  PageQuota(std::optional<std::uint64_t> max_pages, std::uint64_t already_fetched)
      : limit_(max_pages.value_or(kUnlimited)),
        left_(max_pages.value_or(kUnlimited) -
              std::min(max_pages.value_or(kUnlimited), already_fetched)),
        finished_(already_fetched) {}

  // Of a limit over several crawlers. `shared` must outlive the object.
  explicit PageQuota(LimitPortions& shared) : shared_(&shared), limit_(0), left_(0), finished_(0) {}

  // Takes up to `wanted` pages; returns how many. If several crawlers share the limit, there may be
  // more later unless used_up().
  std::uint64_t take(std::uint64_t wanted) {
    if (shared_ == nullptr) return left_.take(wanted);
    // seq_cst, all three, and in this order: pair with is_shared_used_up().
    out_.fetch_add(wanted, std::memory_order_seq_cst);
    takes_.fetch_add(1, std::memory_order_seq_cst);
    const std::uint64_t taken = shared_->use(wanted);
    out_.fetch_sub(wanted - taken, std::memory_order_seq_cst);
    return taken;
  }
  void give_back(std::uint64_t n) {
    if (shared_ == nullptr) return left_.give_back(n);
    shared_->give_back(n);
    // seq_cst: pairs with is_shared_used_up(): who sees it sees what was given back.
    out_.fetch_sub(n, std::memory_order_seq_cst);
  }
  bool all_taken() const { return shared_ != nullptr ? !shared_->has_any() : !left_.has_any(); }
  // A page that was taken has been fetched.
  void finish_one() {
    finished_.fetch_add(1, std::memory_order_relaxed);
    // seq_cst: pairs with is_shared_used_up().
    if (shared_ != nullptr) out_.fetch_sub(1, std::memory_order_seq_cst);
  }
  // All are finished, by this crawler and, as far as it knows, by the others.
  bool used_up() const {
    if (shared_ != nullptr) return is_shared_used_up();
    return finished_.load(std::memory_order_relaxed) >= limit_.load(std::memory_order_relaxed);
  }
  // Nothing: there is none.
  std::optional<std::uint64_t> limit() const {
    if (shared_ != nullptr) return shared_->limit();
    const std::uint64_t limit = limit_.load(std::memory_order_relaxed);
    return limit == kUnlimited ? std::nullopt : std::optional(limit);
  }
  // Pages that are being fetched are finished, even beyond a lower limit. Not while other threads
  // take pages.
  void set_limit(std::optional<std::uint64_t> max_pages) {
    if (shared_ != nullptr) return shared_->set_limit(max_pages);
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
  // Pages that are out may be given back. If none is, what is in hand becomes less only by a take,
  // which counts what it wants, then itself, and then takes. So either a take is seen in `out_`, or
  // what it took is still in hand, or `takes_` has changed.
  bool is_shared_used_up() const {
    // seq_cst, all three: pair with take() and give_back(), as said above.
    const std::uint64_t takes = takes_.load(std::memory_order_seq_cst);
    return out_.load(std::memory_order_seq_cst) == 0 && shared_->used_up() &&
           takes_.load(std::memory_order_seq_cst) == takes;
  }

  // Half of the range, so that giving back never overflows.
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max() / 2;

  LimitPortions* const shared_ = nullptr;
  std::atomic<std::uint64_t> out_{0};    // taken, and neither finished nor given back
  std::atomic<std::uint64_t> takes_{0};  // calls of take()
  std::atomic<std::uint64_t> limit_;
  Quota left_;
  std::uint64_t owed_ = 0;  // pages beyond a limit that was lowered
  std::atomic<std::uint64_t> finished_;
};

}  // namespace trawl
