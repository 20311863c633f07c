#include "frontier/store/memory_plan.h"

#include <algorithm>

namespace trawl {

namespace {

// The fixed cost of the process and RocksDB: code, threads, open tables, blocks that compactions
// work on.
constexpr std::uint64_t kFixed = 16u << 20;

// For more waiting URLs than a disk has room for; the table's addresses are taken at once.
constexpr std::uint64_t kMostDepths = std::uint64_t{16} << 30;

}  // namespace

MemoryPlan MemoryPlan::of(std::uint64_t max_memory, bool exact) {
  const std::uint64_t percent = (std::max(max_memory, kLeast) - kFixed) / 100;
  return {.write_buffers = 22 * percent,
          .block_cache = 20 * percent,
          .heads = 16 * percent,
          .commits = 10 * percent,
          .ledger_cache = exact ? 6 * percent : 0,
          .depths = std::min((exact ? 12 : 18) * percent, kMostDepths)};
}

}  // namespace trawl
