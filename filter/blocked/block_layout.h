// BlockLayout: how large a blocked Bloom filter must be, and what rate it then has.
#pragma once

#include <cstdint>
#include <vector>

#include "trawl/result.h"

namespace trawl {

inline constexpr unsigned kWordsPerBlock = 8;
inline constexpr unsigned kBitsPerWord = 64;
inline constexpr unsigned kBitsPerBlock = kWordsPerBlock * kBitsPerWord;
inline constexpr unsigned kMaxHashes = 40;  // bits a key may have (k)

// The false-positive rate of the layout "bit i of a key lies in word (r + i) mod 8 of its block".
//
// Keys fall on blocks at random, so with n keys in b blocks a block holds Poisson(n / b) of them
// (Putze, Sanders, Singler 2007, section 3), and the rate is the sum of P(j keys) * fp(j) over
// all loads j. fp(j), the chance that a block with j keys holds all bits of one more, is the
// product over its eight words of the expected value of (occupied / 64)^c, c being how many of
// the new key's bits go to that word; the distribution of the occupied bits follows from throwing
// the j keys' bits into the word one by one.
class BlockRate {
 public:
  static constexpr std::size_t kMaxLoad = 1 << 13;  // a block with more keys is full, whatever k is

  // With a smaller `max_load`, the loads that count at a mean must be below it.
  explicit BlockRate(unsigned hashes, std::size_t max_load = kMaxLoad);
  // The same, worked out once per process for each number of `hashes`, at most kMaxHashes.
  // Thread-safe.
  static const BlockRate& of(unsigned hashes);

  // The rate after `keys_per_block` different keys a block were inserted, whether they were called
  // new or not: one that is called seen has its bits set already.
  double at(double keys_per_block) const;

  struct Admission {
    double rate;  // then
    double lost;  // different keys a block that were called seen until then
  };
  // After so many different keys were inserted that `keys_per_block` of them were called new.
  Admission after_admitting(double keys_per_block) const;

 private:
  std::vector<double> rate_of_load_;  // fp(j); from its end on 1
};

struct BlockLayout {
  std::uint64_t blocks;
  unsigned hashes;        // bits a key has (k)
  double keys_per_block;  // at most, if the rate is to hold
};

// A layout whose rate at `capacity` keys is at most `rate`: of all k whose size is within 1 % of
// the smallest, the lowest, since each bit costs a locked operation. Errors: kInvalidArgument
// for a capacity of 0, a rate outside [1e-15, 1), or a size beyond 2^63 bits.
Result<BlockLayout> choose_layout(std::uint64_t capacity, double rate);

}  // namespace trawl
