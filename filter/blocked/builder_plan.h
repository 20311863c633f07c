// The memory plan for building a filter that is larger than memory: its first chunks are in memory,
// the others are processed in ranges, one after the other.
#pragma once

#include <cstdint>

#include "trawl/result.h"

#include "filter/blocked/block_layout.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

inline constexpr std::uint64_t kMinBuilderMemory = std::uint64_t{1} << 20;
// Each range has an open file and a buffer of at least this size.
inline constexpr std::uint64_t kMaxRanges = 512;
inline constexpr std::uint64_t kMinSpoolBuffer = 16 * 1024;
inline constexpr std::uint64_t kBlocksPerChunk = kSnapshotChunkWords / kWordsPerBlock;
// The number of buffers in which keys wait for the thread that inserts them.
inline constexpr std::uint64_t kQueueBuffers = 4;

struct BuilderPlan {
  std::uint64_t resident_chunks;     // the first chunks, always in memory
  std::uint64_t ranges;              // of the other chunks; 0 if there are none
  std::uint64_t chunks_per_range;    // the last range may have fewer
  std::uint64_t spool_buffer_bytes;  // per range, while keys are added
  std::uint64_t queue_bytes;         // all buffers of the queue together
  std::uint64_t read_buffer_bytes;   // while a range is swept
};

// Makes as many chunks resident as memory allows, since their keys are never spooled. The rest is
// for the queue and for either the spool's buffers or one range and its read buffer: ranges are
// swept only while no keys are added. Errors: kInvalidArgument, with the least memory that works,
// if the plan would need more than kMaxRanges ranges or buffers below kMinSpoolBuffer.
Result<BuilderPlan> plan_build(std::uint64_t blocks, std::uint64_t max_memory_bytes);

}  // namespace trawl
