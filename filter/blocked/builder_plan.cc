#include "filter/blocked/builder_plan.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/mix.h"

namespace trawl {

namespace {

// A directory entry, with its copies while the vector grows and while it is encoded.
constexpr std::uint64_t kBytesPerChunkWritten = 64;
// Larger buffers are not faster.
constexpr std::uint64_t kMaxSpoolBuffer = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxReadBuffer = std::uint64_t{4} << 20;
constexpr std::uint64_t kMaxQueue = std::uint64_t{1} << 20;
// The buffers of a chunk on its way into the file, and small allocations.
constexpr std::uint64_t kFixedBytes = 3 * kSnapshotChunkBytes;
// So that a block's index in its range fits 32 bits.
constexpr std::uint64_t kMaxChunksPerRange = (std::uint64_t{1} << 32) / kBlocksPerChunk;

// The memory left for chunks, in chunks, while ...
struct Room {
  std::uint64_t adding;    // keys are added: the resident chunks, besides the spool's buffers
  std::uint64_t sweeping;  // the spool is swept: the resident chunks and a range
  std::uint64_t writing;   // the file is written: the resident chunks, then ranges
};

std::uint64_t chunks_beside(std::uint64_t memory, std::uint64_t others) {
  return memory < others ? 0 : (memory - others) / kSnapshotChunkBytes;
}

// The most chunks that can be resident together with `ranges` ranges and these buffers, if any can.
std::optional<std::uint64_t> resident_beside(std::uint64_t ranges, std::uint64_t buffer,
                                             std::uint64_t chunks, const Room& room) {
  const auto up = [](std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; };
  const std::uint64_t buffers = up(ranges * buffer, kSnapshotChunkBytes);
  if (room.adding < buffers) return std::nullopt;
  std::uint64_t resident = std::min({room.adding - buffers, room.writing, chunks});
  // In addition to the resident chunks there must be room for one range of the rest.
  if (ranges == 1) {
    if (chunks > room.sweeping) return std::nullopt;
  } else {
    const auto most = static_cast<Uint128>(ranges) * room.sweeping;
    if (most < chunks) return std::nullopt;
    const auto beside = (most - chunks) / (ranges - 1);
    if (beside < resident) resident = static_cast<std::uint64_t>(beside);
  }
  const auto range = [&] { return up(chunks - resident, ranges); };
  while (resident > 0 && resident + range() > room.sweeping)
    --resident;  // rounding
  if (resident + range() > room.sweeping || range() > std::min(room.writing, kMaxChunksPerRange))
    return std::nullopt;
  return resident;
}

std::optional<BuilderPlan> plan_within(std::uint64_t chunks, std::uint64_t memory) {
  BuilderPlan plan{};
  plan.read_buffer_bytes = std::min(memory / 16, kMaxReadBuffer);
  plan.queue_bytes = std::min(memory / 16, kMaxQueue);
  const std::uint64_t directory = chunks * kBytesPerChunkWritten;
  const std::uint64_t adding = kFixedBytes + plan.queue_bytes;
  const Room room{
      .adding = chunks_beside(memory, adding),
      .sweeping = chunks_beside(memory, adding + plan.read_buffer_bytes),
      .writing = chunks_beside(memory, kFixedBytes + plan.read_buffer_bytes + directory)};
  if (chunks <= std::min(room.adding, room.writing)) {
    plan.resident_chunks = chunks;
    return plan;
  }
  // Prefer large buffers, which are written to their files with one call each. Smaller buffers
  // allow more and smaller ranges.
  for (std::uint64_t buffer = kMaxSpoolBuffer; buffer >= kMinSpoolBuffer; buffer /= 2) {
    for (std::uint64_t ranges = 1; ranges <= kMaxRanges; ++ranges) {
      const auto resident = resident_beside(ranges, buffer, chunks, room);
      if (!resident || (plan.ranges != 0 && *resident <= plan.resident_chunks)) continue;
      plan.resident_chunks = *resident;
      plan.chunks_per_range = (chunks - *resident + ranges - 1) / ranges;
      plan.ranges = (chunks - *resident + plan.chunks_per_range - 1) / plan.chunks_per_range;
      plan.spool_buffer_bytes = buffer;
    }
    if (plan.ranges != 0) return plan;
  }
  return std::nullopt;
}

// The least number of MiB for which there is a plan, if any.
std::optional<std::uint64_t> least_mebibytes(std::uint64_t chunks) {
  std::uint64_t low = 0, high = std::uint64_t{1} << 40;
  if (!plan_within(chunks, high << 20)) return std::nullopt;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (plan_within(chunks, middle << 20) ? high : low) = middle;
  }
  return high;
}

}  // namespace

Result<BuilderPlan> plan_build(std::uint64_t blocks, std::uint64_t max_memory_bytes) {
  if (max_memory_bytes < kMinBuilderMemory) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("building a filter needs at least 1 MiB of memory, not {} bytes",
                             max_memory_bytes));
  }
  const std::uint64_t chunks = (blocks + kBlocksPerChunk - 1) / kBlocksPerChunk;
  if (const auto plan = plan_within(chunks, max_memory_bytes)) return *plan;
  const double size = static_cast<double>(blocks) * kBitsPerBlock / 8;
  const auto least = least_mebibytes(chunks);
  if (!least) {
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("a filter of {:.3g} bytes is too large to build: lower its "
                             "capacity, or allow a higher false-positive rate",
                             size));
  }
  return error(ErrorCode::kInvalidArgument,
               fmt::format("{} bytes of memory are too little to build a filter of {:.3g} bytes: "
                           "it needs at least {} MiB",
                           max_memory_bytes, size, *least));
}

}  // namespace trawl
