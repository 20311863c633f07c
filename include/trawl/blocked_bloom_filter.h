// BlockedBloomFilter: a concurrent Bloom filter that says who was first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

namespace trawl {

// A Bloom filter in blocks of 512 bits, one cache line each (Putze, Sanders, Singler: "Cache-,
// hash- and space-efficient Bloom filters", 2007), for any number of threads. A key that was
// inserted is always found; one that was not is found with the false-positive rate.
//
// All operations but create, load and the destructor may run at the same time, are lock-free and
// take a bounded number of steps.
class BlockedBloomFilter {
 public:
  struct Options {
    // Keys the filter is sized for, at least 1. More may be inserted: the rate then rises.
    std::uint64_t capacity = 1'000'000;
    // The rate of false positives when `capacity` keys are in; above 0 and below 1. The blocked
    // layout takes 10.0 bits a key for 1e-2, 22 for 1e-4, 38.6 for 1e-6.
    double false_positive_rate = 1e-6;
  };

  struct Stats {
    std::uint64_t capacity = 0;
    double target_rate = 0;      // the rate asked for at `capacity` keys
    std::uint64_t inserted = 0;  // keys that insert called new
    std::uint64_t memory_bytes = 0;
    unsigned bits_per_key = 0;            // bits each key sets (k)
    double fill = 0;                      // share of the bits set; estimated from up to 2^15 blocks
    double current_rate = 0;              // the rate of false positives with `inserted` keys in
    double expected_false_positives = 0;  // expected number of new keys that were called seen
  };

  // Errors: kInvalidArgument for a capacity of 0 or a rate outside (0, 1) or below what one
  // 512-bit block can give; kNoSpace, with the size needed, if memory does not suffice.
  static Result<BlockedBloomFilter> create(const Options& options);

  // Reads a filter that save() wrote. Errors: kNotFound, kCorrupt with the damaged chunk's
  // number, kUnsupportedVersion, kNoSpace, kIo.
  static Result<BlockedBloomFilter> load(const std::string& path);

  // Writes the bits to `path` and syncs the file, while other threads may go on inserting: what
  // was inserted before the call is in the file, what is inserted meanwhile may be. The caller
  // publishes it (rename, sync the directory). The format is specified in docs/formats.md.
  // Returns the bytes written. Errors: kNoSpace, kPermission, kIo.
  Result<std::uint64_t> save(const std::string& path) const;

  // Inserts `key`. Returns true iff this call is the one that added it: of all threads inserting
  // the same key, at most one is told true. At most 16 word operations.
  bool insert(Fingerprint key) noexcept;

  // True if `key` was inserted, or, with the false-positive rate, if it was not.
  bool contains(Fingerprint key) const noexcept;

  // insert() for each key in order, with the cache misses overlapped. `admitted[i]` tells what
  // insert(keys[i]) returned; the two spans have the same length. Returns how many were new.
  std::size_t insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted) noexcept;
  // contains() likewise. Returns how many were found.
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;

  // A snapshot; while other threads insert, its figures may be a little apart from each other.
  Stats stats() const;

  // The rate of false positives with `keys` keys in.
  double false_positive_rate(double keys) const;
  // The expected number of new keys wrongly called seen until `keys` were admitted.
  double expected_false_positives(double keys) const;

  BlockedBloomFilter(BlockedBloomFilter&&) noexcept;
  BlockedBloomFilter& operator=(BlockedBloomFilter&&) noexcept;
  ~BlockedBloomFilter();

 private:
  struct State;
  explicit BlockedBloomFilter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
