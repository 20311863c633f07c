#include "filter/blocked/partitioned_filter_builder.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

namespace trawl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kPart = "a part of the filter";

}  // namespace

Result<PartitionedFilterBuilder> PartitionedFilterBuilder::create(const Options& options) {
  const BuilderPlan& plan = options.plan;
  const std::uint64_t words = options.layout.blocks * kWordsPerBlock;
  const std::uint64_t in_memory = std::min(plan.resident_chunks * kSnapshotChunkWords, words);
  const std::uint64_t in_range = plan.ranges > 0 ? plan.chunks_per_range * kSnapshotChunkWords : 0;
  // Allocates a range's memory too, only to check that it is available, so that a failure comes now
  // and not after the spooling.
  if (const auto all = WordArray::allocate(in_memory + in_range, kPart); !all)
    return tl::unexpected(all.error());
  std::optional<WordArray> resident;
  if (in_memory > 0) {
    auto memory = WordArray::allocate_unchecked(in_memory, kPart);
    if (!memory) return tl::unexpected(memory.error());
    resident.emplace(std::move(*memory));
  }
  auto spool =
      SpoolFolder::create(options.path + ".spool", plan.ranges,
                          plan.chunks_per_range * kBlocksPerChunk, plan.spool_buffer_bytes);
  if (!spool) return tl::unexpected(spool.error());
  return PartitionedFilterBuilder(options, std::move(resident), std::move(*spool));
}

PartitionedFilterBuilder::PartitionedFilterBuilder(const Options& options,
                                                   std::optional<WordArray> resident,
                                                   SpoolFolder spool)
    : layout_(options.layout),
      plan_(options.plan),
      path_(options.path),
      max_spool_bytes_(options.max_spool_bytes),
      resident_blocks_(resident ? resident->size() / kWordsPerBlock : 0),
      blocks_per_range_(plan_.chunks_per_range * kBlocksPerChunk),
      resident_(std::move(resident)),
      spool_(std::move(spool)),
      in_file_(plan_.ranges),
      shared_(std::make_unique<Shared>()),
      locks_(std::make_unique<StripeLocks>(1)) {}  // only one thread inserts

std::uint64_t PartitionedFilterBuilder::first_chunk(std::uint64_t range) const noexcept {
  return plan_.resident_chunks + range * plan_.chunks_per_range;
}

std::uint64_t PartitionedFilterBuilder::words_of(std::uint64_t range) const noexcept {
  assert(range < plan_.ranges);
  const std::uint64_t all = layout_.blocks * kWordsPerBlock;
  return std::min(plan_.chunks_per_range * kSnapshotChunkWords,
                  all - first_chunk(range) * kSnapshotChunkWords);
}

// Bytes read and written by work_on() and by writing the range to the file.
std::uint64_t PartitionedFilterBuilder::bytes_to_move(std::uint64_t range) const noexcept {
  const std::uint64_t bits = words_of(range) * sizeof(std::uint64_t);
  return spool_.keys(range) * spool_.bytes_per_key() + (in_file_[range] ? 2 : 1) * bits;
}

void PartitionedFilterBuilder::insert(const WordArray& words, std::uint64_t scale,
                                      std::span<const Fingerprint> keys) {
  assert(keys.size() <= admitted_.size());
  const BlockSpan span{words.data(), scale, MaskShape(layout_.hashes), locks_->view()};
  inserted_ += best_block_kernels(span.shape).insert_batch(span, keys, admitted_.data());
}

Result<void> PartitionedFilterBuilder::add(std::span<const Fingerprint> keys) {
  const OneAtATime::Use use(using_);
  keys_ += keys.size();
  std::size_t residents = 0;
  const auto insert_residents = [&] {
    if (residents == 0) return;
    insert(*resident_, layout_.blocks, {resident_keys_.data(), std::exchange(residents, 0)});
  };
  for (const Fingerprint key : keys) {
    const std::uint64_t block = scale_to(key.high, layout_.blocks);
    if (block < resident_blocks_) {
      resident_keys_[residents++] = key;
      if (residents == resident_keys_.size()) insert_residents();
      continue;
    }
    const std::uint64_t range = (block - resident_blocks_) / blocks_per_range_;
    assert(range < plan_.ranges);
    const std::uint64_t first = resident_blocks_ + range * blocks_per_range_;
    const SpooledKey spooled{static_cast<std::uint32_t>(block - first), key.low};
    if (auto added = spool_.add(range, spooled); !added) return added;
  }
  insert_residents();
  const std::uint64_t spooled = spool_.bytes();
  shared_->spool_bytes.store(spooled, std::memory_order_relaxed);
  return spooled < max_spool_bytes_ ? Result<void>{} : sweep();
}

Result<void> PartitionedFilterBuilder::begin_file() {
  if (output_) return {};
  auto temporary = TemporaryFile::create(path_);
  if (!temporary) return tl::unexpected(temporary.error());
  auto writer = SnapshotWriter::begin(std::move(temporary->file));
  if (!writer) return tl::unexpected(writer.error());
  output_.emplace(Output{std::move(temporary->name), std::move(*writer)});
  return {};
}

// Returns the words of a range with all keys of its spool file inserted; removes that file.
Result<WordArray> PartitionedFilterBuilder::work_on(std::uint64_t range, const OnPart& on_part) {
  auto words = WordArray::allocate_unchecked(words_of(range), kPart);
  if (!words) return words;
  if (range + 1 < plan_.ranges) {
    spool_.prefetch(range + 1);
    if (in_file_[range + 1]) output_->writer.prefetch(first_chunk(range + 1), words_of(range + 1));
  }
  if (in_file_[range]) {
    if (auto read = output_->writer.read_back(first_chunk(range), *words); !read)
      return tl::unexpected(read.error());
    on_part(words->bytes());
  }
  std::vector<char> buffer(plan_.read_buffer_bytes);
  auto taken = spool_.take(range, buffer, [&](std::span<const Fingerprint> keys) -> Result<void> {
    insert(*words, kRangeScale, keys);
    on_part(keys.size() * spool_.bytes_per_key());
    if (!shared_->give_up.load(std::memory_order_relaxed)) return {};
    return error(ErrorCode::kClosed, "the build of " + path_ + " was cancelled");
  });
  if (!taken) return tl::unexpected(taken.error());
  return words;
}

Result<void> PartitionedFilterBuilder::sweep() {
  const auto began = Clock::now();
  auto ready = spool_.finish_adding().and_then([&] { return begin_file(); });
  if (!ready) return ready;
  std::uint64_t all = 0, done = 0;
  for (std::uint64_t range = 0; range < plan_.ranges; ++range)
    all += bytes_to_move(range);
  const auto on_part = [&](std::uint64_t bytes) {
    done += bytes;
    shared_->sweep.store(static_cast<double>(done) / static_cast<double>(all),
                         std::memory_order_relaxed);
  };
  on_part(0);
  for (std::uint64_t range = 0; range < plan_.ranges; ++range) {
    if (spool_.keys(range) == 0) continue;
    const auto words = work_on(range, on_part);
    if (!words) return tl::unexpected(words.error());
    if (auto kept = output_->writer.set_aside(first_chunk(range), *words); !kept) return kept;
    in_file_[range] = true;
    on_part(words->bytes());
  }
  const std::chrono::duration<double> seconds = Clock::now() - began;
  shared_->bytes_per_second.store(static_cast<double>(all) / seconds.count(),
                                  std::memory_order_relaxed);
  shared_->sweep.store(-1, std::memory_order_relaxed);
  return spool_.begin_adding();
}

Result<void> PartitionedFilterBuilder::write(const MakeHeader& header,
                                             const std::function<void(double)>& on_progress) {
  const OneAtATime::Use use(using_);
  auto ready = spool_.finish_adding().and_then([&] { return begin_file(); });
  if (!ready) return ready;
  std::uint64_t all = resident_blocks_ * kBitsPerBlock / 8, done = 0;
  for (std::uint64_t range = 0; range < plan_.ranges; ++range)
    all += bytes_to_move(range);
  const auto on_part = [&](std::uint64_t bytes) {
    done += bytes;
    if (on_progress) on_progress(static_cast<double>(done) / static_cast<double>(all));
  };
  if (plan_.ranges > 0) spool_.prefetch(0);
  if (resident_) {
    if (auto written = append(*resident_, 0, on_part); !written) return written;
    resident_.reset();
  }
  for (std::uint64_t range = 0; range < plan_.ranges; ++range) {
    const auto words = work_on(range, on_part);
    if (!words) return tl::unexpected(words.error());
    if (auto written = append(*words, first_chunk(range), on_part); !written) return written;
  }
  return output_->writer.finish(header()).and_then(
      [&](std::uint64_t) { return output_->name.publish(); });
}

Result<void> PartitionedFilterBuilder::append(const WordArray& words, std::uint64_t first_chunk,
                                              const OnPart& on_part) {
  std::vector<std::uint64_t> chunk(kSnapshotChunkWords);
  for (std::uint64_t first = 0; first < words.size(); first += kSnapshotChunkWords) {
    const auto count = std::min<std::uint64_t>(kSnapshotChunkWords, words.size() - first);
    for (std::uint64_t i = 0; i < count; ++i) {
      chunk[i] = words[first + i].load(std::memory_order_relaxed);
      bits_set_ += static_cast<std::uint64_t>(std::popcount(chunk[i]));
    }
    auto written =
        output_->writer.append(first_chunk + first / kSnapshotChunkWords, {chunk.data(), count});
    if (!written) return written;
    on_part(count * sizeof(std::uint64_t));
  }
  return {};
}

}  // namespace trawl
