// How a filter that is larger than the memory is built: its first chunks in memory, the others in
// ranges, one after the other.
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
// Keys wait in so many buffers for the thread that puts them into the filter.
inline constexpr std::uint64_t kQueueBuffers = 4;

struct BuilderPlan {
  std::uint64_t resident_chunks;     // in memory from the beginning on: the first ones
  std::uint64_t ranges;              // of the others; 0 if there are none
  std::uint64_t chunks_per_range;    // the last range may have fewer
  std::uint64_t spool_buffer_bytes;  // of a range, while keys come in
  std::uint64_t queue_bytes;         // of all buffers of the queue
  std::uint64_t read_buffer_bytes;   // while a range is worked on
};

// As many chunks resident as the memory allows: a key of theirs is never written to the disk but as
// bits. What is left is for the queue, and either the buffers of the spool or one range and the
// buffer it is read through, since ranges are worked on only while no keys come in. Errors:
// kInvalidArgument, with the least memory that works, if it would take more than kMaxRanges ranges,
// or smaller buffers than kMinSpoolBuffer.
Result<BuilderPlan> plan_build(std::uint64_t blocks, std::uint64_t max_memory_bytes);

}  // namespace trawl
