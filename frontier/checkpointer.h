// Checkpointer: publishes snapshots of the filter while the crawl goes on.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>

#include "trawl/growing_bloom_filter.h"

#include "frontier/commit_queue.h"
#include "frontier/manifest.h"
#include "frontier/store.h"

namespace trawl {

class Checkpointer {
 public:
  Checkpointer(std::filesystem::path directory, Manifest manifest, std::uint32_t kept)
      : directory_(std::move(directory)), manifest_(std::move(manifest)), kept_(kept) {}

  // The protocol that makes a published checkpoint a consistent cut (N2):
  //  1. note the sequence S: all admissions below it are durable, and were in the filter before;
  //  2. copy the bits to a file, and sync it, while admissions go on;
  //  3. flush the commit queue: it collects at a moment when no operation is under way, so every
  //     operation that set a bit in the copy has been queued, and is durable afterwards;
  //  4. sync the store, rename the file, publish {file, S} in the manifest;
  //  5. drop the log that no kept checkpoint needs.
  // So a bit in a published file is of a durable admission, and every durable admission is in the
  // file's bits or in the log from S on. A crash at any point leaves the manifest of before, or
  // the new one.
  Result<void> take(const GrowingBloomFilter& filter, CommitQueue& commits, Store& store);

  std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

  // Removes files of checkpoints that were never published or are no longer kept.
  static void remove_strays(const std::filesystem::path& directory, const Manifest& manifest);

 private:
  std::mutex mutex_;  // one checkpoint at a time; guards manifest_
  const std::filesystem::path directory_;
  Manifest manifest_;
  const std::uint32_t kept_;
  std::atomic<std::uint64_t> taken_{0};
};

}  // namespace trawl
