// ClassicLayout: how many bits and hashes a classic filter has.
#pragma once

#include <cstdint>

#include "trawl/classic_bloom_filter.h"

namespace trawl {

// m is a multiple of the bits of a cache line.
inline constexpr std::uint64_t kClassicWordBits = 64;
inline constexpr std::uint64_t kClassicLineWords = 8;

struct ClassicLayout {
  std::uint64_t words = 0;
  unsigned hashes = 0;
  double target_rate = 0;  // the one asked for, or what the size asked for gives
};

// Errors: kInvalidArgument, for options that contradict each other or that no filter can have.
Result<ClassicLayout> choose_classic_layout(const ClassicBloomFilter::Options& options);

}  // namespace trawl
