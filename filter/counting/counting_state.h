// What a counting filter is made of.
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

// A counter holds how many of the keys that are in have it, or 15 once that was 15. Whatever
// changes counters for a key holds the locks of all of them (counting_key.h), so that inserts and
// erases come one after the other.
//
// A lookup takes no lock, and never misses a key whose insert has returned and that is not being
// erased: each of its counters was counted up for it before that, is counted down only for other
// keys that were counted there too, and so is above 0 at every moment since. Whichever of these
// values a lookup reads, it is not 0.
//
// A file must not hold some of a key's counts only: erasing that key after loading would take
// counts of others. So inserts and erases pass a gate, which is closed while the words are copied.
struct CountingBloomFilter::State {
  State(WordArray words, unsigned k, std::uint64_t planned, double rate_asked, KeyedHash keyed)
      : counters(std::move(words)),
        hashes(k),
        capacity(planned),
        target_rate(rate_asked),
        hash(keyed) {}

  // An empty filter with the parameters of a file. Errors: kCorrupt if no counting filter has such
  // parameters, kNoSpace.
  static Result<std::unique_ptr<State>> of_header(const SnapshotHeader& header,
                                                  const std::string& path);
  SnapshotHeader header() const;
  // What a file of the filter holds.
  struct Copy {
    SnapshotHeader header;
    WordArray words;
  };
  // The filter as it is at a moment when no insert or erase is under way. Errors: kNoSpace.
  Result<Copy> copy() const;

  std::size_t insert(std::span<const Fingerprint> keys, bool* admitted) noexcept;
  // The same for keys few enough that a copy can wait for them.
  std::size_t insert_some(std::span<const Fingerprint> keys, bool* admitted) noexcept;
  // What a CountingKey counts in.
  struct Counters {
    CounterArray& counters;
    StripeLocks::View locks;  // of the words

    std::uint64_t count(std::uint64_t place) const noexcept { return counters.count(place); }
    void set(std::uint64_t place, std::uint64_t count) const noexcept {
      counters.set(place, count);
    }
    std::uint64_t stripe_of(std::uint64_t place) const noexcept {
      return locks.stripe_of(place / kCountersPerWord);
    }
  };
  bool erase(Fingerprint key) noexcept;
  bool contains(Fingerprint key) const noexcept;
  // Whether none of the key's first counters is 0.
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
  mutable OperationGate changes;               // what changes counters and `inserted` is inside
  StripedCounter inserted;  // keys called new, less those that an erase made absent
};

// Whether a counting filter can have these parameters.
bool is_counting_section(const SnapshotSection& section) noexcept;

}  // namespace trawl
