// Merging filters that are arrays of bits.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "trawl/result.h"

#include "filter/bits/stripe_locks.h"
#include "filter/bits/word_array.h"

namespace trawl {

// Checks that the bits of two filters of one kind have the same meaning: otherwise kInvalidArgument
// with the difference. `State` has capacity, target_rate, words, hashes and hash.
template <class State>
Result<void> check_mergeable(const State& mine, const State& theirs) {
  const auto differ = [](std::string_view what, auto one, auto other) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("the filters cannot be merged: their {} differ, {} and {}", what, one, other));
  };
  if (mine.capacity != theirs.capacity) return differ("capacities", mine.capacity, theirs.capacity);
  if (mine.target_rate != theirs.target_rate)
    return differ("false-positive rates", mine.target_rate, theirs.target_rate);
  if (mine.words.size() != theirs.words.size())
    return differ("sizes in words", mine.words.size(), theirs.words.size());
  if (mine.hashes != theirs.hashes) return differ("bits per key", mine.hashes, theirs.hashes);
  if (!(mine.hash == theirs.hash)) {
    return error(
        ErrorCode::kInvalidArgument,
        "the filters cannot be merged: their hash keys differ, so that a key has different "
        "bits in each: build one with the other's hash key");
  }
  return {};
}

// Sets in `into` the bits that are set in `from`, an array of the same size. Other threads may set
// bits at the same time: each part of `part_words` is merged under its lock. Returns the share of
// bits set afterwards.
inline double merge_bits(WordArray& into, const WordArray& from, StripeLocks::View locks,
                         std::uint64_t part_words) noexcept {
  assert(into.size() == from.size() && part_words > 0 && into.size() % part_words == 0);
  std::uint64_t set = 0;
  for (std::uint64_t first = 0; first < into.size(); first += part_words) {
    const StripeGuard lock(locks.of(first / part_words));
    for (std::uint64_t i = first; i < first + part_words; ++i) {
      // acquire and release: pair with the inserts into `from` and with the lookups in `into`.
      const std::uint64_t bits = from[i].load(std::memory_order_acquire);
      const std::uint64_t merged = into[i].load(std::memory_order_relaxed) | bits;
      if (bits != 0) into[i].store(merged, std::memory_order_release);
      set += static_cast<std::uint64_t>(std::popcount(merged));
    }
  }
  return static_cast<double>(set) / (static_cast<double>(into.size()) * 64);
}

}  // namespace trawl
