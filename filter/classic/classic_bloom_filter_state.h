// The state of a classic filter.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "trawl/classic_bloom_filter.h"

#include "base/striped_counter.h"
#include "filter/bits/word_array.h"
#include "filter/classic/classic_bits.h"
#include "filter/classic/classic_layout.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

struct ClassicBloomFilter::State {
  State(WordArray array, unsigned k, std::uint64_t planned, double rate_asked, KeyedHash keyed)
      : words(std::move(array)),
        hashes(k),
        capacity(planned),
        target_rate(rate_asked),
        hash(keyed) {}

  // An empty filter with the parameters of a file. Errors: kCorrupt if they are not possible for a
  // classic filter, kNoSpace.
  static Result<std::unique_ptr<State>> of_header(const SnapshotHeader& header,
                                                  const std::string& path);
  SnapshotHeader header() const;
  Result<void> merge(const State& other);
  FilterStats stats() const;

  ClassicBits bits() const noexcept {
    return {words.data(), words.size() * kClassicWordBits, hashes, locks.view()};
  }
  // The share of bits set, from a sample of up to 2^18 words.
  double fill() const noexcept;

  WordArray words;
  unsigned hashes;
  std::uint64_t capacity;
  double target_rate;
  KeyedHash hash;
  StripeLocks locks{words.size()};  // one for each word, or for several
  StripedCounter inserted;
};

// Whether these parameters are possible for a classic filter.
bool is_classic_section(const SnapshotSection& section) noexcept;
inline double classic_places(const SnapshotSection& section) noexcept {
  return static_cast<double>(section.words) * static_cast<double>(kClassicWordBits);
}
// The statistics of a filter with these parameters, `places` bits or counters, and a share `fill`
// of them set. A classic filter has classic_places() bits.
FilterStats flat_stats(const SnapshotSection& section, double places, double fill);
FilterStats classic_stats(const SnapshotSection& section, double fill);

}  // namespace trawl
