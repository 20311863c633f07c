// KeyRoom: how many more keys a layer may take, handed out to many threads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/striped_counter.h"

namespace trawl {

// Who inserts takes places first and gives back those it did not need, so that a layer never holds
// more keys than it has places. Places are taken from a common stock; for single keys, in pieces
// that each stripe of threads keeps. It counts only and orders nothing else: all relaxed.
class KeyRoom {
 public:
  // `capacity` places, of which `taken` are.
  KeyRoom(std::uint64_t capacity, std::uint64_t taken) noexcept
      : piece_(std::clamp<std::uint64_t>(capacity / kPiecesPerRoom, 1, kMaxPiece)),
        stock_(static_cast<std::int64_t>(capacity - std::min(capacity, taken))) {}

  // Takes up to `want` places; returns how many, 0 if none is left.
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
  // Whether there is none for the calling thread.
  bool used_up() const noexcept {
    return stock_.load(std::memory_order_relaxed) <= 0 &&
           stripes_[thread_stripe(kStripes)].places.load(std::memory_order_relaxed) == 0;
  }

 private:
  static constexpr std::size_t kStripes = 16;
  // All stripes together keep at most 1/256 of the room from the others.
  static constexpr std::uint64_t kPiecesPerRoom = 256 * kStripes;
  static constexpr std::uint64_t kMaxPiece = 1024;
  // Of what is left nobody takes more than this share at once, lest others find none although
  // most places will be given back.
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
    if (piece > 1) mine.fetch_add(piece - 1, std::memory_order_relaxed);
    return piece > 0;
  }

  std::array<Stripe, kStripes> stripes_;
  std::uint64_t piece_;
  alignas(kCacheLine) std::atomic<std::int64_t> stock_;
};

}  // namespace trawl
