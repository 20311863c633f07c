// Checkpointer: publishes snapshots of the filter while the crawl goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "trawl/growing_bloom_filter.h"

#include "base/mutex.h"
#include "frontier/commit/commit_queue.h"
#include "frontier/recovery/manifest.h"
#include "frontier/store/store.h"

namespace trawl {

// Writes `filter`, except the layers that have files, to `path`; the file is valid only once a
// manifest names it. `before` runs after
// the copy of the bits and before the file is renamed to `path`: it must make durable every
// admission that the bits represent. An error leaves no file.
Result<void> write_checkpoint(const GrowingBloomFilter& filter,
                              std::span<const GrowingBloomFilter::LayerFile> layers,
                              const std::filesystem::path& path, const SnapshotPace& pace,
                              const std::function<Result<void>()>& before);

class Checkpointer {
 public:
  // `filter` is the one that is going to be saved, as it was recovered.
  Checkpointer(std::filesystem::path directory, Manifest manifest, std::uint32_t kept,
               const GrowingBloomFilter& filter)
      : directory_(std::move(directory)),
        manifest_(std::move(manifest)),
        layers_(filter.loaded_layers()),
        kept_(kept),
        covered_(manifest_.checkpoints.empty() ? 0 : manifest_.checkpoints.back().sequence) {}

  // Writes what changed since the newest checkpoint; nothing if no URL was admitted since. Layers
  // of the filter that are full have files of their own, each written once, which later checkpoints
  // refer to. The protocol that makes a published checkpoint a consistent cut (N2):
  //  0. Use up a number N, durably, so that no other checkpoint is ever written to its file: if
  //     publishing reports an error although the manifest was replaced, that manifest must not name
  //     another checkpoint's bits.
  //  1. Note the sequence S: all admissions below it are durable, and their bits are in the filter.
  //  2. Copy the bits of each full layer that has no file yet to one, sync and rename it; copy the
  //     other bits to a file, and sync it, while admissions go on. No operation that is under way
  //     can set bits of a full layer: its bits are of operations that ended before.
  //  3. Flush the commit queue. It collects at a quiescence, when no operation is inside the gate,
  //     so every operation that set a bit in the copy has been queued, and is durable afterwards.
  //     Note the sequence E that the admissions have reached by then.
  //  4. Sync the store, rename the file, publish {file, S, E} in the manifest.
  //  5. Delete the files and the log that no kept checkpoint needs.
  // So every bit in a published file belongs to a durable admission (N2), and every durable
  // admission is in the file's bits or in the log from S on. A crash at any point leaves the
  // previous manifest or the new one. E detects a store that is damaged later: a store that does
  // not reach E has lost admissions whose bits may be in the file, so the two do not match.
  // Calls wait for each other. Errors: kClosed if `pace` asks to give up.
  Result<void> take(const GrowingBloomFilter& filter, CommitQueue& commits, Store& store,
                    const SnapshotPace& pace = {});

  std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
  // The number of admissions that are certainly in the newest checkpoint; later ones are replayed.
  std::uint64_t covered() const noexcept { return covered_.load(std::memory_order_relaxed); }

  // Removes files of checkpoints and layers that were never published or are not kept any more.
  static void remove_strays(const std::filesystem::path& directory, const Manifest& manifest);
  // A number above that of every checkpoint and layer file in the directory.
  static std::uint64_t first_unused_number(const std::filesystem::path& directory);

 private:
  Result<void> write_full_layers(const GrowingBloomFilter& filter, const SnapshotPace& pace)
      TRAWL_REQUIRES(mutex_);

  Mutex mutex_;  // one checkpoint at a time
  const std::filesystem::path directory_;
  Manifest manifest_ TRAWL_GUARDED_BY(mutex_);
  // The files of the filter's oldest layers. Those that no checkpoint refers to yet, because one
  // failed, are for the next.
  std::vector<GrowingBloomFilter::LayerFile> layers_ TRAWL_GUARDED_BY(mutex_);
  const std::uint32_t kept_;
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> covered_;
};

}  // namespace trawl
