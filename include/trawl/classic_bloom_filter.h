// ClassicBloomFilter: the textbook Bloom filter, for any number of threads.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// A flat array of m bits; each key has k of them, at independent positions (Bloom: "Space/time
// trade-offs in hash coding with allowable errors", 1970), found by double hashing (Kirsch,
// Mitzenmacher: "Less hashing, same performance", 2006). It has the sizes of the literature: 9.59
// bits a key for a rate of 1e-2, 19.17 for 1e-4, 28.76 for 1e-6; 10 to 25 % less than a blocked
// filter, and k cache misses a key instead of one.
//
// More keys than `capacity` may be inserted; the rate then rises, and stats() reports it.
//
// All operations except create, load, moves and the destructor may run concurrently. insert() is
// linearizable, as in BlockedBloomFilter, with the same exception for contains(). Lookups, and
// inserts of keys whose bits are all set, are lock-free, take a bounded number of steps and write
// nothing. Any other insert holds the locks of the bits that it has to set for some 10 instructions
// a bit; at least 64 bits share a lock. It waits for locks as BlockedBloomFilter does.
class ClassicBloomFilter {
 public:
  // The size: by the keys and their rate, or by its bits.
  struct Options {
    // Keys the filter is sized for, at least 1.
    std::uint64_t capacity = 1'000'000;
    // The false-positive rate with `capacity` keys inserted; above 0 and below 1. Ignored if `bits`
    // or `bits_per_key` gives the size.
    double false_positive_rate = 1e-6;
    // See FilterOptions::hash.
    std::optional<KeyedHash> hash = {};
    // The size, by at most one of these two; 0: the rate decides the size. Rounded up to whole
    // cache lines of 512 bits. If one is given, stats().target_rate is the rate for n = capacity
    // keys in m bits with k hashes, p = (1 - e^(-kn/m))^k (bloom_rate() in sizing.h).
    std::uint64_t bits = 0;   // m
    double bits_per_key = 0;  // m / n
    // k, the bits of a key, up to 64; 0: the integer with the lowest rate, next to (m/n) ln 2. If
    // no size is given, m is chosen so that this k gives the rate, m = -kn / ln(1 - p^(1/k))
    // (bloom_bits_with_hashes() in sizing.h).
    unsigned hashes = 0;
  };
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kClassic;

  // Errors, here and below: as in BlockedBloomFilter; kInvalidArgument also if both `bits` and
  // `bits_per_key` are given, for more than 64 hashes, and for a size in which `capacity` keys
  // would set every bit.
  static Result<ClassicBloomFilter> create(const Options& options);
  // With the size that the rate needs: the options that all kinds of filters share.
  template <std::same_as<FilterOptions> Common>
  static Result<ClassicBloomFilter> create(const Common& options) {
    return create(Options{.capacity = options.capacity,
                          .false_positive_rate = options.false_positive_rate,
                          .hash = options.hash});
  }
  static Result<ClassicBloomFilter> load(const std::string& path);
  Result<std::uint64_t> save(const std::string& path) const;

  // See BlockedBloomFilter::insert().
  bool insert(Fingerprint key) noexcept;
  bool contains(Fingerprint key) const noexcept;
  // The same for each key in order, with overlapping cache misses.
  std::size_t insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted) noexcept;
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;
  // See BlockedBloomFilter::merge(); here the bits of one key are also added one after the other.
  Result<void> merge(const ClassicBloomFilter& other);

  Stats stats() const;
  const KeyedHash& hash() const noexcept;

  ClassicBloomFilter(ClassicBloomFilter&&) noexcept;
  ClassicBloomFilter& operator=(ClassicBloomFilter&&) noexcept;
  ~ClassicBloomFilter();

 private:
  struct State;
  explicit ClassicBloomFilter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
