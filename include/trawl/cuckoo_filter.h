// CuckooFilter: a compact filter from which keys can be erased, and which can become full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// Buckets of four slots, each for a tag of a few bits. A key's tag is in one of two buckets (Fan,
// Andersen, Kaminsky, Mitzenmacher: "Cuckoo filter: practically better than Bloom", 2014). The
// filter is sized to be 95 % full at capacity.
//
// With tags of f bits the filter takes f / 0.95 bits a key and has a rate of at most 7.6 / (2^f -
// 1): 10.5 bits for 0.74 %, 11.6 for 0.37 %, 17.9 for 5.8e-5. A classic filter takes 1.44 log2(1 /
// p) bits. The cuckoo filter is the smaller one at rates around 0.38 %, from 0.23 to 0.19 %, from
// 0.14 to 0.093 %, and at every rate below 0.084 % (filter_size() in sizing.h).
//
// Erase only keys whose insert() returned true: erasing such keys, in any order, never removes
// another such key. The filter is a set of tags. Of two keys with the same tag and buckets the
// second insert() returns false and stores nothing, and erasing the first key also removes the
// second. Of 10^6 keys at 1e-3, 490 shared a tag in this way, and erasing half of the keys removed
// 242 of the others. If that is too many, use a lower rate or CountingBloomFilter.
//
// insert_copy() makes it a multiset: it stores another copy of a tag that is present, up to eight,
// which is as many slots as a key has. Each erase() then removes one copy. Copies take room, and
// count as keys in stats().
//
// All operations except create, load, moves and the destructor may run concurrently. insert() and
// erase() are linearizable while the filter is not full: the answers of all calls, for the same or
// for different keys, are those of some sequential order of the calls. Both hold the locks of the
// key's two buckets. Lookups take no lock, unless other threads keep changing these buckets.
class CuckooFilter {
 public:
  using Options = FilterOptions;
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kCuckoo;

  // Errors, here and below: as in BlockedBloomFilter; kInvalidArgument also for a rate that needs
  // tags of more than 32 bits.
  static Result<CuckooFilter> create(const Options& options);
  static Result<CuckooFilter> load(const std::string& path);
  // Each concurrent insert or erase may or may not be in the file. save() copies the tags, then
  // writes the copy; until the file is complete the filter takes twice its memory. Only inserts
  // that find no free slot in their two buckets wait (rare while under 80 % of the slots are
  // taken), and only while the tags are copied. Errors: also kNoSpace if that memory is not
  // available.
  Result<std::uint64_t> save(const std::string& path) const;

  // Inserts `key`. Returns true iff this call added it: of all threads inserting the same key, at
  // most one gets true (until the key is erased). Errors: kNoSpace if no slot could be made free;
  // then the key is not inserted, and all others stay.
  Result<bool> insert(Fingerprint key);
  // Stores a copy of `key`, whether or not it is present. Errors: kNoSpace, as insert(), and if
  // copies take all slots that the key may have.
  Result<void> insert_copy(Fingerprint key);
  // Removes `key`, and keys with the same tag and buckets; of copies, one. Returns false, and
  // changes nothing, if the key is not present. Only for keys whose insert() returned true: see
  // above.
  bool erase(Fingerprint key) noexcept;
  bool contains(Fingerprint key) const noexcept;
  // The number of copies of `key` and of keys with the same tag and buckets: 0 to 8.
  unsigned count(Fingerprint key) const noexcept;
  // Calls insert() for each key in order, with overlapping cache misses. Returns the number of new
  // keys. Errors: kNoSpace; the message says how many keys were handled: `admitted` holds their
  // results, and false for the rest.
  Result<std::size_t> insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted);
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;

  // A filter with the same keys, as save() would write them: for a file of one moment, written
  // while this filter goes on. Errors: kNoSpace.
  Result<CuckooFilter> copy() const;

  // `hashes` is 2; `fill` is the share of the slots that are taken.
  Stats stats() const;
  const KeyedHash& hash() const noexcept;

  CuckooFilter(CuckooFilter&&) noexcept;
  CuckooFilter& operator=(CuckooFilter&&) noexcept;
  ~CuckooFilter();

 private:
  struct State;
  explicit CuckooFilter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
