#include "filter/counting/counting_bloom_filter_state.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>

#include "base/mix.h"
#include "filter/classic/classic_bloom_filter_state.h"
#include "filter/counting/counting_key.h"

namespace trawl {

namespace {

// The number of keys that prefetching is ahead. A key has a dozen cache lines or more, so a few
// keys keep the memory busy.
constexpr std::size_t kAhead = 4;

// Keys that a batch inserts in one pass through the gate; a copy of the filter waits for the pass.
constexpr std::size_t kKeysPerPass = 256;

}  // namespace

bool is_counting_section(const SnapshotSection& section) noexcept {
  return section.hashes > 0 && section.hashes <= kMaxCountersOfKey &&
         section.detail == kBitsPerCounter;
}

Result<std::unique_ptr<CountingBloomFilter::State>> CountingBloomFilter::State::of_header(
    const SnapshotHeader& header, const std::string& path) {
  const SnapshotSection& section = header.sections.front();
  if (!is_counting_section(section)) return damaged_snapshot(path, "its parameters are impossible");
  auto words = WordArray::allocate(section.words, path);
  if (!words) return tl::unexpected(words.error());
  auto state = std::make_unique<State>(std::move(*words), section.hashes, section.capacity,
                                       section.target_rate, KeyedHash::from_key(header.hash_key));
  state->inserted.add(section.inserted);
  return state;
}

SnapshotHeader CountingBloomFilter::State::header() const {
  return {.kind = kKind,
          .hash_key = hash.key(),
          .capacity = capacity,
          .target_rate = target_rate,
          .sections = {{.words = counters.words().size(),
                        .capacity = capacity,
                        .target_rate = target_rate,
                        .inserted = keys_in(),
                        .hashes = hashes,
                        .detail = kBitsPerCounter}}};
}

Result<CountingBloomFilter::State::Copy> CountingBloomFilter::State::copy() const {
  auto words = WordArray::allocate(counters.words().size(), "the copy of the filter to be saved");
  if (!words) return tl::unexpected(words.error());
  Copy copy{.header = {}, .words = std::move(*words)};
  copy.words.take_pages();
  changes.at_quiescence([&] {
    for (std::uint64_t i = 0; i < copy.words.size(); ++i) {
      copy.words[i].store(counters.words()[i].load(std::memory_order_relaxed),
                          std::memory_order_relaxed);
    }
    copy.header = header();
  });
  return copy;
}

std::size_t CountingBloomFilter::State::insert(std::span<const Fingerprint> keys,
                                               bool* admitted) noexcept {
  std::size_t fresh = 0;
  while (!keys.empty()) {
    const std::size_t some = std::min(keys.size(), kKeysPerPass);
    fresh += insert_some(keys.first(some), admitted);
    keys = keys.subspan(some);
    admitted += some;
  }
  return fresh;
}

std::size_t CountingBloomFilter::State::insert_some(std::span<const Fingerprint> keys,
                                                    bool* admitted) noexcept {
  assert(keys.size() <= kKeysPerPass);
  const OperationGate::Pass pass(changes);
  std::array<CounterPlaces, kAhead> coming;
  const auto fetch = [&](std::size_t i) {
    coming[i % kAhead].compute(keys[i], hashes, counters.size());
    for (const std::uint64_t place : coming[i % kAhead])
      __builtin_prefetch(counters.word_of(place), 1);
  };
  for (std::size_t i = 0; i < std::min(kAhead, keys.size()); ++i)
    fetch(i);
  const Counters with_locks{counters, locks.view()};
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    coming[i % kAhead].drop_repeated();
    admitted[i] = CountingKey(with_locks, coming[i % kAhead].all()).count_up();
    fresh += admitted[i] ? 1 : 0;
    if (i + kAhead < keys.size()) fetch(i + kAhead);
  }
  if (fresh > 0) inserted.add(fresh);
  return fresh;
}

bool CountingBloomFilter::State::erase(Fingerprint key) noexcept {
  CounterPlaces places;
  places.compute(key, hashes, counters.size());
  for (const std::uint64_t place : places)
    __builtin_prefetch(counters.word_of(place), 1);
  places.drop_repeated();
  const OperationGate::Pass pass(changes);
  const Counters with_locks{counters, locks.view()};
  using Down = CountingKey<Counters>::Down;
  const Down result = CountingKey(with_locks, places.all()).count_down();
  if (result == Down::kGone) inserted.add(~std::uint64_t{0});  // subtracts 1
  return result != Down::kWasNotIn;
}

bool CountingBloomFilter::State::contains(Fingerprint key) const noexcept {
  return passes(key, hashes);
}

bool CountingBloomFilter::State::passes(Fingerprint key, unsigned first_places) const noexcept {
  assert(first_places <= hashes);
  const std::uint64_t size = counters.size();
  for (unsigned i = 0; i < first_places; ++i) {
    if (counters.count(counter_place(key, i, size)) == 0) return false;
  }
  return true;
}

std::size_t CountingBloomFilter::State::contains(std::span<const Fingerprint> keys,
                                                 bool* found) const noexcept {
  // Two counters rule out most absent keys, so the others are fetched only for keys that pass
  // these. (The prefetches are in the loop itself: GCC drops calls of functions that do nothing
  // else.)
  constexpr std::size_t kFarAhead = 16;
  const std::uint64_t size = counters.size();
  const unsigned first_places = std::min(2U, hashes);
  std::array<CounterPlaces, kAhead> coming;
  std::size_t count = 0;
  for (std::size_t i = 0; i < keys.size() + kFarAhead + kAhead; ++i) {
    if (i < keys.size()) {
      for (unsigned n = 0; n < first_places; ++n)
        __builtin_prefetch(counters.word_of(counter_place(keys[i], n, size)));
    }
    if (const std::size_t j = i - kFarAhead - kAhead; i >= kFarAhead + kAhead && found[j]) {
      const CounterPlaces& places = coming[j % kAhead];
      found[j] = std::none_of(places.begin() + first_places, places.end(),
                              [&](std::uint64_t place) { return counters.count(place) == 0; });
      count += found[j] ? 1 : 0;
    }
    if (const std::size_t j = i - kFarAhead; i >= kFarAhead && j < keys.size()) {
      found[j] = passes(keys[j], first_places);
      if (!found[j]) continue;
      coming[j % kAhead].compute(keys[j], hashes, size);
      for (const std::uint64_t place : coming[j % kAhead])
        __builtin_prefetch(counters.word_of(place));
    }
  }
  return count;
}

double CountingBloomFilter::State::fill() const noexcept {
  constexpr std::uint64_t kSampledWords = 1 << 17;
  const std::uint64_t all = counters.words().size();
  const std::uint64_t sampled = std::min(all, kSampledWords);
  std::uint64_t above_zero = 0;
  for (std::uint64_t i = 0; i < sampled; ++i) {
    const auto at = static_cast<std::uint64_t>(static_cast<Uint128>(i) * all / sampled);
    above_zero += counters_above_zero(counters.words()[at].load(std::memory_order_relaxed));
  }
  return static_cast<double>(above_zero) / static_cast<double>(sampled * kCountersPerWord);
}

std::uint64_t CountingBloomFilter::State::keys_in() const noexcept {
  // The sum may include an erase before the insert that it undoes.
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, static_cast<std::int64_t>(inserted.sum())));
}

FilterStats CountingBloomFilter::State::stats() const {
  // The counters above 0 are the set bits of a classic filter.
  return flat_stats(header().sections.front(), static_cast<double>(counters.size()), fill());
}

}  // namespace trawl
