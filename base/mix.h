// Arithmetic on hashes: mixing, and mapping to 0 .. n - 1 without a division.
#pragma once

#include <cstdint>

namespace trawl {

// The finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", 2014), with the constants of Stafford's variant 13.
constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

__extension__ using Uint128 = unsigned __int128;

// floor(hash * n / 2^64): uniform over 0 .. n - 1 if `hash` is uniform (Lemire, "Fast random
// integer generation in an interval", 2019).
constexpr std::uint64_t scale_to(std::uint64_t hash, std::uint64_t n) noexcept {
  return static_cast<std::uint64_t>((static_cast<Uint128>(hash) * n) >> 64);
}

}  // namespace trawl
