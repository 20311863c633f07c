// BlockLayout: the size of a blocked Bloom filter and its false-positive rate.
#pragma once

#include <cstdint>
#include <vector>

#include "trawl/result.h"

namespace trawl {

inline constexpr unsigned kWordsPerBlock = 8;
inline constexpr unsigned kBitsPerWord = 64;
inline constexpr unsigned kBitsPerBlock = kWordsPerBlock * kBitsPerWord;
inline constexpr unsigned kMaxHashes = 40;  // bits a key may have (k)

// The false-positive rate of the layout in which bit i of a key is in word (r + i) mod 8 of its
// block.
//
// Keys are distributed over blocks at random, so with n keys in b blocks a block holds Poisson(n /
// b) keys (Putze, Sanders, Singler 2007, section 3), and the rate is the sum of P(j keys) * fp(j)
// over all loads j. fp(j) is the probability that a block with j keys has all bits of one more key:
// the product over its eight words of the probability that c random places of a word are all set,
// with c the number of the new key's bits in that word.
class BlockRate {
 public:
  static constexpr std::size_t kMaxLoad = 1 << 13;  // with more keys a block is full for any k

  // A smaller `max_load` must be above all loads that matter for the means in use.
  explicit BlockRate(unsigned hashes, std::size_t max_load = kMaxLoad);
  // The same, computed once per process for each `hashes`, at most kMaxHashes. Thread-safe.
  static const BlockRate& of(unsigned hashes);

  // The rate after inserting `keys_per_block` distinct keys a block, whether they were called new
  // or seen: a key called seen has its bits set already.
  double at(double keys_per_block) const;

  struct Admission {
    double rate;  // the rate then
    double lost;  // distinct keys a block that were called seen until then
  };
  // The state after so many distinct keys were inserted that `keys_per_block` of them were called
  // new.
  Admission after_admitting(double keys_per_block) const;

 private:
  std::vector<double> rate_of_load_;  // fp(j); 1 beyond its end
};

struct BlockLayout {
  std::uint64_t blocks;
  unsigned hashes;        // bits a key has (k)
  double keys_per_block;  // the most that keep the rate
};

// A layout whose rate at `capacity` keys is at most `rate`. k is the lowest of those whose size is
// within 1 % of the smallest, since each bit costs a locked operation. Errors: kInvalidArgument for
// a capacity of 0, a rate outside [1e-15, 1), or a size beyond 2^63 bits.
Result<BlockLayout> choose_layout(std::uint64_t capacity, double rate);

}  // namespace trawl
