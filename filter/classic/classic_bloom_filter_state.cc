#include "filter/classic/classic_bloom_filter_state.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "base/mix.h"
#include "filter/bits/bit_merge.h"
#include "filter/classic/classic_places.h"
#include "filter/classic/fill_estimator.h"

namespace trawl {

bool is_classic_section(const SnapshotSection& section) noexcept {
  return section.hashes > 0 && section.hashes <= kMaxClassicHashes && section.words > 0 &&
         section.words % kClassicLineWords == 0 && section.detail == 0;
}

FilterStats flat_stats(const SnapshotSection& section, double places, double fill) {
  const FillEstimator model(places, section.hashes);
  // An overfull filter admits fewer and fewer of the offered keys, so that their number says
  // little: then the fill decides.
  const double expected_fill = section.inserted > section.capacity
                                   ? fill
                                   : model.with_admitted(static_cast<double>(section.inserted));
  return {.capacity = section.capacity,
          .target_rate = section.target_rate,
          .inserted = section.inserted,
          .memory_bytes = section.words * sizeof(std::uint64_t),
          .hashes = section.hashes,
          .fill = fill,
          .current_rate = model.rate(expected_fill),
          .expected_false_positives = model.losses(expected_fill)};
}

FilterStats classic_stats(const SnapshotSection& section, double fill) {
  return flat_stats(section, classic_places(section), fill);
}

Result<std::unique_ptr<ClassicBloomFilter::State>> ClassicBloomFilter::State::of_header(
    const SnapshotHeader& header, const std::string& path) {
  const SnapshotSection& section = header.sections.front();
  if (!is_classic_section(section)) return damaged_snapshot(path, "its parameters are impossible");
  auto words = WordArray::allocate(section.words, path);
  if (!words) return tl::unexpected(words.error());
  auto state = std::make_unique<State>(std::move(*words), section.hashes, section.capacity,
                                       section.target_rate, KeyedHash::from_key(header.hash_key));
  state->inserted.add(section.inserted);
  return state;
}

SnapshotHeader ClassicBloomFilter::State::header() const {
  return {.kind = kKind,
          .hash_key = hash.key(),
          .capacity = capacity,
          .target_rate = target_rate,
          .sections = {{.words = words.size(),
                        .capacity = capacity,
                        .target_rate = target_rate,
                        .inserted = inserted.sum(),
                        .hashes = hashes}}};
}

Result<void> ClassicBloomFilter::State::merge(const State& other) {
  if (auto same = check_mergeable(*this, other); !same) return same;
  const double filled = merge_bits(words, other.words, locks.view(), 1);
  inserted.reset(static_cast<std::uint64_t>(std::round(
      FillEstimator(classic_places(header().sections.front()), hashes).admitted(filled))));
  return {};
}

double ClassicBloomFilter::State::fill() const noexcept {
  constexpr std::uint64_t kSampledWords = 1 << 18;
  const std::uint64_t sampled = std::min(words.size(), kSampledWords);
  std::uint64_t set = 0;
  for (std::uint64_t i = 0; i < sampled; ++i) {
    // Evenly spaced; 128 bits, so that the product cannot overflow.
    const auto at = static_cast<std::uint64_t>(static_cast<Uint128>(i) * words.size() / sampled);
    set += static_cast<std::uint64_t>(std::popcount(words[at].load(std::memory_order_relaxed)));
  }
  return static_cast<double>(set) / static_cast<double>(sampled * kClassicWordBits);
}

FilterStats ClassicBloomFilter::State::stats() const {
  return classic_stats(header().sections.front(), fill());
}

}  // namespace trawl
