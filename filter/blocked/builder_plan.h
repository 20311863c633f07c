// How a filter that is larger than the memory is built: in ranges of its blocks.
#pragma once

#include <cstdint>

#include "trawl/result.h"

#include "filter/blocked/block_layout.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

inline constexpr std::uint64_t kMinBuilderMemory = std::uint64_t{1} << 20;
// Each has a file open, and a buffer of this size at least.
inline constexpr std::uint64_t kMaxRanges = 512;
inline constexpr std::uint64_t kMinSpoolBuffer = 16 * 1024;
inline constexpr std::uint64_t kBlocksPerChunk = kSnapshotChunkWords / kWordsPerBlock;

struct BuilderPlan {
  std::uint64_t chunks_per_range;
  std::uint64_t ranges;
  std::uint64_t spool_buffer_bytes;  // of a range, while keys come in
  std::uint64_t read_buffer_bytes;   // while a range is worked on
};

// Ranges as large as the memory allows. Spooling and applying come one after the other, so that
// each may have all of it. Errors: kInvalidArgument, with the least memory that works, if it would
// take more than kMaxRanges ranges, or smaller buffers than kMinSpoolBuffer.
Result<BuilderPlan> plan_build(std::uint64_t blocks, std::uint64_t max_memory_bytes);

}  // namespace trawl
