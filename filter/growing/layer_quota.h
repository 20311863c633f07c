// LayerQuota: the number of keys that a layer may still take, distributed to many threads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/striped_counter.h"

namespace trawl {

// An insert takes places first and returns those it did not need, so that a layer never holds more
// keys than places. Places come from a common stock; for single keys, in pieces that each stripe of
// threads keeps. All operations are relaxed: the counters order no other data.
class LayerQuota {
 public:
  // `capacity` places, of which `taken` are taken.
  LayerQuota(std::uint64_t capacity, std::uint64_t taken) noexcept
      : piece_(std::clamp<std::uint64_t>(capacity / kPiecesPerRoom, 1, kMaxPiece)),
        stock_(static_cast<std::int64_t>(capacity - std::min(capacity, taken))) {}

  // Takes up to `want` places; returns the number taken, 0 if none is left.
  std::size_t take(std::size_t want) noexcept {
    if (want > 1) {
      if (const std::size_t places = from_stock(want); places > 0) return places;
    }
    return take_one() ? 1 : 0;
  }
  // Returns places, or adds new ones.
  void put(std::uint64_t places) noexcept {
    stock_.fetch_add(static_cast<std::int64_t>(places), std::memory_order_relaxed);
  }
  // Whether take(want) would give as many.
  bool has_plenty(std::size_t want) const noexcept {
    return stock_.load(std::memory_order_relaxed) / kShare >= static_cast<std::int64_t>(want);
  }
  // The places that are left, for all threads.
  std::uint64_t left() const noexcept {
    std::int64_t places = std::max<std::int64_t>(0, stock_.load(std::memory_order_relaxed));
    for (const Stripe& stripe : stripes_)
      places += static_cast<std::int64_t>(stripe.places.load(std::memory_order_relaxed));
    return static_cast<std::uint64_t>(places);
  }
  // Whether there is no place for the calling thread.
  bool used_up() const noexcept {
    return stock_.load(std::memory_order_relaxed) <= 0 &&
           stripes_[thread_stripe(kStripes)].places.load(std::memory_order_relaxed) == 0;
  }

 private:
  static constexpr std::size_t kStripes = 16;
  // All stripes together hold at most 1/256 of the room.
  static constexpr std::uint64_t kPiecesPerRoom = 256 * kStripes;
  static constexpr std::uint64_t kMaxPiece = 1024;
  // One call takes at most 1/kShare of the remaining places: otherwise other threads could find
  // none although most will be returned.
  static constexpr std::int64_t kShare = 8;
  struct alignas(kCacheLine) Stripe {
    std::atomic<std::uint64_t> places{0};
  };

  std::size_t from_stock(std::size_t want) noexcept {
    std::int64_t left = stock_.load(std::memory_order_relaxed);
    while (left > 0) {
      const std::int64_t places =
          std::min(static_cast<std::int64_t>(want), std::max<std::int64_t>(1, left / kShare));
      if (stock_.compare_exchange_weak(left, left - places, std::memory_order_relaxed))
        return static_cast<std::size_t>(places);
    }
    return 0;
  }
  bool take_one() noexcept {
    std::atomic<std::uint64_t>& mine = stripes_[thread_stripe(kStripes)].places;
    std::uint64_t places = mine.load(std::memory_order_relaxed);
    while (places > 0) {
      if (mine.compare_exchange_weak(places, places - 1, std::memory_order_relaxed)) return true;
    }
    const std::size_t piece = from_stock(piece_);
    assert(piece <= piece_);
    if (piece > 1) mine.fetch_add(piece - 1, std::memory_order_relaxed);
    return piece > 0;
  }

  std::array<Stripe, kStripes> stripes_;
  std::uint64_t piece_;
  alignas(kCacheLine) std::atomic<std::int64_t> stock_;
};

}  // namespace trawl
