// The state of a counting filter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/counting_bloom_filter.h"

#include "base/operation_gate.h"
#include "base/striped_counter.h"
#include "filter/bits/stripe_locks.h"
#include "filter/bits/word_array.h"
#include "filter/counting/counter_array.h"
#include "filter/counting/counter_places.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

// A counter holds the number of present keys that have it, or 15 for good once it reached 15. A
// change of a key's counters holds the locks of all of them (counting_key.h), so that inserts and
// erases are ordered.
//
// A lookup takes no lock, and never misses a key whose insert has returned and which is not being
// erased: each of its counters was incremented for it before, and is decremented only for other
// keys that were counted there too, so it has been above 0 at every moment since. Whichever of
// these values a lookup reads is not 0.
//
// A file must not hold only some of a key's counts: erasing the key after loading would decrement
// counts of other keys. So inserts and erases pass a gate, which is closed while the words are
// copied.
struct CountingBloomFilter::State {
  State(WordArray words, unsigned k, std::uint64_t planned, double rate_asked, KeyedHash keyed)
      : counters(std::move(words)),
        hashes(k),
        capacity(planned),
        target_rate(rate_asked),
        hash(keyed) {}

  // An empty filter with the parameters of a file. Errors: kCorrupt if they are not possible for a
  // counting filter, kNoSpace.
  static Result<std::unique_ptr<State>> of_header(const SnapshotHeader& header,
                                                  const std::string& path);
  SnapshotHeader header() const;
  // The contents of a file of the filter.
  struct Copy {
    SnapshotHeader header;
    WordArray words;
  };
  // Copies the filter at a moment when no insert or erase is running. Errors: kNoSpace.
  Result<Copy> copy() const;

  std::size_t insert(std::span<const Fingerprint> keys, bool* admitted) noexcept;
  // insert_batch() for at most kKeysPerPass keys, in one pass through the gate.
  std::size_t insert_some(std::span<const Fingerprint> keys, bool* admitted) noexcept;
  // The `Counters` of a CountingKey.
  struct Counters {
    CounterArray& counters;
    StripeLocks::View locks;  // of the words

    std::uint64_t count(std::uint64_t place) const noexcept { return counters.count(place); }
    // With the lock of the place's stripe held.
    void set(std::uint64_t place, std::uint64_t count) const noexcept {
      locks[stripe_of(place)].assert_held();
      counters.set(place, count);
    }
    std::uint64_t stripe_of(std::uint64_t place) const noexcept {
      return locks.stripe_of(place / kCountersPerWord);
    }
  };
  bool erase(Fingerprint key) noexcept;
  bool contains(Fingerprint key) const noexcept;
  // Whether all of the key's first counters are above 0.
  bool passes(Fingerprint key, unsigned first_places) const noexcept;
  std::size_t contains(std::span<const Fingerprint> keys, bool* found) const noexcept;

  std::uint64_t keys_in() const noexcept;
  // The share of the counters above 0, from a sample.
  double fill() const noexcept;
  FilterStats stats() const;

  CounterArray counters;
  unsigned hashes;
  std::uint64_t capacity;
  double target_rate;
  KeyedHash hash;
  StripeLocks locks{counters.words().size()};  // of the words
  mutable OperationGate changes;               // changes of counters and of `inserted` run inside
  StripedCounter inserted;                     // keys called new, less those erased completely
};

// Whether these parameters are possible for a counting filter.
bool is_counting_section(const SnapshotSection& section) noexcept;

}  // namespace trawl
