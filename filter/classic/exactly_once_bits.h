// exactly_once_bits: sets the k single bits of a key so that at most one of many threads is told it
// was the first. (filter/blocked/exactly_once_insert.h is the same for words of a block.)
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <span>

namespace trawl {

inline constexpr unsigned kMaxExactlyOncePlaces = 64;

// Sets the bits at `places`, at most kMaxExactlyOncePlaces, always in the same order for the same
// key; two of them may coincide. Returns true iff this call is the one that added the key. `Bits`
// gives test(place), an acquire load, and test_and_set(place), an acquire-release RMW that returns
// the bit as it was; it is a parameter so that the tests can run this very function under every
// interleaving.
//
// The algorithm: read all places; let j be the first whose bit is missing. Set the missing bits at
// the places after j, and the one at j last. New iff that last RMW found the bit unset.
//
// At most one winner per key. Bits are never cleared, so each becomes set at one moment; whoever
// wins at a place is the one whose RMW set its bit, and it had seen or set the bits of all later
// places before. Suppose two callers win, at the places a and b.
//  - The same bit: it becomes set only once.
//  - Different bits, a before b in the key's order: the winner at b had read a's bit as set before
//    its RMW on b, hence the winner at a had set a's bit before that, and b's bit was set before
//    that again. So the RMW on b cannot have found it unset: a contradiction.
//
// Places that coincide: a place after j with j's bit is left out. Set before its time, it would
// make the RMW on j find the bit set, and nobody would win; set by j's RMW, it is set all the same.
// Other places that coincide are set twice, which changes nothing.
//
// No winner at all is possible only if another key set the bit at j between the read and the RMW:
// then the key would have been called seen a moment later as well, a false positive like any other.
// Callers with this key alone set the bit at the first place that none of them read as set only as
// their last step, so that whoever sets it wins.
template <class Bits>
bool exactly_once_insert_bits(Bits& bits, std::span<const std::uint64_t> places) {
  assert(places.size() <= kMaxExactlyOncePlaces);
  std::uint64_t missing = 0;
  for (std::size_t i = 0; i < places.size(); ++i)
    missing |= std::uint64_t{bits.test(places[i]) ? 0u : 1u} << i;
  if (missing == 0) return false;
  const std::uint64_t first = places[static_cast<std::size_t>(std::countr_zero(missing))];
  for (std::uint64_t later = missing & (missing - 1); later != 0; later &= later - 1) {
    const std::uint64_t place = places[static_cast<std::size_t>(std::countr_zero(later))];
    if (place != first) bits.test_and_set(place);
  }
  return !bits.test_and_set(first);
}

}  // namespace trawl
