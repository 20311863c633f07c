#include "trawl/blocked_bloom_filter.h"

#include <algorithm>
#include <cassert>

#include "filter/blocked/block_layout.h"
#include "filter/blocked/blocked_bloom_filter_state.h"
#include "filter/snapshot/snapshot_reader.h"
#include "filter/snapshot/snapshot_writer.h"

namespace trawl {

BlockedBloomFilter::BlockedBloomFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
BlockedBloomFilter::BlockedBloomFilter(BlockedBloomFilter&&) noexcept = default;
BlockedBloomFilter& BlockedBloomFilter::operator=(BlockedBloomFilter&&) noexcept = default;
BlockedBloomFilter::~BlockedBloomFilter() = default;

Result<BlockedBloomFilter> BlockedBloomFilter::create(const Options& options) {
  const auto layout = choose_layout(options.capacity, options.false_positive_rate);
  if (!layout) return tl::unexpected(layout.error());
  auto words = WordArray::allocate(layout->blocks * kWordsPerBlock, "the filter");
  if (!words) return tl::unexpected(words.error());
  return BlockedBloomFilter(std::make_unique<State>(
      std::move(*words), layout->hashes, options.capacity, options.false_positive_rate,
      options.hash ? *options.hash : KeyedHash::random()));
}

Result<BlockedBloomFilter> BlockedBloomFilter::load(const std::string& path) {
  const auto reader = SnapshotReader::open(path, kKind);
  if (!reader) return tl::unexpected(reader.error());
  auto state = State::of_section(reader->header(), 0, path);
  if (!state) return tl::unexpected(state.error());
  auto read = reader->read_words(
      [&](std::size_t, std::uint64_t first, std::span<const std::uint64_t> words) {
        (*state)->words.store(first, words);
      });
  if (!read) return tl::unexpected(read.error());
  return BlockedBloomFilter(std::move(*state));
}

Result<std::uint64_t> BlockedBloomFilter::save(const std::string& path) const {
  SnapshotHeader header{.kind = kKind,
                        .hash_key = state_->hash.key(),
                        .capacity = state_->capacity,
                        .target_rate = state_->target_rate,
                        .sections = {state_->section()}};
  return save_snapshot(path, header,
                       [&](std::size_t, std::uint64_t first, std::span<std::uint64_t> out) {
                         state_->words.copy(first, out);
                         // The header is written last, so that it counts keys inserted meanwhile.
                         header.sections.front() = state_->section();
                       });
}

bool BlockedBloomFilter::insert(Fingerprint key) noexcept {
  const bool first = state_->kernels.insert(state_->blocks(), key);
  if (first) state_->inserted.add(1);
  return first;
}

bool BlockedBloomFilter::contains(Fingerprint key) const noexcept {
  const BlockSpan blocks = state_->blocks();
  return state_->kernels.contains(blocks.block_of(key), key.low, blocks.shape);
}

std::size_t BlockedBloomFilter::insert_batch(std::span<const Fingerprint> keys,
                                             std::span<bool> admitted) noexcept {
  assert(keys.size() == admitted.size());
  std::size_t fresh = 0;
  // Keys are counted in pieces, so that concurrent statistics and snapshots are not far behind.
  constexpr std::size_t kCountedAtOnce = 4096;
  for (std::size_t first = 0; first < keys.size(); first += kCountedAtOnce) {
    const auto piece = keys.subspan(first, std::min(kCountedAtOnce, keys.size() - first));
    const std::size_t n =
        state_->kernels.insert_batch(state_->blocks(), piece, admitted.data() + first);
    if (n > 0) state_->inserted.add(n);
    fresh += n;
  }
  return fresh;
}

std::size_t BlockedBloomFilter::contains_batch(std::span<const Fingerprint> keys,
                                               std::span<bool> found) const noexcept {
  assert(keys.size() == found.size());
  return state_->kernels.contains_batch(state_->blocks(), keys, found.data());
}

Result<void> BlockedBloomFilter::merge(const BlockedBloomFilter& other) {
  return state_->merge(*other.state_);
}

FilterStats BlockedBloomFilter::stats() const {
  return state_->stats();
}

const KeyedHash& BlockedBloomFilter::hash() const noexcept {
  return state_->hash;
}

double BlockedBloomFilter::false_positive_rate(double keys) const {
  return state_->rate.at(state_->load_of(keys));
}

double BlockedBloomFilter::expected_false_positives(double keys) const {
  return state_->after_admitting(keys).lost;
}

}  // namespace trawl
