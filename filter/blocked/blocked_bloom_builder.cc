#include "trawl/blocked_bloom_builder.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "filter/blocked/key_queue.h"
#include "filter/blocked/partitioned_filter_builder.h"

namespace trawl {

namespace {

constexpr std::uint64_t kMinSpool = std::uint64_t{1} << 20;

Result<void> check(const BlockedBloomBuilder::Options& options) {
  std::error_code ignored;
  if (std::filesystem::is_directory(options.path, ignored)) {
    return error(ErrorCode::kInvalidArgument,
                 options.path + " is a folder: give the path of a file for the filter");
  }
  if (options.max_spool_bytes < kMinSpool) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("a spool needs at least 1 MiB of disk, not {} bytes", options.max_spool_bytes));
  }
  return {};
}

}  // namespace

struct BlockedBloomBuilder::State {
  State(const Options& asked, BlockLayout chosen, const BuilderPlan& planned,
        PartitionedFilterBuilder parts)
      : options(asked),
        hash(asked.filter.hash.value_or(KeyedHash::random())),
        layout(chosen),
        plan(planned),
        shared(parts.shared()),
        filter(std::move(parts)),
        queue(std::in_place, kQueueBuffers, plan.queue_bytes / kQueueBuffers / sizeof(Fingerprint)),
        inserter([this] { insert(); }) {}

  ~State() { stop(); }

  // Runs on `inserter`: inserts keys into the filter until there are no more, or an insert fails.
  void insert();
  Result<void> insert_some(std::span<const Fingerprint> keys);
  // Waits until all keys are inserted.
  void drain();
  void stop();
  Result<void> add(std::span<const Fingerprint> keys);
  Result<FilterStats> write_file();
  FilterStats stats() const;
  SnapshotHeader header() const;
  std::function<void()> while_waiting() const;

  tl::unexpected<Error> close(const Error& error) {
    failure = error;
    stop();
    filter.reset();
    return tl::unexpected<Error>(error);
  }

  Options options;
  KeyedHash hash;
  BlockLayout layout;
  BuilderPlan plan;
  PartitionedFilterBuilder::Shared& shared;        // of `filter`
  std::optional<PartitionedFilterBuilder> filter;  // until it failed or finished; only `inserter`
                                                   // uses it while it runs
  std::optional<Error> failure;                    // returned by every further call

  std::optional<KeyQueue> queue;      // until all keys are in
  std::optional<Error> not_inserted;  // why `inserter` ended early; set once it has stopped the
                                      // queue
  std::thread inserter;

  // Set when the file is written.
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
  if (const auto possible = check(options); !possible) return tl::unexpected(possible.error());
  auto parts = PartitionedFilterBuilder::create({.layout = *layout,
                                                 .plan = *plan,
                                                 .path = options.path,
                                                 .max_spool_bytes = options.max_spool_bytes});
  if (!parts) return tl::unexpected(parts.error());
  return BlockedBloomBuilder(std::make_unique<State>(options, *layout, *plan, std::move(*parts)));
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
  state_->close({ErrorCode::kClosed, state_->options.path + " is finished: no keys can be added"});
  return stats;
}

const KeyedHash& BlockedBloomBuilder::hash() const noexcept {
  return state_->hash;
}

BlockedBloomBuilder::Work BlockedBloomBuilder::work() const noexcept {
  if (state_->failure) return {};
  const PartitionedFilterBuilder::Shared& shared = state_->shared;
  const std::uint64_t bits = state_->layout.blocks * kBitsPerBlock / 8;
  const std::uint64_t resident = state_->plan.resident_chunks * kSnapshotChunkBytes;
  Work work{.spool_bytes = shared.spool_bytes.load(std::memory_order_relaxed),
            .bytes_per_second = shared.bytes_per_second.load(std::memory_order_relaxed)};
  work.bytes_to_move = bits + work.spool_bytes;
  if (work.bytes_per_second > 0) work.bytes_to_move += bits - std::min(bits, resident);
  return work;
}

void BlockedBloomBuilder::State::insert() {
  while (true) {
    const auto keys = queue->take();
    if (keys.empty()) break;
    if (auto added = insert_some(keys); !added) {
      not_inserted = added.error();
      break;
    }
  }
  queue->stop();
}

// Catches std::bad_alloc, which no caller could catch on this thread.
Result<void> BlockedBloomBuilder::State::insert_some(std::span<const Fingerprint> keys) {
  try {
    return filter->add(keys);
  } catch (const std::bad_alloc&) {
    return error(ErrorCode::kNoSpace, "not enough memory to build " + options.path);
  }
}

std::function<void()> BlockedBloomBuilder::State::while_waiting() const {
  if (!options.on_sweep) return {};
  return [this] {
    const double share = shared.sweep.load(std::memory_order_relaxed);
    if (share >= 0) options.on_sweep(share);
  };
}

void BlockedBloomBuilder::State::drain() {
  if (!inserter.joinable()) return;
  queue->end(while_waiting());
  inserter.join();
  queue.reset();
}

void BlockedBloomBuilder::State::stop() {
  if (!inserter.joinable()) return;
  shared.give_up.store(true, std::memory_order_relaxed);
  queue->end({});
  inserter.join();
  queue.reset();
}

Result<void> BlockedBloomBuilder::State::add(std::span<const Fingerprint> keys) {
  if (queue->put(keys, while_waiting())) return {};
  return tl::unexpected(*not_inserted);
}

Result<FilterStats> BlockedBloomBuilder::State::write_file() {
  drain();
  if (not_inserted) return tl::unexpected(*not_inserted);
  const auto tell = [&](double share) {
    const std::uint64_t keys = filter->keys();
    if (options.on_progress)
      options.on_progress(static_cast<std::uint64_t>(static_cast<double>(keys) * share), keys);
  };
  const auto make_header = [&] {
    inserted = filter->inserted();
    bits_set = filter->bits_set();
    return header();
  };
  if (auto written = filter->write(make_header, tell); !written)
    return tl::unexpected(written.error());
  return stats();
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
