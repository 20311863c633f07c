// MemoryPlan: divides StorageOptions::max_memory among its users.
#pragma once

#include <cstdint>

namespace trawl {

struct MemoryPlan {
  // The least total; a smaller one counts as this.
  static constexpr std::uint64_t kLeast = 64u << 20;

  std::uint64_t write_buffers;  // the store's memtables, over all column families
  std::uint64_t block_cache;    // the store's cache of blocks, indexes and filters
  std::uint64_t heads;          // URLs of the host queues kept in memory, over all shards
  std::uint64_t commits;        // queued operations and those being committed
  std::uint64_t ledger_cache;   // of exact mode: fingerprints known to be in the ledger
  std::uint64_t depths;         // depths of waiting URLs

  // M1: the plan, not their length, sets the memory of the queues. The rest is for hosts, leases,
  // compactions, and allocator overhead.
  // Without exact mode the depths have the share of its cache.
  static MemoryPlan of(std::uint64_t max_memory, bool exact = false);
};

}  // namespace trawl
