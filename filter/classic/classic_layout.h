// ClassicLayout: the number of bits and hashes of a classic filter.
#pragma once

#include <cstdint>

#include "trawl/classic_bloom_filter.h"

namespace trawl {

// m is a multiple of a cache line's bits.
inline constexpr std::uint64_t kClassicWordBits = 64;
inline constexpr std::uint64_t kClassicLineWords = 8;

struct ClassicLayout {
  std::uint64_t words = 0;
  unsigned hashes = 0;
  double target_rate = 0;  // as requested, or resulting from the requested size
};

// Errors: kInvalidArgument for contradictory or impossible options.
Result<ClassicLayout> choose_classic_layout(const ClassicBloomFilter::Options& options);

}  // namespace trawl
