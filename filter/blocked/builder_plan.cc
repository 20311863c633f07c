#include "filter/blocked/builder_plan.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "trawl/fingerprint.h"

namespace trawl {

namespace {

// A directory entry, its copies while the vector grows and while it is encoded.
constexpr std::uint64_t kBytesPerChunkWritten = 64;
// More gains nothing.
constexpr std::uint64_t kMaxBuffer = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxReadBuffer = std::uint64_t{4} << 20;
// What a chunk takes on its way into the file, and all that is small.
constexpr std::uint64_t kFixedBytes = 3 * kSnapshotChunkBytes;
// So that a block's place in its range has 32 bits.
constexpr std::uint64_t kMaxChunksPerRange = (std::uint64_t{1} << 32) / kBlocksPerChunk;

// Whole fingerprints, so that none is cut in two.
std::uint64_t whole_keys(std::uint64_t bytes) {
  return bytes / sizeof(Fingerprint) * sizeof(Fingerprint);
}

std::optional<BuilderPlan> plan_within(std::uint64_t chunks, std::uint64_t memory) {
  BuilderPlan plan{};
  plan.read_buffer_bytes = whole_keys(std::min(memory / 8, kMaxReadBuffer));
  // Beside each key that was read is the answer whether it was new.
  const std::uint64_t others = kFixedBytes + plan.read_buffer_bytes +
                               plan.read_buffer_bytes / sizeof(Fingerprint) +
                               chunks * kBytesPerChunkWritten;
  if (memory < others + kSnapshotChunkBytes) return std::nullopt;
  plan.chunks_per_range =
      std::min({(memory - others) / kSnapshotChunkBytes, chunks, kMaxChunksPerRange});
  plan.ranges = (chunks + plan.chunks_per_range - 1) / plan.chunks_per_range;
  plan.spool_buffer_bytes = whole_keys(std::min((memory - kFixedBytes) / plan.ranges, kMaxBuffer));
  if (plan.ranges > kMaxRanges || plan.spool_buffer_bytes < kMinSpoolBuffer) return std::nullopt;
  return plan;
}

// The least whole number of MiB that has a plan, or nothing.
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
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("building a filter takes at least 1 MiB of memory, not {} bytes",
                            max_memory_bytes));
  }
  const std::uint64_t chunks = (blocks + kBlocksPerChunk - 1) / kBlocksPerChunk;
  if (const auto plan = plan_within(chunks, max_memory_bytes)) return *plan;
  const double size = static_cast<double>(blocks) * kBitsPerBlock / 8;
  const auto least = least_mebibytes(chunks);
  if (!least) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("a filter of {:.3g} bytes is too large to be built: lower its "
                            "capacity, or allow a higher false-positive rate",
                            size));
  }
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} bytes of memory do not suffice to build a filter of {:.3g} bytes: "
                          "it takes at least {} MiB",
                          max_memory_bytes, size, *least));
}

}  // namespace trawl
