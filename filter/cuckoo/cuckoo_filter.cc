#include "trawl/cuckoo_filter.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>

#include <fmt/format.h>

#include "base/striped_counter.h"
#include "filter/cuckoo/cuckoo_table.h"
#include "filter/snapshot/snapshot_reader.h"
#include "filter/snapshot/snapshot_writer.h"

namespace trawl {

struct CuckooFilter::State {
  State(const CuckooLayout& layout, WordArray words, std::uint64_t planned, double rate_asked,
        KeyedHash keyed)
      : table(layout, std::move(words)), capacity(planned), target_rate(rate_asked), hash(keyed) {}

  // An empty filter with the parameters of a file. Errors: kCorrupt if they are not possible for a
  // cuckoo filter, kNoSpace.
  static Result<std::unique_ptr<State>> of_header(const SnapshotHeader& header,
                                                  const std::string& path);
  SnapshotHeader header(std::uint64_t keys) const;
  std::uint64_t keys_in() const noexcept;
  Error full() const;

  CuckooTable table;
  std::uint64_t capacity;
  double target_rate;
  KeyedHash hash;
  StripedCounter inserted;  // less those erased
};

namespace {

// Calls use(i, places of keys[i]) for each key in order until it returns false, and prefetches the
// buckets of the following keys.
template <class Use>
void for_each_key(std::span<const Fingerprint> keys, const CuckooTable& table, Use&& use) {
  constexpr std::size_t kAhead = 16;
  std::array<TagPlaces, kAhead> coming;
  const auto fetch = [&](std::size_t i) {
    coming[i % kAhead] = table.layout().places(keys[i]);
    for (const std::uint64_t bucket : coming[i % kAhead].bucket) {
      __builtin_prefetch(table.first_word(bucket));
      __builtin_prefetch(table.last_word(bucket));
    }
  };
  for (std::size_t i = 0; i < std::min(kAhead, keys.size()); ++i)
    fetch(i);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!use(i, coming[i % kAhead])) return;
    if (i + kAhead < keys.size()) fetch(i + kAhead);
  }
}

}  // namespace

Result<std::unique_ptr<CuckooFilter::State>> CuckooFilter::State::of_header(
    const SnapshotHeader& header, const std::string& path) {
  const SnapshotSection& section = header.sections.front();
  const auto layout = cuckoo_layout_of(section);
  if (!layout) return damaged_snapshot(path, "its parameters are impossible");
  auto words = WordArray::allocate(section.words, path);
  if (!words) return tl::unexpected(words.error());
  return std::make_unique<State>(*layout, std::move(*words), section.capacity, section.target_rate,
                                 KeyedHash::from_key(header.hash_key));
}

SnapshotHeader CuckooFilter::State::header(std::uint64_t keys) const {
  return {.kind = kKind,
          .hash_key = hash.key(),
          .capacity = capacity,
          .target_rate = target_rate,
          .sections = {{.words = table.words().size(),
                        .capacity = capacity,
                        .target_rate = target_rate,
                        .inserted = keys,
                        .hashes = kBucketsOfKey,
                        .detail = table.layout().tag_bits}}};
}

std::uint64_t CuckooFilter::State::keys_in() const noexcept {
  // While other threads insert and erase, the stripes are read at different moments.
  const auto sum = std::max<std::int64_t>(0, static_cast<std::int64_t>(inserted.sum()));
  return std::min(static_cast<std::uint64_t>(sum), table.layout().slots());
}

Error CuckooFilter::State::full() const {
  const std::uint64_t keys = keys_in();
  const std::uint64_t slots = table.layout().slots();
  return {
      ErrorCode::kNoSpace,
      fmt::format("the cuckoo filter is full: {} of its {} slots are taken ({:.1f} %), and no slot "
                  "could be freed for another key. It was made for {} keys: erase some, or "
                  "make a larger one",
                  keys, slots, 100.0 * static_cast<double>(keys) / static_cast<double>(slots),
                  capacity)};
}

CuckooFilter::CuckooFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CuckooFilter::CuckooFilter(CuckooFilter&&) noexcept = default;
CuckooFilter& CuckooFilter::operator=(CuckooFilter&&) noexcept = default;
CuckooFilter::~CuckooFilter() = default;

Result<CuckooFilter> CuckooFilter::create(const Options& options) {
  const auto layout = choose_cuckoo_layout(options.capacity, options.false_positive_rate);
  if (!layout) return tl::unexpected(layout.error());
  auto words = WordArray::allocate(layout->words(), "the filter");
  if (!words) return tl::unexpected(words.error());
  return CuckooFilter(std::make_unique<State>(*layout, std::move(*words), options.capacity,
                                              options.false_positive_rate,
                                              options.hash ? *options.hash : KeyedHash::random()));
}

Result<CuckooFilter> CuckooFilter::load(const std::string& path) {
  const auto reader = SnapshotReader::open(path, kKind);
  if (!reader) return tl::unexpected(reader.error());
  auto state = State::of_header(reader->header(), path);
  if (!state) return tl::unexpected(state.error());
  CuckooTable& table = (*state)->table;
  auto read = reader->read_words(
      [&](std::size_t, std::uint64_t first, std::span<const std::uint64_t> words) {
        for (std::size_t i = 0; i < words.size(); ++i)
          table.words()[first + i].store(words[i], std::memory_order_relaxed);
      });
  if (!read) return tl::unexpected(read.error());
  // Counted rather than taken from the header, since erases subtract from it.
  (*state)->inserted.add(table.count_tags());
  return CuckooFilter(std::move(*state));
}

Result<CuckooFilter> CuckooFilter::copy() const {
  const CuckooTable& table = state_->table;
  auto words = WordArray::allocate(table.words().size(), "the copy of the filter to be saved");
  if (!words) return tl::unexpected(words.error());
  auto state = std::make_unique<State>(table.layout(), std::move(*words), state_->capacity,
                                       state_->target_rate, state_->hash);
  table.copy_to(state->table);
  // Counted: this filter's own counter may differ from it.
  state->inserted.add(state->table.count_tags());
  return CuckooFilter(std::move(state));
}

Result<std::uint64_t> CuckooFilter::save(const std::string& path) const {
  const auto copied = copy();
  if (!copied) return tl::unexpected(copied.error());
  const State& state = *copied->state_;
  return save_snapshot(path, state.header(state.keys_in()),
                       [&](std::size_t, std::uint64_t first, std::span<std::uint64_t> out) {
                         for (std::size_t i = 0; i < out.size(); ++i)
                           out[i] = state.table.words()[first + i].load(std::memory_order_relaxed);
                       });
}

Result<bool> CuckooFilter::insert(Fingerprint key) {
  const auto result = state_->table.insert(state_->table.layout().places(key));
  if (result == CuckooTable::Insert::kFull) return tl::unexpected(state_->full());
  const bool added = result == CuckooTable::Insert::kAdded;
  if (added) state_->inserted.add(1);
  return added;
}

Result<void> CuckooFilter::insert_copy(Fingerprint key) {
  const auto result = state_->table.insert_copy(state_->table.layout().places(key));
  if (result == CuckooTable::Insert::kFull) return tl::unexpected(state_->full());
  state_->inserted.add(1);
  return {};
}

unsigned CuckooFilter::count(Fingerprint key) const noexcept {
  return state_->table.count(state_->table.layout().places(key));
}

bool CuckooFilter::erase(Fingerprint key) noexcept {
  const bool erased = state_->table.erase(state_->table.layout().places(key));
  if (erased) state_->inserted.add(~std::uint64_t{0});  // subtracts 1
  return erased;
}

bool CuckooFilter::contains(Fingerprint key) const noexcept {
  return state_->table.contains(state_->table.layout().places(key));
}

Result<std::size_t> CuckooFilter::insert_batch(std::span<const Fingerprint> keys,
                                               std::span<bool> admitted) {
  assert(keys.size() == admitted.size());
  constexpr std::size_t kUncounted = 1024;  // at most, so that concurrent stats() are accurate
  std::size_t handled = 0;
  std::size_t fresh = 0;
  std::size_t counted = 0;
  for_each_key(keys, state_->table, [&](std::size_t i, const TagPlaces& places) {
    const auto result = state_->table.insert(places);
    if (result == CuckooTable::Insert::kFull) return false;
    admitted[i] = result == CuckooTable::Insert::kAdded;
    fresh += admitted[i] ? 1 : 0;
    ++handled;
    if (fresh - counted == kUncounted) {
      state_->inserted.add(kUncounted);
      counted = fresh;
    }
    return true;
  });
  if (fresh > counted) state_->inserted.add(fresh - counted);
  if (handled == keys.size()) return fresh;
  std::ranges::fill(admitted.subspan(handled), false);
  Error error = state_->full();
  error.message +=
      fmt::format("; {} of the {} keys of the batch were handled", handled, keys.size());
  return tl::unexpected(std::move(error));
}

std::size_t CuckooFilter::contains_batch(std::span<const Fingerprint> keys,
                                         std::span<bool> found) const noexcept {
  assert(keys.size() == found.size());
  std::size_t count = 0;
  for_each_key(keys, state_->table, [&](std::size_t i, const TagPlaces& places) {
    found[i] = state_->table.contains(places);
    count += found[i] ? 1 : 0;
    return true;
  });
  return count;
}

FilterStats CuckooFilter::stats() const {
  const CuckooLayout& layout = state_->table.layout();
  const std::uint64_t in = state_->keys_in();
  const auto keys = static_cast<double>(in);
  return {.capacity = state_->capacity,
          .target_rate = state_->target_rate,
          .inserted = in,
          .memory_bytes = state_->table.words().bytes(),
          .hashes = kBucketsOfKey,
          .fill = keys / static_cast<double>(layout.slots()),
          .current_rate = layout.rate_with(keys),
          .expected_false_positives = layout.losses_with(keys)};
}

const KeyedHash& CuckooFilter::hash() const noexcept {
  return state_->hash;
}

}  // namespace trawl
