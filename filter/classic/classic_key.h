// ClassicKey: a key of a classic filter and its bits, for exactly_once_insert().
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "filter/bits/stripes_of_key.h"
#include "filter/classic/classic_places.h"

namespace trawl {

// `Bits` is ClassicBits, or a test's replacement. Some of the places may be equal.
template <class Bits>
class ClassicKey {
 public:
  // At most kMaxClassicHashes places.
  ClassicKey(const Bits& bits, std::span<const std::uint64_t> places)
      : bits_(bits), places_(places), stripes_(bits) {
    assert(places.size() <= kMaxClassicHashes);
  }

  bool is_in() {
    missing_ = 0;
    for (const std::uint64_t place : places_) {
      missing_places_[missing_] = place;
      missing_ += bits_.test(place) ? 0 : 1;
    }
    return missing_ == 0;
  }
  bool lock_and_ask() {
    for (const std::uint64_t place : places_)
      bits_.fetch_lock(place);
    bool is_in = true;
    // A bit can be read as soon as its lock is held: no other thread sets it then.
    const auto ask = [&](std::uint64_t place) { is_in = bits_.test(place) && is_in; };
    if (stripes_.try_lock(missing(), ask)) return is_in;
    is_in = true;
    stripes_.lock_in_order(missing());
    std::ranges::for_each(missing(), ask);
    return is_in;
  }
  // Also sets bits that another key has set meanwhile, which changes nothing.
  void add_and_unlock() {
    stripes_.unlock(missing(), [&](std::uint64_t place) { bits_.set(place); });
  }

 private:
  // The places that is_in() found unset.
  std::span<const std::uint64_t> missing() const { return {missing_places_.data(), missing_}; }

  const Bits& bits_;
  std::span<const std::uint64_t> places_;
  std::size_t missing_ = 0;
  std::array<std::uint64_t, kMaxClassicHashes + 1> missing_places_;  // the last element is written
                                                                     // but never read
  StripesOfKey<Bits, kMaxClassicHashes> stripes_;
};

}  // namespace trawl
