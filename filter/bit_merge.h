// Merging filters that are arrays of bits.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "trawl/result.h"

#include "filter/word_array.h"

namespace trawl {

// Whether the bits of two filters of one kind mean the same: kInvalidArgument with what differs
// otherwise. `State` has capacity, target_rate, words, hashes and hash.
template <class State>
Result<void> check_mergeable(const State& mine, const State& theirs) {
  const auto differ = [](std::string_view what, auto one, auto other) {
    return fail(
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
    return fail(ErrorCode::kInvalidArgument,
                "the filters cannot be merged: their hash keys differ, so that one key has other "
                "bits in each");
  }
  return {};
}

// Sets in `into` what is set in `from`, of the same size, while others may set bits too. Returns
// the share of the bits that are set afterwards.
inline double merge_bits(WordArray& into, const WordArray& from) noexcept {
  std::uint64_t set = 0;
  for (std::uint64_t i = 0; i < into.size(); ++i) {
    // acquire and release: pair with the inserts of both filters.
    const std::uint64_t bits = from[i].load(std::memory_order_acquire);
    const std::uint64_t before = bits != 0 ? into[i].fetch_or(bits, std::memory_order_acq_rel)
                                           : into[i].load(std::memory_order_relaxed);
    set += static_cast<std::uint64_t>(std::popcount(before | bits));
  }
  return static_cast<double>(set) / (static_cast<double>(into.size()) * 64);
}

}  // namespace trawl
