// Sizes of filters and their false-positive rates.
#pragma once

#include <cstdint>
#include <optional>

#include "trawl/classic_bloom_filter.h"
#include "trawl/filter.h"
#include "trawl/result.h"

namespace trawl {

inline constexpr double kMinBloomRate = 1e-15;

// The textbook's formulas, for n keys in m bits with k hash functions (Broder, Mitzenmacher:
// "Network applications of Bloom filters: a survey", 2004). Results are not rounded.
double bloom_bits(double keys, double rate);                 // m = -n ln p / (ln 2)^2
double bloom_hashes(double bits_per_key);                    // k = (m / n) ln 2
double bloom_rate(double keys, double bits, double hashes);  // p = (1 - e^(-kn/m))^k
// The last formula solved for m and for n, for a given k.
double bloom_bits_with_hashes(double keys, double rate, double hashes);  // -kn / ln(1 - p^(1/k))
double bloom_keys(double bits, double rate, double hashes);              // -(m/k) ln(1 - p^(1/k))
// The integer number of hashes with the lowest rate, at least 1.
unsigned best_bloom_hashes(double keys, double bits);

// The size of a textbook's Bloom filter.
struct BloomSize {
  std::uint64_t bits = 0;
  unsigned hashes = 0;      // k, the integer with the lowest rate
  double bits_per_key = 0;  // m / n
  double rate = 0;          // of these bits and hashes
};
// The size of the textbook filter for `keys` keys at `rate`. Since k is an integer, the resulting
// rate differs from `rate`: by up to 4 %, for the usual rates by less than 1 %. For rates above
// 0.5, where k would be below 1, k is 1. Errors, here and below: kInvalidArgument for 0 keys, a
// rate outside (0, 1), one below kMinBloomRate, or a filter beyond 2^63 bits.
Result<BloomSize> classic_bloom_size(std::uint64_t keys, double rate);
// The inverse: the number of keys, at least 1, with which a flat filter of `bits` bits reaches
// `rate`, in (0, 1). `hashes` 0 means the best number of hashes.
std::uint64_t classic_bloom_capacity(std::uint64_t bits, unsigned hashes, double rate);
// The same as classic_bloom_size() with a whole number of bits a key, rounded up.
Result<BloomSize> classic_bloom_size_in_whole_bits(std::uint64_t keys, double rate);

// The blocked filter: a block of 512 bits holds Poisson(n / blocks) keys, and the rate is the sum
// over all loads of their probability times the rate of a block with that load (Putze, Sanders,
// Singler: "Cache-, hash- and space-efficient Bloom filters", 2007, section 3).
double blocked_bloom_rate(double keys_per_block, unsigned hashes);
// The size and k of BlockedBloomFilter: the lowest k whose size is within 1 % of the smallest,
// since each bit of a key costs a locked operation.
Result<BloomSize> blocked_bloom_size(std::uint64_t keys, double rate);

// The size of a filter of any kind: that of create() with the same options.
struct FilterSize {
  FilterKind kind = FilterKind::kBlocked;
  std::uint64_t capacity = 0;    // keys
  double target_rate = 0;        // as requested
  std::uint64_t bits = 0;        // the filter's memory in bits
  unsigned hashes = 0;           // FilterStats::hashes: k; a cuckoo filter's 2 buckets
  double bits_per_key = 0;       // bits / capacity
  double rate = 0;               // the false-positive rate with `capacity` keys inserted
  std::uint64_t file_bytes = 0;  // size of its file, if no chunk of 64 KiB is all zero
  std::uint64_t memory_bytes() const noexcept { return bits / 8; }
};
// A blocked filter has the size of blocked_bloom_size(); a classic one that of
// classic_bloom_size(), rounded up to cache lines; a counting one has 4 bits for each bit of a
// classic one. For a growing filter the result is the first layer, with 6 / pi^2 of the rate
// (growing_bloom_filter.h); it is the only layer up to `capacity` keys. A cuckoo filter has a few
// more than capacity / 0.95 slots, and the shortest tags, of f bits from 8 to 32, whose rate 8 x /
// (2^f - 1) is low enough, with x the share of the slots taken (Fan et al. 2014, section 4).
// Errors: those of the kind's create() except kNoSpace; kInvalidArgument also if `bits`,
// `bits_per_key` or `hashes` is given for a kind other than the classic one.
Result<FilterSize> filter_size(FilterKind kind, const ClassicBloomFilter::Options& options);

// The inverse: the most keys at this rate that fit into a filter of at most `bits` bits, found by
// bisection of filter_size(). Errors: kInvalidArgument for a rate that the kind cannot have, and if
// not even one key fits; the message says the size needed.
Result<std::uint64_t> filter_capacity(FilterKind kind, double rate, std::uint64_t bits);
// The lowest rate of a filter for `keys` keys of at most `bits` bits, rounded up to three
// significant digits and at least kMinBloomRate. Errors: kInvalidArgument if there is none; the
// message says the least size.
Result<double> filter_rate(FilterKind kind, std::uint64_t keys, std::uint64_t bits);

// A better capacity for a growing filter with these statistics: its inserted keys, rounded up to
// two digits. Returned only if the filter's own capacity was far too small (it has several layers,
// each of which a lookup of a new key reads) or far too large (it takes more than twice the memory
// needed, and at least 64 MiB more), so that the better one would at most halve the cost.
std::optional<std::uint64_t> better_capacity(const FilterStats& stats);

}  // namespace trawl
