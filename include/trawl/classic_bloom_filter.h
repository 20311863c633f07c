// ClassicBloomFilter: the textbook's Bloom filter, for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
// All operations but create, load, moves and the destructor may run at the same time, are
// lock-free and take a bounded number of steps.
class ClassicBloomFilter {
 public:
  using Options = FilterOptions;
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kClassic;

  // Errors, here and below: as in BlockedBloomFilter.
  static Result<ClassicBloomFilter> create(const Options& options);
  static Result<ClassicBloomFilter> load(const std::string& path);
  Result<std::uint64_t> save(const std::string& path) const;

  // Inserts `key`. Returns true iff this call is the one that added it: of all threads inserting
  // the same key, at most one is told true.
  bool insert(Fingerprint key) noexcept;
  bool contains(Fingerprint key) const noexcept;
  // The same for each key in order, with the cache misses overlapped.
  std::size_t insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted) noexcept;
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;
  // See BlockedBloomFilter::merge().
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
