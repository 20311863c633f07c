// StripedCounter: a counter that many threads add to without sharing a cache line.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace trawl {

inline constexpr std::size_t kCacheLine = 64;

// The stripe of the calling thread; assigned round-robin.
inline std::size_t thread_stripe(std::size_t stripes) noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine % stripes;
}

class StripedCounter {
 public:
  void add(std::uint64_t n) noexcept {
    stripes_[thread_stripe(kStripes)].value.fetch_add(n, std::memory_order_relaxed);
  }
  // Sets the sum; concurrent additions may be lost.
  void reset(std::uint64_t n) noexcept {
    for (auto& stripe : stripes_)
      stripe.value.store(&stripe == stripes_.data() ? n : 0, std::memory_order_relaxed);
  }
  std::uint64_t sum() const noexcept {
    std::uint64_t total = 0;
    for (const auto& stripe : stripes_)
      total += stripe.value.load(std::memory_order_relaxed);
    return total;
  }

 private:
  static constexpr std::size_t kStripes = 16;
  struct alignas(kCacheLine) Stripe {
    std::atomic<std::uint64_t> value{0};
  };
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace trawl
