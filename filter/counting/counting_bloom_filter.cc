#include "trawl/counting_bloom_filter.h"

#include <atomic>
#include <cassert>

#include "trawl/sizing.h"

#include "filter/counting/counting_bloom_filter_state.h"
#include "filter/snapshot/snapshot_reader.h"
#include "filter/snapshot/snapshot_writer.h"

namespace trawl {

CountingBloomFilter::CountingBloomFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CountingBloomFilter::CountingBloomFilter(CountingBloomFilter&&) noexcept = default;
CountingBloomFilter& CountingBloomFilter::operator=(CountingBloomFilter&&) noexcept = default;
CountingBloomFilter::~CountingBloomFilter() = default;

Result<CountingBloomFilter> CountingBloomFilter::create(const Options& options) {
  const auto size = classic_bloom_size(options.capacity, options.false_positive_rate);
  if (!size) return tl::unexpected(size.error());
  auto words = WordArray::allocate(counter_words(size->bits), "the filter");
  if (!words) return tl::unexpected(words.error());
  return CountingBloomFilter(std::make_unique<State>(
      std::move(*words), size->hashes, options.capacity, options.false_positive_rate,
      options.hash ? *options.hash : KeyedHash::random()));
}

Result<CountingBloomFilter> CountingBloomFilter::load(const std::string& path) {
  const auto reader = SnapshotReader::open(path, kKind);
  if (!reader) return tl::unexpected(reader.error());
  auto state = State::of_header(reader->header(), path);
  if (!state) return tl::unexpected(state.error());
  auto read = reader->read_words(
      [&](std::size_t, std::uint64_t first, std::span<const std::uint64_t> words) {
        (*state)->counters.words().store(first, words);
      });
  if (!read) return tl::unexpected(read.error());
  return CountingBloomFilter(std::move(*state));
}

Result<std::uint64_t> CountingBloomFilter::save(const std::string& path) const {
  const auto copy = state_->copy();
  if (!copy) return tl::unexpected(copy.error());
  return save_snapshot(path, copy->header,
                       [&](std::size_t, std::uint64_t first, std::span<std::uint64_t> out) {
                         for (std::size_t i = 0; i < out.size(); ++i)
                           out[i] = copy->words[first + i].load(std::memory_order_relaxed);
                       });
}

bool CountingBloomFilter::insert(Fingerprint key) noexcept {
  bool first = false;
  state_->insert({&key, 1}, &first);
  return first;
}

bool CountingBloomFilter::erase(Fingerprint key) noexcept {
  return state_->erase(key);
}

bool CountingBloomFilter::contains(Fingerprint key) const noexcept {
  return state_->contains(key);
}

std::size_t CountingBloomFilter::insert_batch(std::span<const Fingerprint> keys,
                                              std::span<bool> admitted) noexcept {
  assert(keys.size() == admitted.size());
  return state_->insert(keys, admitted.data());
}

std::size_t CountingBloomFilter::contains_batch(std::span<const Fingerprint> keys,
                                                std::span<bool> found) const noexcept {
  assert(keys.size() == found.size());
  return state_->contains(keys, found.data());
}

FilterStats CountingBloomFilter::stats() const {
  return state_->stats();
}

const KeyedHash& CountingBloomFilter::hash() const noexcept {
  return state_->hash;
}

}  // namespace trawl
