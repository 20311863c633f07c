// The state of a growing filter.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trawl/growing_bloom_filter.h"

#include "base/mutex.h"
#include "base/operation_gate.h"
#include "base/take_pages.h"
#include "filter/blocked/blocked_bloom_filter_state.h"
#include "filter/growing/layer_quota.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

// The shares of the rate: of the first layer, and of the next one after `layers` layers that leave
// `left` of the rate. For any number of layers they sum to at most the rate.
double first_layer_rate(double budget);
double next_layer_rate(double left, std::size_t layers);

// The planned capacity of the next layer, if there is memory for it: six layers hold a thousand
// times the keys of the first. Layers stop growing at kLargestNextLayer, since each checkpoint
// writes the newest one. kMostKeysOfALayer leaves one bit spare, since room is counted in signed
// numbers.
inline constexpr std::uint64_t kMostKeysOfALayer = std::uint64_t{1} << 61;
inline constexpr std::uint64_t kLargestNextLayer = 1'500'000'000;
constexpr std::uint64_t next_layer_capacity(std::uint64_t newest) {
  if (newest >= kLargestNextLayer) return newest;
  return std::min(kLargestNextLayer, newest / 4 * 15 + (newest % 4 * 15 + 3) / 4);
}

// The layout of a layer planned for `keys` keys. Every layer is sized for 1 / kSpareShare more than
// its capacity: threads insert into this reserve while one of them creates the next layer.
inline constexpr std::uint64_t kSpareShare = 64;
Result<BlockLayout> growing_layer_layout(std::uint64_t planned, double rate);

struct GrowingBloomFilter::State {
  using Bits = BlockedBloomFilter::State;

  static constexpr std::uint64_t spare_of(std::uint64_t capacity) { return capacity / kSpareShare; }
  // After a layer could not be created, the newest takes this share of its keys more before the
  // next attempt.
  static constexpr std::uint64_t kRetryShare = 10;

  struct Layer {
    explicit Layer(std::unique_ptr<Bits> of)
        : bits(std::move(of)),
          room(bits->capacity, bits->inserted.sum()),
          pages_to_take(!bits->words.wants_huge_pages()) {}

    bool has(Fingerprint key) const noexcept {
      const BlockSpan blocks = bits->blocks();
      return bits->kernels.contains(blocks.block_of(key), key.low, blocks.shape);
    }
    // Returns the number of keys found.
    std::size_t find(std::span<const Fingerprint> keys, bool* found) const noexcept {
      return bits->kernels.contains_batch(bits->blocks(), keys, found);
    }
    // Returns the number of new keys.
    std::size_t insert(std::span<const Fingerprint> keys, bool* admitted) noexcept {
      // Relaxed: one thread is enough to take all pages, no matter which.
      const bool lacks_pages = pages_to_take.load(std::memory_order_relaxed);
      if (lacks_pages) take_pages_of(keys);
      const std::size_t fresh = bits->kernels.insert_batch(bits->blocks(), keys, admitted);
      if (fresh > 0) bits->inserted.add(fresh);
      if (lacks_pages) take_pages_if_used();
      return fresh;
    }
    // An insertion reads first, and a page that is read before it is written costs two page faults.
    void take_pages_of(std::span<const Fingerprint> keys) const noexcept {
      const BlockSpan blocks = bits->blocks();
      for (const Fingerprint key : keys)
        take_page_of(*blocks.block_of(key));
    }
    // Once a small layer has as many keys as pages, most of them are in use, and the others soon
    // will be, each by a page fault; but one with few keys takes few pages.
    void take_pages_if_used() noexcept {
      constexpr std::uint64_t kPageBytes = 4096;
      if (bits->inserted.sum() < bits->words.bytes() / kPageBytes) return;
      if (pages_to_take.exchange(false, std::memory_order_relaxed)) bits->words.take_pages();
    }
    // Opens the reserve. Returns false if it was open already, or if there is none.
    bool open_spare_room() noexcept {
      const std::uint64_t spare = spare_of(bits->capacity);
      if (spare == 0 || spare_opened.exchange(true, std::memory_order_relaxed)) return false;
      room.put(spare);
      return true;
    }

    std::unique_ptr<Bits> bits;
    LayerQuota room;  // the capacity less bits->inserted
    // Keys that are also in the previous layer. Only files of older versions have such keys.
    std::uint32_t also_in_previous = 0;
    std::atomic<bool> spare_opened{false};
    std::atomic<bool> pages_to_take;  // see take_pages_if_used()
  };

  // The list of layers that an operation works with; immutable.
  struct Table {
    std::vector<Layer*> layers;
    Layer& newest() const { return *layers.back(); }
  };

  State(std::uint64_t first_capacity, double rate, KeyedHash keyed, std::uint64_t max_memory)
      : capacity(first_capacity), budget(rate), hash(keyed), max_memory_bytes(max_memory) {}

  static Result<std::unique_ptr<State>> create(const Options& options);
  // A filter with empty layers. Errors: kCorrupt if the header is not possible for a growing
  // filter, kNoSpace.
  static Result<std::unique_ptr<State>> of_header(const SnapshotHeader& header,
                                                  const std::string& path,
                                                  std::uint64_t max_memory_bytes);
  // Called once when the initial layers are complete.
  void open() {
    const MutexLock lock(growing);
    publish(table_of_layers());
  }

  // acquire: pairs with the release in publish().
  const Table& current() const noexcept { return *table.load(std::memory_order_acquire); }

  struct Progress {
    std::size_t done;   // number of leading keys that were answered
    std::size_t fresh;  // number of new keys among them
    Layer* newest;      // the layer without room for the first key, if none was answered
  };
  // Inserts leading keys, as many as fit in one operation and have room.
  Progress insert_some(std::span<const Fingerprint> keys, bool* admitted) noexcept;
  // Creates a layer if `full` has no room and is the newest. Must not be called from inside an
  // operation.
  void make_room(Layer& full) noexcept;
  // The room of the newest layer, which is created if the one before has none.
  Result<std::uint64_t> room_of_newest(std::uint64_t max_memory);
  bool has(Fingerprint key) const noexcept;
  std::size_t find(std::span<const Fingerprint> keys, bool* found) const noexcept;

  FilterStats stats() const;
  // `write` is save_snapshot() or write_snapshot().
  template <class Write>
  Result<std::uint64_t> write(const std::string& path, const Write& write_file,
                              std::span<const LayerFile> files = {}) const;
  // Reads the words. `damage`: as in load_what_is_intact(); null if any damage is an error.
  static Result<std::unique_ptr<State>> read(const std::string& path,
                                             std::uint64_t max_memory_bytes,
                                             std::vector<std::string>* damage);
  // Reads a layer that has a file of its own, or what is intact of it. Errors: as load().
  Result<void> read_layer_file(const SnapshotHeader& header, std::size_t layer,
                               const std::string& path);
  SnapshotHeader header_of(const Table& saved) const;
  static SnapshotSection section_of(const Layer& layer);

  double rate_of_next() const TRAWL_REQUIRES(growing);
  Result<std::unique_ptr<Layer>> make_layer(std::uint64_t planned) const TRAWL_REQUIRES(growing);
  Result<std::unique_ptr<Layer>> make_next_layer() const TRAWL_REQUIRES(growing);
  std::unique_ptr<const Table> table_of_layers(Layer* added = nullptr) const
      TRAWL_REQUIRES(growing);
  void publish(std::unique_ptr<const Table> next) TRAWL_REQUIRES(growing);
  Result<void> begin_layer() TRAWL_REQUIRES(growing);
  // On failure growth_error says why, and `full` takes some more keys.
  void begin_layer_if_full(Layer& full) noexcept TRAWL_REQUIRES(growing);

  mutable Mutex growing;  // held while a layer is created

  std::vector<LayerFile> loaded;  // loaded_layers()

  std::uint64_t capacity;  // of the first layer
  double budget;
  KeyedHash hash;
  std::uint64_t max_memory_bytes TRAWL_GUARDED_BY(growing);

  std::atomic<const Table*> table{nullptr};
  OperationGate inserting;  // inserts that may write run inside

  std::vector<std::unique_ptr<Layer>> layers TRAWL_GUARDED_BY(growing);
  // All tables so far, one for each layer: none is freed, so that lookups need no guard.
  std::vector<std::unique_ptr<const Table>> tables TRAWL_GUARDED_BY(growing);

  mutable Mutex error_lock;
  std::string growth_error TRAWL_GUARDED_BY(error_lock);
};

}  // namespace trawl
