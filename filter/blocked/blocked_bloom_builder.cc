#include "trawl/blocked_bloom_builder.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "filter/blocked/block_kernels.h"
#include "filter/blocked/block_layout.h"
#include "filter/blocked/builder_plan.h"
#include "filter/blocked/spool_folder.h"
#include "filter/snapshot/snapshot_writer.h"
#include "filter/word_array.h"

namespace trawl {

namespace {

// A spooled key falls on its block counted from the range's first: its high half is made such that
// scale_to(high, kRangeScale) is that number, and the kernels need not know of ranges.
constexpr unsigned kRangeScaleBits = 32;
constexpr std::uint64_t kRangeScale = std::uint64_t{1} << kRangeScaleBits;

Fingerprint key_in_range(std::uint64_t block, std::uint64_t low) {
  return {.high = block << (64 - kRangeScaleBits), .low = low};
}

}  // namespace

struct BlockedBloomBuilder::State {
  State(const Options& asked, BlockLayout chosen, BuilderPlan planned, SpoolFolder folder)
      : options(asked),
        hash(asked.filter.hash.value_or(KeyedHash::random())),
        layout(chosen),
        plan(planned),
        spool(std::move(folder)) {}

  Result<void> add(std::span<const Fingerprint> keys);
  Result<FilterStats> write_file();
  Result<void> apply_range(std::uint64_t range, SnapshotWriter& writer);
  Result<void> write_range(const WordArray& words, std::uint64_t first_chunk,
                           SnapshotWriter& writer);
  FilterStats stats() const;
  SnapshotHeader header() const;

  tl::unexpected<Error> close(const Error& error) {
    failure = error;
    spool.reset();
    return tl::unexpected<Error>(error);
  }

  Options options;
  KeyedHash hash;
  BlockLayout layout;
  BuilderPlan plan;
  std::optional<SpoolFolder> spool;  // until it failed or finished
  std::optional<Error> failure;      // what every further call returns

  // During write_file().
  std::vector<Fingerprint> read_buffer;
  std::unique_ptr<bool[]> admitted;
  std::uint64_t keys = 0;
  std::uint64_t applied = 0;
  std::uint64_t inserted = 0;
  std::uint64_t bits_set = 0;
};

BlockedBloomBuilder::BlockedBloomBuilder(std::unique_ptr<State> state) : state_(std::move(state)) {}
BlockedBloomBuilder::BlockedBloomBuilder(BlockedBloomBuilder&&) noexcept = default;
BlockedBloomBuilder& BlockedBloomBuilder::operator=(BlockedBloomBuilder&&) noexcept = default;
BlockedBloomBuilder::~BlockedBloomBuilder() = default;

Result<BlockedBloomBuilder> BlockedBloomBuilder::create(const Options& options) {
  const auto layout = choose_layout(options.filter.capacity, options.filter.false_positive_rate);
  if (!layout) return tl::unexpected(layout.error());
  const auto plan = plan_build(layout->blocks, options.max_memory_bytes);
  if (!plan) return tl::unexpected(plan.error());
  std::error_code ignored;
  if (std::filesystem::is_directory(options.path, ignored)) {
    return fail(ErrorCode::kInvalidArgument,
                options.path + " is a folder: name the file that the filter is to go to");
  }
  // A range's memory, only to see whether it can be had: better now than after the spooling.
  if (const auto words =
          WordArray::allocate(plan->chunks_per_range * kSnapshotChunkWords, "a part of the filter");
      !words) {
    return tl::unexpected(words.error());
  }
  auto spool = SpoolFolder::create(options.path + ".spool", plan->ranges, plan->spool_buffer_bytes);
  if (!spool) return tl::unexpected(spool.error());
  return BlockedBloomBuilder(std::make_unique<State>(options, *layout, *plan, std::move(*spool)));
}

Result<void> BlockedBloomBuilder::add(std::span<const Fingerprint> keys) {
  if (state_->failure) return tl::unexpected(*state_->failure);
  if (auto added = state_->add(keys); !added) return state_->close(added.error());
  return {};
}

Result<FilterStats> BlockedBloomBuilder::finish() {
  if (state_->failure) return tl::unexpected(*state_->failure);
  auto stats = state_->write_file();
  if (!stats) return state_->close(stats.error());
  state_->close({ErrorCode::kClosed, state_->options.path + " is built: nothing can be added"});
  return stats;
}

const KeyedHash& BlockedBloomBuilder::hash() const noexcept {
  return state_->hash;
}

Result<void> BlockedBloomBuilder::State::add(std::span<const Fingerprint> added) {
  const std::uint64_t blocks_per_range = plan.chunks_per_range * kBlocksPerChunk;
  for (const Fingerprint key : added) {
    const std::uint64_t block = scale_to(key.high, layout.blocks);
    const std::uint64_t range = block / blocks_per_range;
    const auto spooled = spool->add(range, key_in_range(block - range * blocks_per_range, key.low));
    if (!spooled) return spooled;
  }
  return {};
}

Result<FilterStats> BlockedBloomBuilder::State::write_file() {
  keys = spool->keys();
  if (auto flushed = spool->finish_adding(); !flushed) return tl::unexpected(flushed.error());
  read_buffer.resize(plan.read_buffer_bytes / sizeof(Fingerprint));
  admitted = std::make_unique<bool[]>(read_buffer.size());

  auto temporary = TemporaryFile::create(options.path);
  if (!temporary) return tl::unexpected(temporary.error());
  auto writer = SnapshotWriter::begin(std::move(temporary->file));
  if (!writer) return tl::unexpected(writer.error());
  Result<void> done;
  for (std::uint64_t range = 0; done && range < plan.ranges; ++range)
    done = apply_range(range, *writer);
  if (done) {
    const auto size = writer->finish(header());
    done = size ? temporary->name.publish() : tl::unexpected(size.error());
  }
  if (!done) return tl::unexpected(done.error());
  return stats();
}

Result<void> BlockedBloomBuilder::State::apply_range(std::uint64_t range, SnapshotWriter& writer) {
  const std::uint64_t first_chunk = range * plan.chunks_per_range;
  const std::uint64_t first_block = first_chunk * kBlocksPerChunk;
  const std::uint64_t blocks =
      std::min(plan.chunks_per_range * kBlocksPerChunk, layout.blocks - first_block);
  const auto words = WordArray::allocate(blocks * kWordsPerBlock, "a part of the filter");
  if (!words) return tl::unexpected(words.error());
  const StripeLocks locks(1);  // nobody else inserts
  const BlockSpan span{words->data(), kRangeScale, MaskShape(layout.hashes), locks.view()};
  const auto insert = [&](std::span<const Fingerprint> part) {
    inserted += best_block_kernels(span.shape).insert_batch(span, part, admitted.get());
    applied += part.size();
    if (options.on_progress) options.on_progress(applied, keys);
  };
  if (auto taken = spool->take(range, read_buffer, insert); !taken) return taken;
  return write_range(*words, first_chunk, writer);
}

Result<void> BlockedBloomBuilder::State::write_range(const WordArray& words,
                                                     std::uint64_t first_chunk,
                                                     SnapshotWriter& writer) {
  std::vector<std::uint64_t> chunk(kSnapshotChunkWords);
  for (std::uint64_t first = 0; first < words.size(); first += kSnapshotChunkWords) {
    const auto count = std::min<std::uint64_t>(kSnapshotChunkWords, words.size() - first);
    for (std::uint64_t i = 0; i < count; ++i) {
      chunk[i] = words[first + i].load(std::memory_order_relaxed);
      bits_set += static_cast<std::uint64_t>(std::popcount(chunk[i]));
    }
    auto written = writer.append(first_chunk + first / kSnapshotChunkWords, {chunk.data(), count});
    if (!written) return written;
  }
  return {};
}

SnapshotHeader BlockedBloomBuilder::State::header() const {
  return {.kind = FilterKind::kBlocked,
          .hash_key = hash.key(),
          .capacity = options.filter.capacity,
          .target_rate = options.filter.false_positive_rate,
          .sections = {{.words = layout.blocks * kWordsPerBlock,
                        .capacity = options.filter.capacity,
                        .target_rate = options.filter.false_positive_rate,
                        .inserted = inserted,
                        .hashes = layout.hashes}}};
}

FilterStats BlockedBloomBuilder::State::stats() const {
  const auto blocks = static_cast<double>(layout.blocks);
  const double load = static_cast<double>(inserted) / blocks;
  const auto [rate, lost] = BlockRate::of(layout.hashes).after_admitting(load);
  return {.capacity = options.filter.capacity,
          .target_rate = options.filter.false_positive_rate,
          .inserted = inserted,
          .memory_bytes = layout.blocks * kBitsPerBlock / 8,
          .hashes = layout.hashes,
          .fill = static_cast<double>(bits_set) / (blocks * kBitsPerBlock),
          .current_rate = rate,
          .expected_false_positives = lost * blocks};
}

}  // namespace trawl
