// GracePeriod: waits until the operations under way have ended, without holding up those that come.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "filter/striped_counter.h"

namespace trawl {

// Operations are short (memory only, no I/O) and never wait: entering and leaving is one atomic
// write each, to a line that few other threads use. Two counters a stripe, of which operations
// enter one while wait() watches the other run empty, are the idea of SRCU (McKenney: "Sleepable
// RCU", 2006).
//
// For every operation and every wait(), one of two holds:
//  - the operation has left before wait() returns, and what it did is visible after wait();
//  - what was done before wait() is visible to the operation.
// An operation that had entered before wait() was called has left when it returns.
class GracePeriod {
 public:
  // Held while an operation is under way.
  class Operation {
   public:
    explicit Operation(GracePeriod& grace) noexcept : inside_(grace.enter()) {}
    // release: what the operation did becomes visible to the wait() that finds the counter at zero;
    // pairs with the RMW in wait_until_empty().
    ~Operation() { inside_.fetch_sub(1, std::memory_order_release); }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

   private:
    std::atomic<std::uint32_t>& inside_;
  };

  // Must not be called from inside an operation: it would wait for itself. Ends although other
  // threads keep entering. Thread-safe; waiters take turns.
  void wait() noexcept;

 private:
  static constexpr std::size_t kStripes = 16;
  static constexpr unsigned kPhases = 2;
  struct alignas(kCacheLine) Stripe {
    std::array<std::atomic<std::uint32_t>, kPhases> inside{};
  };

  std::atomic<std::uint32_t>& enter() noexcept {
    // Whichever phase this sees, the operation is counted; relaxed is enough.
    const unsigned phase = phase_.load(std::memory_order_relaxed);
    std::atomic<std::uint32_t>& inside = stripes_[thread_stripe(kStripes)].inside[phase];
    // acquire: pairs with the RMW in wait_until_empty() if that came before.
    inside.fetch_add(1, std::memory_order_acquire);
    return inside;
  }
  void wait_until_empty(unsigned phase) noexcept;

  std::array<Stripe, kStripes> stripes_;
  alignas(kCacheLine) std::atomic<unsigned> phase_{0};  // the one that operations enter
  std::mutex waiting_;
};

}  // namespace trawl
