// ClassicPlaces: the bits of a key in a classic Bloom filter.
#pragma once

#include <cassert>
#include <cstdint>

#include "trawl/fingerprint.h"

#include "base/mix.h"

namespace trawl {

inline constexpr unsigned kMaxClassicHashes = 64;  // bits a key may have (k)

// Bit i of a key is at the place
//
//   floor(h_i * m / 2^64),  h_i = mix(high + i * (low | 1)),  mix(x) = (x ^ x >> 32) * C,
//
// all mod 2^64 except for the last product, of which this is the upper half; i = 0 .. k - 1. Filter
// files depend on this formula.
//
// high + i * low is the double hashing of Kirsch and Mitzenmacher (2006), in 64 bits; an odd step
// is never zero. Alone it is not good enough for small filters: all its sequences are arithmetic,
// so that two keys with about the same start and step share all their places. That happens with a
// probability of at least n / m^2, far above a rate of 1e-6 (Dillinger, Manolios: "Bloom filters in
// probabilistic verification", 2004). The mixing breaks up the sequences: keys share all places
// only if they agree in each place. The upper half of a 128-bit product maps the hash to any m,
// including m above 2^32, with a negligible bias (below m / 2^64).
class ClassicPlaces {
 public:
  ClassicPlaces(Fingerprint key, std::uint64_t bits) noexcept
      : at_(key.high), step_(key.low | 1), bits_(bits) {
    assert(bits > 0);
  }

  // The next place, beginning with that of bit 0.
  std::uint64_t next() noexcept {
    const std::uint64_t mixed = (at_ ^ at_ >> 32) * kMultiplier;
    at_ += step_;
    return scale_to(mixed, bits_);
  }

 private:
  // 2^64 divided by the golden ratio, made odd (Knuth: "The art of computer programming", volume 3,
  // section 6.4).
  static constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;

  std::uint64_t at_;
  std::uint64_t step_;
  std::uint64_t bits_;
};

}  // namespace trawl
