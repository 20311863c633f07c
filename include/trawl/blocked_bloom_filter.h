// BlockedBloomFilter: a concurrent Bloom filter that says who was first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// A Bloom filter in blocks of 512 bits, one cache line each (Putze, Sanders, Singler: "Cache-,
// hash- and space-efficient Bloom filters", 2007), for any number of threads. A key that was
// inserted is always found; one that was not is found with the false-positive rate. It takes 10.0
// bits a key for a rate of 1e-2, 15.7 for 1e-3, 22.2 for 1e-4, 39.1 for 1e-6 (sizing.h).
//
// More keys than its capacity may be inserted: the rate then rises, as stats() tells.
//
// All operations but create, load, moves and the destructor may run at the same time. insert() is
// linearizable: the answers of all calls, with the same keys or different ones, are those of the
// same calls one after the other, in an order that keeps each before those that begin after it has
// ended. So of all threads inserting a key exactly one is told that it is new, unless it was seen
// by error; and no more keys are than if one thread inserted them.
//
// Lookups, and inserts of keys whose bits are all set, are lock-free, take a bounded number of
// steps and write nothing. An insert of another key holds a lock that its block shares with few
// others (or none, up to 65,536 blocks), for some 20 instructions; one that finds it held spins,
// yields, and then sleeps 50 microseconds at a time.
//
// contains() of a key finds it from a moment on that lies within its first insert(), and ever
// after. Only when other keys begin to be found by error is not one moment: while a key is being
// inserted, two of them that need its bits may begin to be found one before the other.
class BlockedBloomFilter {
 public:
  using Options = FilterOptions;
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kBlocked;

  // Errors: kInvalidArgument for a capacity of 0 or a rate outside (0, 1) or below 1e-15;
  // kNoSpace, with the size needed, if the machine's memory does not suffice.
  static Result<BlockedBloomFilter> create(const Options& options);

  // Reads a filter that save() wrote; every chunk is verified. Errors: kNotFound, kCorrupt with
  // the damaged chunk's number, kInvalidArgument for a file of another kind, kUnsupportedVersion,
  // kNoSpace, kIo.
  static Result<BlockedBloomFilter> load(const std::string& path);

  // Writes the filter to `path`, atomically: a crash leaves the old file or the new one, and once
  // it returns the new one survives a power loss. Other threads may go on inserting: what was
  // inserted before the call is in the file, what is inserted meanwhile may be. The format is
  // specified in docs/formats.md. Returns the bytes written. Errors: kNoSpace, kPermission, kIo.
  Result<std::uint64_t> save(const std::string& path) const;

  // Inserts `key`. Returns true iff this call is the one that added it; false if it was inserted
  // before, or, with the false-positive rate, if it was not.
  bool insert(Fingerprint key) noexcept;

  // True if `key` was inserted, or, with the false-positive rate, if it was not.
  bool contains(Fingerprint key) const noexcept;

  // insert() for each key in order, each a call of its own, with the cache misses overlapped:
  // several times as fast where the filter is larger than the caches. `admitted[i]` tells what
  // insert(keys[i]) returned; the two spans have the same length. Returns how many were new.
  std::size_t insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted) noexcept;
  // contains() likewise. Returns how many were found.
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;

  // Adds all keys of `other`, whose capacity, rate and hash key must be the same
  // (kInvalidArgument otherwise, with what differs). Other threads may go on inserting into this
  // one: the keys come in one after the other, not all at one moment. How many keys two filters
  // share is not known: `inserted` becomes an estimate from the bits set.
  Result<void> merge(const BlockedBloomFilter& other);

  // A snapshot; while other threads insert, its figures may be a little apart from each other.
  Stats stats() const;
  const KeyedHash& hash() const noexcept;

  // The rate of false positives after `keys` different keys were inserted.
  double false_positive_rate(double keys) const;
  // The expected number of new keys wrongly called seen until `keys` were admitted.
  double expected_false_positives(double keys) const;

  BlockedBloomFilter(BlockedBloomFilter&&) noexcept;
  BlockedBloomFilter& operator=(BlockedBloomFilter&&) noexcept;
  ~BlockedBloomFilter();

 private:
  friend class GrowingBloomFilter;  // its layers are blocked filters
  struct State;
  explicit BlockedBloomFilter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
