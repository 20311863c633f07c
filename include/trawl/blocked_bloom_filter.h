// BlockedBloomFilter: a concurrent Bloom filter whose insert() reports which caller was first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// A Bloom filter in blocks of 512 bits, one cache line each (Putze, Sanders, Singler: "Cache-,
// hash- and space-efficient Bloom filters", 2007), for any number of threads. contains() is true
// for every inserted key, and with the false-positive rate for any other. The filter takes 10.0
// bits a key for a rate of 1e-2, 15.7 for 1e-3, 22.2 for 1e-4, 39.1 for 1e-6 (sizing.h).
//
// More keys than `capacity` may be inserted; the rate then rises, and stats() reports it.
//
// All operations except create, load, moves and the destructor may run concurrently. insert() is
// linearizable: the answers of all calls, for the same or for different keys, are those of some
// sequential order of the calls that respects their real-time order. So of all threads inserting
// one key exactly one gets true, unless the key was a false positive; and concurrent inserts report
// no more new keys than a single thread would.
//
// Lookups, and inserts of keys whose bits are all set, are lock-free, take a bounded number of
// steps and write nothing. Any other insert holds, for some 20 instructions, a lock that its block
// shares with a few others (up to 65,536 blocks: with none). An insert that finds the lock held
// spins, then yields, then sleeps 50 microseconds at a time.
//
// contains() finds a key from one moment within its first insert() onwards. There is one exception
// to linearizability: while a key is being inserted, two other keys that become false positives
// through its bits may become so one before the other.
class BlockedBloomFilter {
 public:
  using Options = FilterOptions;
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kBlocked;

  // Errors: kInvalidArgument for a capacity of 0 or a rate outside (0, 1) or below 1e-15; kNoSpace,
  // with the size needed, if the machine has too little memory.
  static Result<BlockedBloomFilter> create(const Options& options);

  // Reads a filter that save() wrote; every chunk is verified. Errors: kNotFound, kCorrupt with
  // the damaged chunk's number, kInvalidArgument for a file of another kind, kUnsupportedVersion,
  // kNoSpace, kIo.
  static Result<BlockedBloomFilter> load(const std::string& path);

  // Writes the filter to `path`, atomically: a crash leaves the old file or the new one, and once
  // it returns the new one survives a power loss. Other threads may go on inserting: the file has
  // every key inserted before the call, and may have those inserted during it. The format is
  // specified in docs/formats.md. Returns the bytes written. Errors: kNoSpace, kPermission, kIo.
  Result<std::uint64_t> save(const std::string& path) const;

  // Inserts `key`. Returns true iff this call added it; false if it was inserted before or is a
  // false positive.
  bool insert(Fingerprint key) noexcept;

  // True if `key` was inserted or is a false positive.
  bool contains(Fingerprint key) const noexcept;

  // Calls insert() for each key in order, with overlapping cache misses: several times as fast if
  // the filter is larger than the caches. Sets `admitted[i]` to the result of insert(keys[i]); the
  // spans must have the same length. Returns the number of new keys. Each insert is atomic; the
  // batch is not.
  std::size_t insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted) noexcept;
  // The same for contains(). Returns the number of keys found.
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;

  // Adds all keys of `other`, whose capacity, rate and hash key must be the same (kInvalidArgument
  // otherwise; the message says what differs). Other threads may insert into this filter at the
  // same time: the merge adds key after key, not all at one moment. The number of keys that both
  // filters had is unknown, so `inserted` becomes an estimate from the bits set.
  Result<void> merge(const BlockedBloomFilter& other);

  // While other threads insert, the figures may differ slightly in the moment they describe.
  Stats stats() const;
  const KeyedHash& hash() const noexcept;

  // The false-positive rate after inserting `keys` distinct keys.
  double false_positive_rate(double keys) const;
  // The expected number of new keys wrongly reported as seen by the time `keys` keys are admitted.
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
