#include "filter/mapped/mapped_bits.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "filter/classic/classic_bloom_filter_state.h"

namespace trawl {

Result<MappedBits> MappedBits::of_section(const MappedSnapshot& snapshot, std::size_t number) {
  const SnapshotSection& parameters = snapshot.header().sections[number];
  if (!is_classic_section(parameters))
    return damaged_snapshot(snapshot.path(), "its parameters are impossible");
  return MappedBits(snapshot.section(number), parameters);
}

ClassicPlaces MappedBits::places_of(Fingerprint key) const noexcept {
  return {key, section_.words() * kClassicWordBits};
}

bool MappedBits::contains(Fingerprint key) const noexcept {
  ClassicPlaces places = places_of(key);
  for (unsigned i = 0; i < parameters_.hashes; ++i) {
    const std::uint64_t place = places.next();
    const MappedSection::Word* const word = section_.find(place / kClassicWordBits);
    if (word == nullptr) return false;
    if ((word->load(std::memory_order_relaxed) >> place % kClassicWordBits & 1) == 0) return false;
  }
  return true;
}

void MappedBits::prefetch(Fingerprint key) const noexcept {
  ClassicPlaces places = places_of(key);
  for (unsigned i = 0; i < parameters_.hashes; ++i)
    __builtin_prefetch(section_.find(places.next() / kClassicWordBits));
}

void MappedBits::find(std::span<const Fingerprint> keys, std::span<bool> found) const noexcept {
  assert(keys.size() == found.size());
  constexpr std::size_t kKeysAhead = 4;  // each is many cache lines
  const std::size_t n = keys.size();
  for (std::size_t i = 0; i < std::min(kKeysAhead, n); ++i)
    prefetch(keys[i]);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kKeysAhead < n) prefetch(keys[i + kKeysAhead]);
    if (contains(keys[i])) found[i] = true;
  }
}

double MappedBits::fill() const noexcept {
  constexpr std::uint64_t kSampledLines = 1 << 12;  // each may be a page to read
  const std::uint64_t lines = section_.words() / kClassicLineWords;
  const std::uint64_t sampled = std::min(lines, kSampledLines);
  std::uint64_t set = 0;
  for (std::uint64_t i = 0; i < sampled; ++i) {
    const auto at = static_cast<std::uint64_t>(static_cast<Uint128>(i) * lines / sampled);
    const MappedSection::Word* const line = section_.find(at * kClassicLineWords);
    for (unsigned w = 0; line != nullptr && w < kClassicLineWords; ++w) {
      set += static_cast<std::uint64_t>(std::popcount(line[w].load(std::memory_order_relaxed)));
    }
  }
  return static_cast<double>(set) /
         static_cast<double>(sampled * kClassicLineWords * kClassicWordBits);
}

FilterStats MappedBits::stats() const {
  return classic_stats(parameters_, fill());
}

}  // namespace trawl
