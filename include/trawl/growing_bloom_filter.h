// GrowingBloomFilter: a blocked Bloom filter that keeps its false-positive budget for any number of
// keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trawl/filter.h"
#include "trawl/snapshot_pace.h"

namespace trawl {

// Layers of blocked filters, each with 3.75 times the capacity of the previous one, up to 1.5
// billion keys (or the first layer's capacity, if that is more). Their shares of
// the false-positive budget sum to at most the budget for any number of layers (after Almeida,
// Baquero, Preguica, Hutchison: "Scalable Bloom Filters", 2007). The first layer has 6 / pi^2 of
// the budget; each of the next six has 1/7 of the rest; the layers after the seventh share what is
// left in the parts 1/2, 1/6, 1/12, ... 1 / (n (n + 1)). So six layers hold a thousand times the
// keys of the first, in less than 1.5 times the memory of one blocked filter for as many keys (at
// rates up to 1e-4). If memory does not suffice for a layer, a smaller one is created, down to the
// capacity of the previous one. The filter contains a key if one of its layers does.
//
// A new layer is created when the newest has no room for another key: it holds the keys it is sized
// for, or with many threads a few less, because threads reserve room in advance. The thread that
// finds this creates the layer, in milliseconds. Meanwhile the others go on inserting into the
// reserve of every layer, 1/64 of its capacity, and wait when that is used up; a layer never holds
// more. At the end new inserts wait, for microseconds, until running inserts have finished and the
// layer is installed.
//
// All operations except create, load, moves and the destructor may run concurrently. insert() is
// linearizable, as in BlockedBloomFilter, across all layers and while layers are added, with the
// same exception for contains(). Lookups, and inserts of keys that are found, are lock-free and
// write nothing; other inserts take locks for a few instructions, as in BlockedBloomFilter.
class GrowingBloomFilter {
 public:
  // The size that the filter begins with, and its budget.
  struct Options {
    // The expected number of keys, at least 1: the first layer is sized for it. Up to that number
    // the filter is as fast as a BlockedBloomFilter with 0.61 of the rate, and 1/64 larger.
    std::uint64_t capacity = 1'000'000;
    // The budget: the false-positive rate for any number of keys; above 0 and below 1.
    double false_positive_rate = 1e-6;
    // See FilterOptions::hash.
    std::optional<KeyedHash> hash = {};
    // The most bytes the filter may take; 0: as the machine's memory allows. When no further layer
    // fits, the filter goes on inserting into its newest layer; its rate rises, and stats() reports
    // it.
    std::uint64_t max_memory_bytes = 0;
  };
  // The file of a layer that no longer changes, filter-NNNNNN.layer.
  struct LayerFile {
    std::uint64_t number = 0;
    std::uint64_t identity = 0;  // a digest of its contents
  };
  using Stats = FilterStats;
  static constexpr FilterKind kKind = FilterKind::kGrowing;

  // Errors: kInvalidArgument for a capacity of 0, a rate outside (0, 1) or too low for a layer;
  // kNoSpace, with the size needed, if there is too little memory for the first layer.
  static Result<GrowingBloomFilter> create(const Options& options);

  // Reads a filter that save() wrote. Errors: as BlockedBloomFilter::load(). `max_memory_bytes` as
  // in Options: it is not stored in the file.
  static Result<GrowingBloomFilter> load(const std::string& path,
                                         std::uint64_t max_memory_bytes = 0);
  // The same for a filter whose layer files may be damaged or missing: their intact parts are read,
  // and `damage` receives what is wrong. Keys of the other parts may not be found.
  static Result<GrowingBloomFilter> load_what_is_intact(const std::string& path,
                                                        std::uint64_t max_memory_bytes,
                                                        std::vector<std::string>& damage);

  // See BlockedBloomFilter::save().
  Result<std::uint64_t> save(const std::string& path) const;
  // Writes and syncs the file at `path` itself. Publishing it (rename, sync of the directory) is
  // left to the caller, who may have to wait for other writes before. Starts writing to the disk
  // every few MiB, so that a sync by another thread does not have to wait for the whole file. The
  // oldest layers may be in files already, which `layers` names: then the file refers to them, and
  // load() needs them in its directory. Errors: as save(); kClosed if SnapshotPace::give_up was
  // set.
  Result<std::uint64_t> write_unpublished(const std::string& path, const SnapshotPace& pace = {},
                                          std::span<const LayerFile> layers = {}) const;
  // The number of layers that no insert changes any more: all except the newest.
  std::size_t full_layers() const noexcept;
  // Writes and syncs the file of a full layer at `path`, which is for the caller to publish as
  // filter-NNNNNN.layer with that number, above 0. Errors: as write_unpublished().
  Result<LayerFile> write_layer(std::size_t layer, std::uint64_t number, const std::string& path,
                                const SnapshotPace& pace = {}) const;
  // The files that load() has read the oldest layers from.
  const std::vector<LayerFile>& loaded_layers() const noexcept;

  // As in BlockedBloomFilter. An insert that finds the newest layer full also creates the next.
  // Lookups never wait and write nothing.
  bool insert(Fingerprint key) noexcept;
  bool contains(Fingerprint key) const noexcept;
  std::size_t insert_batch(std::span<const Fingerprint> keys, std::span<bool> admitted) noexcept;
  std::size_t contains_batch(std::span<const Fingerprint> keys,
                             std::span<bool> found) const noexcept;

  // For callers that must not let the rate rise when memory is short: if the newest layer has no
  // room, creates the next. From now on the filter takes at most `max_memory_bytes` (0: as the
  // machine allows). Returns the number of keys that the newest layer has room for, at least 1.
  // Errors: kNoSpace. Other threads may take the room before the caller does.
  Result<std::uint64_t> make_room(std::uint64_t max_memory_bytes);
  // Bytes of all layers.
  std::uint64_t memory_bytes() const noexcept;

  // `capacity` is that of all layers so far, `target_rate` the budget.
  Stats stats() const;
  const KeyedHash& hash() const noexcept;
  // The statistics of a filter that was created with `options` and grew until it had `keys` keys,
  // without creating it; the fill is the expected one. Assumes enough memory. Errors: as create().
  static Result<Stats> expected_stats(const Options& options, std::uint64_t keys);
  // Why the filter could not create a layer that it needs; empty if that never failed. After a
  // failure the rate is above the budget, or will be.
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
