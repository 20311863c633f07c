// What a growing filter is made of.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trawl/growing_bloom_filter.h"

#include "base/mutex.h"
#include "base/operation_gate.h"
#include "filter/blocked/blocked_state.h"
#include "filter/growing/key_room.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

// The shares of the rate: of the first layer, and of one more where the `layers` that there are
// leave so much of the rate. Of no number of layers they sum to more than the rate.
double first_layer_rate(double budget);
double next_layer_rate(double left, std::size_t layers);

// What the next layer is planned for, if there is memory for it: six layers hold a thousand times
// the keys of the first. One bit of the largest is to spare: its room is counted in signed numbers.
inline constexpr std::uint64_t kMostKeysOfALayer = std::uint64_t{1} << 61;
constexpr std::uint64_t next_layer_capacity(std::uint64_t newest) {
  return newest / 4 * 15 + (newest % 4 * 15 + 3) / 4;
}

// The layout of a layer that is planned for so many keys. While a layer is being begun, the one
// before may take the share 1 / kSpareShare of its capacity more, so that threads need not wait for
// the one that begins it; every layer is sized for that.
inline constexpr std::uint64_t kSpareShare = 64;
Result<BlockLayout> growing_layer_layout(std::uint64_t planned, double rate);

struct GrowingBloomFilter::State {
  using Bits = BlockedBloomFilter::State;

  static constexpr std::uint64_t spare_of(std::uint64_t capacity) { return capacity / kSpareShare; }
  // After a layer could not be begun, the newest takes this share of its keys more before the next
  // attempt.
  static constexpr std::uint64_t kRetryShare = 10;

  struct Layer {
    explicit Layer(std::unique_ptr<Bits> of)
        : bits(std::move(of)), room(bits->capacity, bits->inserted.sum()) {}

    bool has(Fingerprint key) const noexcept {
      const BlockSpan blocks = bits->blocks();
      return bits->kernels.contains(blocks.block_of(key), key.low, blocks.shape);
    }
    // Returns how many were found.
    std::size_t find(std::span<const Fingerprint> keys, bool* found) const noexcept {
      return bits->kernels.contains_batch(bits->blocks(), keys, found);
    }
    // Returns how many were new.
    std::size_t insert(std::span<const Fingerprint> keys, bool* admitted) noexcept {
      const std::size_t fresh = bits->kernels.insert_batch(bits->blocks(), keys, admitted);
      if (fresh > 0) bits->inserted.add(fresh);
      return fresh;
    }
    // Makes room for the spare keys. False if it did so before, or if there are none.
    bool open_spare_room() noexcept {
      const std::uint64_t spare = spare_of(bits->capacity);
      if (spare == 0 || spare_opened.exchange(true, std::memory_order_relaxed)) return false;
      room.put(spare);
      return true;
    }

    std::unique_ptr<Bits> bits;
    KeyRoom room;  // what bits->inserted leaves of the capacity
    // Keys that are in the layer before as well. Files have such; nothing inserts any.
    std::uint32_t also_in_previous = 0;
    std::atomic<bool> spare_opened{false};
  };

  // By which an operation goes; immutable.
  struct Table {
    std::vector<Layer*> layers;
    Layer& newest() const { return *layers.back(); }
  };

  State(std::uint64_t first_capacity, double rate, KeyedHash keyed, std::uint64_t max_memory)
      : capacity(first_capacity), budget(rate), hash(keyed), max_memory_bytes(max_memory) {}

  static Result<std::unique_ptr<State>> create(const Options& options);
  // With empty layers. Errors: kCorrupt if no growing filter has such a header, kNoSpace.
  static Result<std::unique_ptr<State>> of_header(const SnapshotHeader& header,
                                                  const std::string& path,
                                                  std::uint64_t max_memory_bytes);
  // All layers that it begins with are there.
  void open() {
    const MutexLock lock(growing);
    publish(table_of_layers());
  }

  // acquire: pairs with the release in publish().
  const Table& current() const noexcept { return *table.load(std::memory_order_acquire); }

  struct Progress {
    std::size_t done;   // how many keys of the front were answered
    std::size_t fresh;  // how many of them are new
    Layer* newest;      // that had no room for the first, if none was answered
  };
  // Inserts as many keys of the front as is convenient and as there is room for.
  Progress insert_some(std::span<const Fingerprint> keys, bool* admitted) noexcept;
  // Sees to it that the next insert finds room, if `full` has none. Not from inside an operation.
  void make_room(Layer& full) noexcept;
  bool has(Fingerprint key) const noexcept;
  std::size_t find(std::span<const Fingerprint> keys, bool* found) const noexcept;

  FilterStats stats() const;
  // By save_snapshot() or write_snapshot().
  template <class Write>
  Result<std::uint64_t> write(const std::string& path, const Write& write_file) const;
  SnapshotHeader header_of(const Table& saved) const;
  static SnapshotSection section_of(const Layer& layer);

  double rate_of_next() const TRAWL_REQUIRES(growing);
  Result<std::unique_ptr<Layer>> make_layer(std::uint64_t planned) const TRAWL_REQUIRES(growing);
  Result<std::unique_ptr<Layer>> make_next_layer() const TRAWL_REQUIRES(growing);
  std::unique_ptr<const Table> table_of_layers(Layer* added = nullptr) const
      TRAWL_REQUIRES(growing);
  void publish(std::unique_ptr<const Table> next) TRAWL_REQUIRES(growing);
  Result<void> begin_layer() TRAWL_REQUIRES(growing);
  // If it fails, growth_error says why, and `full` takes some more keys.
  void begin_layer_if_full(Layer& full) noexcept TRAWL_REQUIRES(growing);

  std::uint64_t capacity;  // of the first layer
  double budget;
  KeyedHash hash;
  std::uint64_t max_memory_bytes;

  std::atomic<const Table*> table{nullptr};
  OperationGate inserting;  // inserts that may write are inside

  mutable Mutex growing;  // held while a layer is begun
  std::vector<std::unique_ptr<Layer>> layers TRAWL_GUARDED_BY(growing);
  // All that there were, one a layer, so that lookups need no guard.
  std::vector<std::unique_ptr<const Table>> tables TRAWL_GUARDED_BY(growing);

  mutable Mutex error_lock;
  std::string growth_error TRAWL_GUARDED_BY(error_lock);
};

}  // namespace trawl
