// MemoryPlan: how StorageOptions::max_memory is shared out.
#pragma once

#include <cstdint>

namespace trawl {

struct MemoryPlan {
  // What a plan can be made of at all: less counts as this.
  static constexpr std::uint64_t kLeast = 64u << 20;

  std::uint64_t write_buffers;  // the store's memtables, over all column families
  std::uint64_t block_cache;    // the store's cache of blocks, indexes and filters
  std::uint64_t heads;          // URLs of the host queues kept in memory, over all shards
  std::uint64_t commits;        // what waits for the committer and what it works on
  std::uint64_t ledger_cache;   // fingerprints known to be in the ledger
  std::uint64_t depths;         // those of URLs that wait

  // M1: what the queues take is set by the plan, not by their length. What is left is for the hosts
  // themselves, leases, compactions, and what allocators waste.
  static MemoryPlan of(std::uint64_t max_memory);
};

}  // namespace trawl
