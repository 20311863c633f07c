// CuckooFilter: a compact filter from which keys can be erased, and that can be full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"

namespace trawl {

// Buckets of four slots, each for a tag of a few bits; a key's tag lies in one of two buckets (Fan,
// Andersen, Kaminsky, Mitzenmacher: "Cuckoo filter: practically better than Bloom", 2014). Loaded
// to 95 %.
//
// With tags of f whole bits it takes f / 0.95 bits a key, and its rate is at most 7.6 / (2^f -
// 1): 10.5 for 0.74 %, 11.6 for 0.37 %, 17.9 for 5.8e-5. It is smaller than a classic filter, which
// takes 1.44 log2(1 / p), from about 0.4 % down: at 0.38 %, from 0.23 to 0.19 %, from 0.14 to 0.093
// %, and at every rate from 0.084 % down (filter_size() in sizing.h).
//
// Erase only keys whose insert() returned true; those never lose one another, in whatever order
// they are erased. The filter is a set of tags: of two keys with one tag in one pair of buckets the
// second is told that it is there already, is not stored, and goes when the first is erased. Of
// 10^6 keys at 1e-3, 490 were told so, and erasing half of the keys lost 242 of the others. Where
// that is too many, ask for a lower rate, or take CountingBloomFilter.
//
// All operations but create, load, moves and the destructor may run at the same time. insert() and
// erase() are linearizable, as long as the filter is not full: the answers of all calls, with the
// same keys or different ones, are those of the same calls one after the other. Both hold the locks
// of the key's two buckets; lookups take none, unless others change these buckets all the time.
class CuckooFilter {
 public:
  using Options = FilterOptions;
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kCuckoo;

  // Errors, here and below: as in BlockedBloomFilter; kInvalidArgument also for a rate that needs
  // tags of more than 32 bits.
  static Result<CuckooFilter> create(const Options& options);
  static Result<CuckooFilter> load(const std::string& path);
  // What is inserted or erased meanwhile may be in the file or not, key by key. The tags are copied
  // first, and the copy is written: until the file is complete the filter takes twice its memory.
  // Only inserts that find no free slot at once, which is rare below a load of 80 %, wait, and only
  // while the tags are copied. Errors: also kNoSpace, if there is not so much memory.
  Result<std::uint64_t> save(const std::string& path) const;

  // Inserts `key`. True iff this call is the one that added it: of all threads inserting the same
  // key, at most one is told true (until it is erased). Errors: kNoSpace if no slot could be made
  // free; the key is not in, and every key that was in still is.
  Result<bool> insert(Fingerprint key);
  // Takes `key` out, and keys taken for it. Refused, returning false, if the key is not there. Only
  // for keys whose insert returned true, as said above.
  bool erase(Fingerprint key) noexcept;
  bool contains(Fingerprint key) const noexcept;
  // insert() for each key in order, with the cache misses overlapped. Returns how many were new.
  // Errors: kNoSpace; the message tells how many of the keys were handled: `admitted` is set for
  // these, and false for the rest.
  Result<std::size_t> insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted);
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;

  // `hashes` is 2, `fill` the share of the slots that are taken.
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
