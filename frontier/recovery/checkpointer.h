// Checkpointer: publishes snapshots of the filter while the crawl goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <utility>

#include "trawl/growing_bloom_filter.h"

#include "base/mutex.h"
#include "frontier/commit/commit_queue.h"
#include "frontier/recovery/manifest.h"
#include "frontier/store/store.h"

namespace trawl {

// Writes `filter` to `path`, which counts once a manifest names it. `before` runs when the bits are
// copied, and must make durable all that they tell of before the file gets its name. An error
// leaves no file.
Result<void> write_checkpoint(const GrowingBloomFilter& filter, const std::filesystem::path& path,
                              const SnapshotPace& pace,
                              const std::function<Result<void>()>& before);

class Checkpointer {
 public:
  Checkpointer(std::filesystem::path directory, Manifest manifest, std::uint32_t kept)
      : directory_(std::move(directory)),
        manifest_(std::move(manifest)),
        kept_(kept),
        covered_(manifest_.checkpoints.empty() ? 0 : manifest_.checkpoints.back().sequence) {}

  // The protocol that makes a published checkpoint a consistent cut (N2):
  //  0. use up a number N, durably, so that no other checkpoint is ever written to its file: a
  //     manifest that is published though that failed must not name another's bits;
  //  1. note the sequence S: all admissions below it are durable, and were in the filter before;
  //  2. copy the bits to a file, and sync it, while admissions go on;
  //  3. flush the commit queue: it collects at a moment when no operation is under way, so every
  //     operation that set a bit in the copy has been queued, and is durable afterwards; note the
  //     sequence E that the admissions have reached by then;
  //  4. sync the store, rename the file, publish {file, S, E} in the manifest;
  //  5. drop the log that no kept checkpoint needs.
  // So a bit in a published file is of a durable admission, and every durable admission is in the
  // file's bits or in the log from S on. A crash at any point leaves the manifest of before, or
  // the new one. E is for a store that is damaged later: one that does not reach E lost admissions
  // that the file may know, so that the two do not fit.
  // A call waits for the one before. Errors: kClosed if `pace` said to give up.
  Result<void> take(const GrowingBloomFilter& filter, CommitQueue& commits, Store& store,
                    const SnapshotPace& pace = {});

  std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
  // How many admissions the newest checkpoint has for certain; those beyond are replayed.
  std::uint64_t covered() const noexcept { return covered_.load(std::memory_order_relaxed); }

  // Removes files of checkpoints that were never published or are no longer kept.
  static void remove_strays(const std::filesystem::path& directory, const Manifest& manifest);
  // Above the number of every checkpoint file there is, whoever published it.
  static std::uint64_t first_unused_number(const std::filesystem::path& directory);

 private:
  Mutex mutex_;  // one checkpoint at a time
  const std::filesystem::path directory_;
  Manifest manifest_ TRAWL_GUARDED_BY(mutex_);
  const std::uint32_t kept_;
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> covered_;
};

}  // namespace trawl
