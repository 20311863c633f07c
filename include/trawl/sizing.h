// How large a Bloom filter must be, and what rate of false positives it then has.
#pragma once

#include <cstdint>

#include "trawl/result.h"

namespace trawl {

inline constexpr double kMinBloomRate = 1e-15;

// The textbook's formulas, for n keys in m bits with k hash functions (Broder, Mitzenmacher:
// "Network applications of Bloom filters: a survey", 2004). Numbers are real, not rounded.
double bloom_bits(double keys, double rate);                 // m = -n ln p / (ln 2)^2
double bloom_hashes(double bits_per_key);                    // k = (m / n) ln 2
double bloom_rate(double keys, double bits, double hashes);  // p = (1 - e^(-kn/m))^k

struct BloomSize {
  std::uint64_t bits = 0;
  unsigned hashes = 0;      // k, the whole number that gives the lowest rate
  double bits_per_key = 0;  // m / n
  double rate = 0;          // with these bits and hashes
};
// The flat filter of the textbook for `keys` keys at `rate`. Since k is a whole number, its rate is
// a little off the one asked for: up to 4 % above it, for the usual rates less than 1 %. Above a
// rate of 0.5, where k would be less than 1, it has k = 1 and the bits that this takes. Errors,
// here and below: kInvalidArgument for 0 keys, a rate outside (0, 1), one below kMinBloomRate, or a
// filter beyond 2^63 bits.
Result<BloomSize> classic_bloom_size(std::uint64_t keys, double rate);
// The same with a whole number of bits a key, rounded up.
Result<BloomSize> classic_bloom_size_in_whole_bits(std::uint64_t keys, double rate);

// The blocked filter: a block of 512 bits holds Poisson(n / blocks) keys, and the rate is the sum
// over all loads of their probability times the rate of a block with that load (Putze, Sanders,
// Singler: "Cache-, hash- and space-efficient Bloom filters", 2007, section 3).
double blocked_bloom_rate(double keys_per_block, unsigned hashes);
// The size and k of BlockedBloomFilter: of all k whose size is within 1 % of the smallest, the
// lowest, since each of a key's bits costs a locked operation.
Result<BloomSize> blocked_bloom_size(std::uint64_t keys, double rate);

}  // namespace trawl
