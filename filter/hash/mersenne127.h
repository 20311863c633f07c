// Arithmetic modulo the prime 2^127 - 1.
#pragma once

#include <cstdint>

#include "base/mix.h"

namespace trawl {

inline constexpr Uint128 kMersenne127 = (static_cast<Uint128>(1) << 127) - 1;

// (a * b + c) mod 2^127 - 1, for a below 2^127 and b below 2^126.
constexpr Uint128 multiply_add_127(Uint128 a, Uint128 b, std::uint64_t c) noexcept {
  const auto a0 = static_cast<std::uint64_t>(a), a1 = static_cast<std::uint64_t>(a >> 64);
  const auto b0 = static_cast<std::uint64_t>(b), b1 = static_cast<std::uint64_t>(b >> 64);
  const Uint128 bottom = static_cast<Uint128>(a0) * b0;
  // Below 2^126 + 2^127.
  const Uint128 middle = static_cast<Uint128>(a0) * b1 + static_cast<Uint128>(a1) * b0;
  const Uint128 low = bottom + (middle << 64);
  const Uint128 high = static_cast<Uint128>(a1) * b1 + (middle >> 64) + (low < bottom ? 1 : 0);
  // The product is low + 2^128 high, and 2^127 is 1 modulo the prime.
  Uint128 sum = (low & kMersenne127) + (low >> 127) + 2 * high + c;
  sum = (sum & kMersenne127) + (sum >> 127);
  return sum >= kMersenne127 ? sum - kMersenne127 : sum;
}

}  // namespace trawl
