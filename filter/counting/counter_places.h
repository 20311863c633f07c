// The counters of a key.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <span>

#include "trawl/fingerprint.h"

#include "base/mix.h"

namespace trawl {

inline constexpr unsigned kMaxCountersOfKey = 64;

// The i-th place of a key among `size` counters (files depend on this formula):
//
//   floor(mix64(high + i * (low | 1) mod 2^64) * size / 2^64),   i = 0 .. k - 1.
//
// This is double hashing (Kirsch, Mitzenmacher: "Less hashing, same performance", 2006) over 2^64
// instead of over `size`, so that it works for any number of counters. The mixing prevents two keys
// with nearly the same step from sharing place after place, which would raise the rate of small
// filters.
inline std::uint64_t counter_place(Fingerprint key, unsigned i, std::uint64_t size) noexcept {
  return scale_to(mix64(key.high + i * (key.low | 1)), size);
}

// The places of a key, in the order of i; some may be equal.
class CounterPlaces {
 public:
  void compute(Fingerprint key, unsigned hashes, std::uint64_t size) noexcept {
    assert(hashes <= kMaxCountersOfKey && size > 0);
    count_ = hashes;
    for (unsigned i = 0; i < hashes; ++i)
      places_[i] = counter_place(key, i, size);
  }

  // Removes duplicates, so that a key counts once at each place.
  void drop_repeated() noexcept {
    if (!any_repeated()) return;
    auto kept = places_.begin();
    for (const std::uint64_t place : *this) {
      if (std::find(places_.begin(), kept, place) == kept) *kept++ = place;
    }
    count_ = static_cast<unsigned>(kept - places_.begin());
  }

  std::span<const std::uint64_t> all() const noexcept { return {places_.data(), count_}; }
  std::uint64_t operator[](unsigned i) const noexcept { return places_[i]; }
  unsigned size() const noexcept { return count_; }
  const std::uint64_t* begin() const noexcept { return places_.data(); }
  const std::uint64_t* end() const noexcept { return places_.data() + count_; }

 private:
  // Without a branch in the inner loop, so that the compiler can vectorise it: duplicates are rare.
  bool any_repeated() const noexcept {
    std::uint64_t repeated = 0;
    for (unsigned i = 1; i < count_; ++i) {
      for (unsigned j = 0; j < i; ++j)
        repeated |= places_[i] == places_[j] ? 1 : 0;
    }
    return repeated != 0;
  }

  std::array<std::uint64_t, kMaxCountersOfKey> places_;
  unsigned count_ = 0;
};

}  // namespace trawl
