// How large a filter must be, and what rate of false positives it then has.
#pragma once

#include <cstdint>
#include <optional>

#include "trawl/classic_bloom_filter.h"
#include "trawl/filter.h"
#include "trawl/result.h"

namespace trawl {

inline constexpr double kMinBloomRate = 1e-15;

// The textbook's formulas, for n keys in m bits with k hash functions (Broder, Mitzenmacher:
// "Network applications of Bloom filters: a survey", 2004). Numbers are real, not rounded.
double bloom_bits(double keys, double rate);                 // m = -n ln p / (ln 2)^2
double bloom_hashes(double bits_per_key);                    // k = (m / n) ln 2
double bloom_rate(double keys, double bits, double hashes);  // p = (1 - e^(-kn/m))^k
// The last formula solved for m and for n, where k is given.
double bloom_bits_with_hashes(double keys, double rate, double hashes);  // -kn / ln(1 - p^(1/k))
double bloom_keys(double bits, double rate, double hashes);              // -(m/k) ln(1 - p^(1/k))
// The whole number of hashes that gives the lowest rate, at least 1.
unsigned best_bloom_hashes(double keys, double bits);

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
// The other way round: the keys that a flat filter of `bits` bits has when its rate is `rate`, a
// number in (0, 1), with `hashes` hashes or, if that is 0, with the best number; at least 1.
std::uint64_t classic_bloom_capacity(std::uint64_t bits, unsigned hashes, double rate);
// The same as classic_bloom_size() with a whole number of bits a key, rounded up.
Result<BloomSize> classic_bloom_size_in_whole_bits(std::uint64_t keys, double rate);

// The blocked filter: a block of 512 bits holds Poisson(n / blocks) keys, and the rate is the sum
// over all loads of their probability times the rate of a block with that load (Putze, Sanders,
// Singler: "Cache-, hash- and space-efficient Bloom filters", 2007, section 3).
double blocked_bloom_rate(double keys_per_block, unsigned hashes);
// The size and k of BlockedBloomFilter: of all k whose size is within 1 % of the smallest, the
// lowest, since each of a key's bits costs a locked operation.
Result<BloomSize> blocked_bloom_size(std::uint64_t keys, double rate);

// A filter of any kind before it is made: create() with the same options makes this one.
struct FilterSize {
  FilterKind kind = FilterKind::kBlocked;
  std::uint64_t capacity = 0;    // keys
  double target_rate = 0;        // the rate asked for
  std::uint64_t bits = 0;        // all of them, a filter's memory in bits
  unsigned hashes = 0;           // FilterStats::hashes: k; a cuckoo filter's 2 buckets
  double bits_per_key = 0;       // bits / capacity
  double rate = 0;               // the rate of false positives when `capacity` keys are in
  std::uint64_t file_bytes = 0;  // of its file, when no 64 KiB of the bits are all zero
  std::uint64_t memory_bytes() const noexcept { return bits / 8; }
};
// A blocked filter is as blocked_bloom_size() says; a classic one as classic_bloom_size(), rounded
// up to cache lines; a counting one has 4 bits for each bit of a classic one. Of a growing filter
// it is the first layer, whose share of the rate is 6 / pi^2 of it (growing_bloom_filter.h); as
// long as no more than `capacity` keys come there is no other. A cuckoo filter has capacity / 0.95
// slots and a few, and the shortest tags, of f bits from 8 to 32, with a rate of 8 x / (2^f - 1) or
// less, x being the share of the slots taken (after Fan et al. 2014, section 4). Errors: those of
// the kind's create(), but for kNoSpace; kInvalidArgument also where `bits`, `bits_per_key` or
// `hashes` is given for another kind than the classic one.
Result<FilterSize> filter_size(FilterKind kind, const ClassicBloomFilter::Options& options);

// The other way round: the most keys at this rate for which a filter has no more than `bits` bits,
// found by bisection of filter_size(). Errors: kInvalidArgument for a rate that the kind cannot
// have, and if there is no room for one key, with the size that takes.
Result<std::uint64_t> filter_capacity(FilterKind kind, double rate, std::uint64_t bits);
// The lowest rate, rounded up to three significant digits and not below kMinBloomRate, with which a
// filter for `keys` keys has no more than `bits` bits. Errors: kInvalidArgument, with the least
// size, if there is none.
Result<double> filter_rate(FilterKind kind, std::uint64_t keys, std::uint64_t bits);

// The capacity with which a growing filter with these keys, its inserted ones rounded up to two
// digits, would cost half at most, if its own was that much too small or too large: it has begun
// further layers, each of which a lookup of a new key reads, or it is larger than twice what it
// needs, and by at least 64 MiB. Nothing if its capacity was not far off.
std::optional<std::uint64_t> better_capacity(const FilterStats& stats);

}  // namespace trawl
