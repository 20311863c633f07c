#include "filter/classic/classic_bits.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "filter/bits/exactly_once.h"
#include "filter/classic/classic_key.h"
#include "filter/classic/classic_places.h"

namespace trawl {

namespace {

// The number of keys that prefetching is ahead: enough to cover a cache miss, but no more cache
// lines at a time than a core can have outstanding. Powers of two, for the ring.
constexpr std::size_t kInsertAhead = 4;
constexpr std::size_t kFindAhead = 8;
// A lookup first fetches only this many lines of a key, and the others if those bits are all set:
// few absent keys get that far.
constexpr unsigned kFirstPlaces = 2;

using Places = std::array<std::uint64_t, kMaxClassicHashes>;

// A ring of the places of the last few keys, so that they are computed once.
template <std::size_t kKeys>
class PlacesRing {
 public:
  explicit PlacesRing(const ClassicBits& bits) : bits_(bits) {
    assert(bits.hashes > 0 && bits.hashes <= kMaxClassicHashes);
  }
  // Computes the places of the n-th key and fetches the lines of the first `fetched`.
  template <bool kWrites>
  void fill(std::size_t n, Fingerprint key, unsigned fetched) noexcept {
    ClassicPlaces places(key, bits_.bits);
    for (unsigned i = 0; i < bits_.hashes; ++i) {
      const std::uint64_t place = places.next();
      ring_[n % kKeys][i] = place;
      if (i < fetched) __builtin_prefetch(&bits_.words[place / 64], kWrites);
    }
  }
  std::span<const std::uint64_t> of(std::size_t n) const noexcept {
    return {ring_[n % kKeys].data(), bits_.hashes};
  }

 private:
  const ClassicBits bits_;
  std::array<Places, kKeys> ring_;
};

bool all_set(const ClassicBits& bits, std::span<const std::uint64_t> places) noexcept {
  return std::ranges::all_of(places, [&](std::uint64_t place) { return bits.test(place); });
}

}  // namespace

std::size_t insert_classic(ClassicBits bits, std::span<const Fingerprint> keys,
                           bool* answers) noexcept {
  const std::size_t n = keys.size();
  PlacesRing<kInsertAhead> ring(bits);
  const auto fetch = [&](std::size_t i) { ring.fill<true>(i, keys[i], bits.hashes); };
  for (std::size_t i = 0; i < std::min(kInsertAhead, n); ++i)
    fetch(i);
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ClassicKey key(bits, ring.of(i));
    answers[i] = exactly_once_insert(key);
    fresh += answers[i] ? 1 : 0;
    if (i + kInsertAhead < n) fetch(i + kInsertAhead);
  }
  return fresh;
}

std::size_t find_classic(ClassicBits bits, std::span<const Fingerprint> keys,
                         bool* answers) noexcept {
  const std::size_t n = keys.size();
  const unsigned first = std::min(kFirstPlaces, bits.hashes);
  PlacesRing<2 * kFindAhead> ring(bits);
  std::size_t found = 0;
  // Each key passes three stages, kFindAhead keys apart: its first lines are fetched; its other
  // lines are fetched if it may still be present; it is answered.
  for (std::size_t i = 0; i < n + 2 * kFindAhead; ++i) {
    if (i >= 2 * kFindAhead) {
      const std::size_t last = i - 2 * kFindAhead;
      answers[last] = answers[last] && all_set(bits, ring.of(last).subspan(first));
      found += answers[last] ? 1 : 0;
    }
    if (i >= kFindAhead && i - kFindAhead < n) {
      const std::size_t middle = i - kFindAhead;
      const auto places = ring.of(middle);
      answers[middle] = all_set(bits, places.first(first));
      if (answers[middle]) {
        for (const std::uint64_t place : places.subspan(first))
          __builtin_prefetch(&bits.words[place / 64], false);
      }
    }
    if (i < n) ring.fill<false>(i, keys[i], first);
  }
  return found;
}

}  // namespace trawl
