// CountingBloomFilter: a Bloom filter from which keys can be erased.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// A Bloom filter with a counter of 4 bits instead of each bit (Fan, Cao, Almeida, Broder: "Summary
// cache", 2000): four times the memory of ClassicBloomFilter, at the same rate. Every insert
// counts, that of a key already there too: a key inserted twice is gone after it was erased twice.
// A counter that has reached 15 stays there, so that no erase can ever lose another key; keys
// inserted 15 times or more can therefore not be erased.
//
// All operations but create, load, moves and the destructor may run at the same time. insert() and
// erase() are linearizable: the answers of all calls, with the same keys or different ones, are
// those of the same calls one after the other. Both hold the locks of the key's counters for some
// 10 instructions a counter; lookups take none.
class CountingBloomFilter {
 public:
  using Options = FilterOptions;
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kCounting;

  // Errors, here and below: as in BlockedBloomFilter.
  static Result<CountingBloomFilter> create(const Options& options);
  static Result<CountingBloomFilter> load(const std::string& path);
  // The file holds the filter as it was at one moment: an insert or erase that runs meanwhile is in
  // it whole or not at all. For this the counters are copied first, while inserts and erases wait
  // (lookups do not), and the copy is written: until the file is complete the filter takes twice
  // its memory. Errors: also kNoSpace, if there is not so much.
  Result<std::uint64_t> save(const std::string& path) const;

  // Counts `key`. Returns true iff it was not in before: of all threads inserting a key one is told
  // true (until it is erased).
  bool insert(Fingerprint key) noexcept;
  // Takes back one insert of `key`. Refused, returning false, if the key is not there. Erase only
  // what was inserted: a key that is merely taken for one (a false positive) would take other
  // keys' counts with it, which no counting filter can tell.
  bool erase(Fingerprint key) noexcept;
  bool contains(Fingerprint key) const noexcept;
  // The same for each key in order, with the cache misses overlapped.
  std::size_t insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted) noexcept;
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;

  // `inserted` counts keys, however often each was inserted.
  Stats stats() const;
  const KeyedHash& hash() const noexcept;

  CountingBloomFilter(CountingBloomFilter&&) noexcept;
  CountingBloomFilter& operator=(CountingBloomFilter&&) noexcept;
  ~CountingBloomFilter();

 private:
  struct State;
  explicit CountingBloomFilter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
