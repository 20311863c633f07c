// MappedCounters: a counting filter in its mapped file.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trawl/filter.h"

#include "filter/classic/classic_bloom_filter_state.h"
#include "filter/counting/counter_array.h"
#include "filter/counting/counter_places.h"
#include "filter/counting/counting_bloom_filter_state.h"
#include "filter/mapped/mapped_snapshot.h"

namespace trawl {

class MappedCounters {
 public:
  // Errors: kCorrupt if the parameters are not possible for a counting filter.
  static Result<MappedCounters> of_section(const MappedSnapshot& snapshot, std::size_t number) {
    const SnapshotSection& parameters = snapshot.header().sections[number];
    if (!is_counting_section(parameters))
      return damaged_snapshot(snapshot.path(), "its parameters are impossible");
    return MappedCounters(snapshot.section(number), parameters);
  }

  // Sets found[i] to true if keys[i] is present, and leaves it unchanged otherwise.
  void find(std::span<const Fingerprint> keys, std::span<bool> found) const noexcept {
    assert(keys.size() == found.size());
    constexpr std::size_t kAhead = 4;  // each is many cache lines
    std::array<CounterPlaces, kAhead> coming;
    const auto fetch = [&](std::size_t i) {
      coming[i % kAhead].compute(keys[i], parameters_.hashes, size());
      for (const std::uint64_t place : coming[i % kAhead])
        __builtin_prefetch(section_.find(place / kCountersPerWord));
    };
    for (std::size_t i = 0; i < std::min(kAhead, keys.size()); ++i)
      fetch(i);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const CounterPlaces& places = coming[i % kAhead];
      const auto is_zero = [this](std::uint64_t place) {
        return count_in(section_.load(place / kCountersPerWord), place) == 0;
      };
      if (std::none_of(places.begin(), places.end(), is_zero)) found[i] = true;
      if (i + kAhead < keys.size()) fetch(i + kAhead);
    }
  }

  FilterStats stats() const { return flat_stats(parameters_, static_cast<double>(size()), fill()); }

 private:
  MappedCounters(MappedSection section, const SnapshotSection& parameters)
      : section_(section), parameters_(parameters) {}

  std::uint64_t size() const noexcept { return section_.words() * kCountersPerWord; }

  // The share of the counters above 0, from a sample.
  double fill() const noexcept {
    constexpr std::uint64_t kSampledWords = 1 << 13;  // each may be a page to read
    const std::uint64_t sampled = std::min(section_.words(), kSampledWords);
    std::uint64_t above_zero = 0;
    for (std::uint64_t i = 0; i < sampled; ++i) {
      const auto at =
          static_cast<std::uint64_t>(static_cast<Uint128>(i) * section_.words() / sampled);
      above_zero += counters_above_zero(section_.load(at));
    }
    return static_cast<double>(above_zero) / static_cast<double>(sampled * kCountersPerWord);
  }

  MappedSection section_;
  SnapshotSection parameters_;
};

}  // namespace trawl
