// Fingerprints for tests of filters: of a number and a seed, spread as a hash would spread them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trawl/fingerprint.h"

#include "base/mix.h"

namespace trawl::test {

inline Fingerprint nth_key(std::uint64_t n, std::uint64_t seed = 1) {
  return {.high = mix64(mix64(seed) + 2 * n), .low = mix64(mix64(seed) + 2 * n + 1)};
}

inline std::vector<Fingerprint> some_keys(std::size_t n, std::uint64_t seed = 1) {
  std::vector<Fingerprint> keys(n);
  for (std::size_t i = 0; i < n; ++i)
    keys[i] = nth_key(i, seed);
  return keys;
}

}  // namespace trawl::test
