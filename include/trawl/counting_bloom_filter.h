// CountingBloomFilter: a Bloom filter from which keys can be erased.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// A Bloom filter with a 4-bit counter in place of each bit (Fan, Cao, Almeida, Broder: "Summary
// cache", 2000). It takes four times the memory of ClassicBloomFilter at the same rate. Every
// insert counts, including that of a key already present: a key inserted twice must be erased
// twice. A counter that has reached 15 stays there, so that no erase can remove another key;
// therefore a key inserted 15 times or more cannot be erased.
//
// All operations except create, load, moves and the destructor may run concurrently. insert() and
// erase() are linearizable: the answers of all calls, for the same or for different keys, are those
// of some sequential order of the calls. Both hold the locks of the key's counters for some 10
// instructions a counter; lookups take none.
class CountingBloomFilter {
 public:
  using Options = FilterOptions;
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kCounting;

  // Errors, here and below: as in BlockedBloomFilter.
  static Result<CountingBloomFilter> create(const Options& options);
  static Result<CountingBloomFilter> load(const std::string& path);
  // The file holds the filter as it was at one moment: a concurrent insert or erase is in it
  // completely or not at all. save() copies the counters while inserts and erases wait (lookups do
  // not), then writes the copy; until the file is complete the filter takes twice its memory.
  // Errors: also kNoSpace if that memory is not available.
  Result<std::uint64_t> save(const std::string& path) const;

  // Counts `key`. Returns true iff it was not present before: of all threads inserting one key, one
  // gets true (until the key is erased).
  bool insert(Fingerprint key) noexcept;
  // Undoes one insert of `key`. Returns false, and changes nothing, if the key is not present.
  // Erase only keys that were inserted: erasing a false positive decrements the counters of other
  // keys, and no counting filter can detect that.
  bool erase(Fingerprint key) noexcept;
  bool contains(Fingerprint key) const noexcept;
  // The same for each key in order, with overlapping cache misses.
  std::size_t insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted) noexcept;
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;

  // `inserted` is the number of distinct keys present.
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
