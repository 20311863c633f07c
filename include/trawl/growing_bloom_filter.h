// GrowingBloomFilter: a blocked Bloom filter that keeps its false-positive budget however many keys
// come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/filter.h"
#include "trawl/snapshot_pace.h"

namespace trawl {

// Layers of blocked filters, each of 3.75 times the capacity of the one before, with shares of the
// false-positive budget that sum to no more than it, however many there are (after Almeida,
// Baquero, Preguica, Hutchison: "Scalable Bloom Filters", 2007). The first has 6 / pi^2 of the
// budget; each of the next six has 1/7 of the rest; those after them have 1/2, 1/6, 1/12, ...
// 1 / (n (n + 1)) of the seventh that is left. So six layers hold a thousand times the keys of the
// first, in less than 1.5 times the memory of a blocked filter for as many (at rates up to 1e-4). A
// layer that there is no memory for is begun smaller, down to the capacity of the one before. A key
// is in the filter if a layer has it.
//
// A new layer is begun when a key comes for which the newest has no room left: when it holds the
// keys it is sized for, or, where many threads insert, a few less that others have taken room for.
// Whatever thread finds that does it, in milliseconds; the others go on until they have used up the
// 64th more that every layer has room for while the next one is begun, and wait then. A layer never
// holds more than that. At last, for microseconds, inserts under way are waited for and those that
// come wait, while the layer is put in its place.
//
// All operations but create, load, moves and the destructor may run at the same time. insert() is
// linearizable, as in BlockedBloomFilter, across all layers and while layers are begun, and what is
// said there of contains() holds here. Lookups, and insert() of a key that is found, are lock-free
// and write nothing; other inserts take locks for a few instructions, as there.
class GrowingBloomFilter {
 public:
  struct Options {
    // Keys the first layer is sized for, at least 1: the number expected. Up to it, the filter is
    // as fast as one of a fixed capacity with 0.61 of the rate, and a 64th larger.
    std::uint64_t capacity = 1'000'000;
    // The budget: the rate of false positives, however many keys are in; above 0 and below 1.
    double false_positive_rate = 1e-6;
    // See FilterOptions::hash.
    std::optional<KeyedHash> hash = {};
    // No layer is begun that would take the filter beyond this; 0: none that the machine has no
    // memory for. The filter then goes on in its newest layer, and its rate rises, as stats() tell.
    std::uint64_t max_memory_bytes = 0;
  };
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kGrowing;

  // Errors: kInvalidArgument for a capacity of 0, a rate outside (0, 1) or too small for a layer;
  // kNoSpace, with the size needed, if memory does not suffice for the first layer.
  static Result<GrowingBloomFilter> create(const Options& options);

  // Reads a filter that save() wrote. Errors: as BlockedBloomFilter::load(). `max_memory_bytes` as
  // in Options, since a file does not say what its reader's machine has.
  static Result<GrowingBloomFilter> load(const std::string& path,
                                         std::uint64_t max_memory_bytes = 0);

  // See BlockedBloomFilter::save().
  Result<std::uint64_t> save(const std::string& path) const;
  // Writes and syncs `path` itself; its publication (rename, sync of the directory) is the
  // caller's, who may have to wait for something else before. The disk gets the bytes as they are
  // written, a few MiB at a time, so that nobody else's sync waits for all of them. Errors: as
  // save(); kClosed if SnapshotPace::give_up was set.
  Result<std::uint64_t> write_unpublished(const std::string& path,
                                          const SnapshotPace& pace = {}) const;

  // As in BlockedBloomFilter. A call that finds the newest layer full also begins the next. Lookups
  // never wait and write nothing.
  bool insert(Fingerprint key) noexcept;
  bool contains(Fingerprint key) const noexcept;
  std::size_t insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted) noexcept;
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;

  // `capacity` is of all layers so far, `target_rate` the budget.
  Stats stats() const;
  const KeyedHash& hash() const noexcept;
  // Why the filter could not begin a layer it needs; empty if it never failed. The rate is then
  // above the budget, or will be.
  std::string growth_error() const;

  GrowingBloomFilter(GrowingBloomFilter&&) noexcept;
  GrowingBloomFilter& operator=(GrowingBloomFilter&&) noexcept;
  ~GrowingBloomFilter();

 private:
  struct State;
  explicit GrowingBloomFilter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trawl
