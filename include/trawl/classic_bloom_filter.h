// ClassicBloomFilter: the textbook's Bloom filter, for any number of threads.
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

// A flat array of m bits of which each key has k, at independent places (Bloom: "Space/time
// trade-offs in hash coding with allowable errors", 1970), found by double hashing (Kirsch,
// Mitzenmacher: "Less hashing, same performance", 2006). It has the sizes of the literature: 9.59
// bits a key for a rate of 1e-2, 19.17 for 1e-4, 28.76 for 1e-6; 10 to 25 % less than a blocked
// filter, and k cache misses a key instead of one.
//
// More keys than its capacity may be inserted: the rate then rises, as stats() tells.
//
// All operations but create, load, moves and the destructor may run at the same time. insert() is
// linearizable, as in BlockedBloomFilter, and what is said there of contains() holds here. Lookups,
// and inserts of keys whose bits are all set, are lock-free, take a bounded number of steps and
// write nothing. An insert of another key holds the locks of the bits that it has to set, which 64
// bits or more share, for some 10 instructions a bit, and waits for those held by others as there.
class ClassicBloomFilter {
 public:
  struct Options {
    // Keys the filter is planned for, at least 1.
    std::uint64_t capacity = 1'000'000;
    // The rate of false positives when `capacity` keys are in; above 0 and below 1. Not used if the
    // size is given by `bits` or `bits_per_key`.
    double false_positive_rate = 1e-6;
    // See FilterOptions::hash.
    std::optional<KeyedHash> hash = {};
    // The size itself, by one of these two; 0: not given. It is rounded up to whole cache lines of
    // 512 bits. Then stats().target_rate is the rate that n = capacity keys have in m bits with k
    // hashes, p = (1 - e^(-kn/m))^k (bloom_rate() in sizing.h).
    std::uint64_t bits = 0;   // m
    double bits_per_key = 0;  // m / n
    // k, the bits of a key, up to 64; 0: the number with the lowest rate, (m/n) ln 2 or next to it.
    // Without a size, the filter has the bits for which this k gives the rate,
    // m = -kn / ln(1 - p^(1/k)) (bloom_bits_with_hashes() in sizing.h).
    unsigned hashes = 0;
  };
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kClassic;

  // Errors, here and below: as in BlockedBloomFilter; kInvalidArgument also for both `bits` and
  // `bits_per_key`, for more than 64 hashes, and for a size in which `capacity` keys leave no bit
  // unset, so that every key would be found.
  static Result<ClassicBloomFilter> create(const Options& options);
  // With the size that the rate needs, as other kinds of filters are made.
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
  // The same for each key in order, with the cache misses overlapped.
  std::size_t insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted) noexcept;
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;
  // See BlockedBloomFilter::merge(); but the bits of a key come in one after the other.
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
