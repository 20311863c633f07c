#include "trawl/classic_bloom_filter.h"

#include <algorithm>
#include <cassert>

#include "filter/classic/classic_bits.h"
#include "filter/classic/classic_bloom_filter_state.h"
#include "filter/classic/classic_layout.h"
#include "filter/snapshot/snapshot_reader.h"
#include "filter/snapshot/snapshot_writer.h"

namespace trawl {

ClassicBloomFilter::ClassicBloomFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ClassicBloomFilter::ClassicBloomFilter(ClassicBloomFilter&&) noexcept = default;
ClassicBloomFilter& ClassicBloomFilter::operator=(ClassicBloomFilter&&) noexcept = default;
ClassicBloomFilter::~ClassicBloomFilter() = default;

Result<ClassicBloomFilter> ClassicBloomFilter::create(const Options& options) {
  const auto layout = choose_classic_layout(options);
  if (!layout) return tl::unexpected(layout.error());
  auto words = WordArray::allocate(layout->words, "the filter");
  if (!words) return tl::unexpected(words.error());
  return ClassicBloomFilter(std::make_unique<State>(
      std::move(*words), layout->hashes, options.capacity, layout->target_rate,
      options.hash ? *options.hash : KeyedHash::random()));
}

Result<ClassicBloomFilter> ClassicBloomFilter::load(const std::string& path) {
  const auto reader = SnapshotReader::open(path, kKind);
  if (!reader) return tl::unexpected(reader.error());
  auto state = State::of_header(reader->header(), path);
  if (!state) return tl::unexpected(state.error());
  auto read = reader->read_words(
      [&](std::size_t, std::uint64_t first, std::span<const std::uint64_t> words) {
        (*state)->words.store(first, words);
      });
  if (!read) return tl::unexpected(read.error());
  return ClassicBloomFilter(std::move(*state));
}

Result<std::uint64_t> ClassicBloomFilter::save(const std::string& path) const {
  SnapshotHeader header = state_->header();
  return save_snapshot(path, header,
                       [&](std::size_t, std::uint64_t first, std::span<std::uint64_t> out) {
                         state_->words.copy(first, out);
                         // The header is written last, so that it counts keys inserted meanwhile.
                         header = state_->header();
                       });
}

bool ClassicBloomFilter::insert(Fingerprint key) noexcept {
  bool first = false;
  insert_batch({&key, 1}, {&first, 1});
  return first;
}

bool ClassicBloomFilter::contains(Fingerprint key) const noexcept {
  bool found = false;
  contains_batch({&key, 1}, {&found, 1});
  return found;
}

std::size_t ClassicBloomFilter::insert_batch(std::span<const Fingerprint> keys,
                                             std::span<bool> admitted) noexcept {
  assert(keys.size() == admitted.size());
  std::size_t fresh = 0;
  // Keys are counted in pieces, so that concurrent statistics and snapshots are not far behind.
  constexpr std::size_t kCountedAtOnce = 4096;
  for (std::size_t first = 0; first < keys.size(); first += kCountedAtOnce) {
    const auto piece = keys.subspan(first, std::min(kCountedAtOnce, keys.size() - first));
    const std::size_t n = insert_classic(state_->bits(), piece, admitted.data() + first);
    if (n > 0) state_->inserted.add(n);
    fresh += n;
  }
  return fresh;
}

std::size_t ClassicBloomFilter::contains_batch(std::span<const Fingerprint> keys,
                                               std::span<bool> found) const noexcept {
  assert(keys.size() == found.size());
  return find_classic(state_->bits(), keys, found.data());
}

Result<void> ClassicBloomFilter::merge(const ClassicBloomFilter& other) {
  return state_->merge(*other.state_);
}

FilterStats ClassicBloomFilter::stats() const {
  return state_->stats();
}

const KeyedHash& ClassicBloomFilter::hash() const noexcept {
  return state_->hash;
}

}  // namespace trawl
