// exactly_once_insert: sets the bits of a key so that at most one of many threads is told it was
// the first.
#pragma once

#include <bit>
#include <cstdint>

#include "filter/blocked/block_masks.h"

namespace trawl {

// Inserts the bits `masks` into a block and returns true iff this call is the one that added them.
// `missing` names the words (bit w for word w) that lacked some of the key's bits when the caller
// read them, just before, in any order and with acquire loads. `Words` gives fetch_or(w, bits), an
// acquire-release RMW; it is a parameter so that the tests can run this very function under every
// interleaving.
//
// The algorithm: let j be the first missing word. Set the bits in the words after j, in descending
// order, and in j last. New iff the RMW on j set one of the bits.
//
// At most one winner per key. Bits are never cleared, so each word becomes complete for the key at
// one moment; whoever wins at a word is the one whose RMW made it complete, and it had seen or
// made every later word complete before. Suppose two callers win, at words a <= b.
//  - a == b: a word becomes complete only once, since one RMW sets all of the key's bits there.
//  - a < b: the winner at b had read word a complete before its RMW on b, hence the winner at a
//    had completed a before that, and b before a. So b was complete before the RMW that is said
//    to have completed it: a contradiction.
// No winner at all is possible only if other keys set the last missing bits between the read and
// the RMW: then the key would have been called seen a moment later as well, a false positive like
// any other.
template <class Words>
bool exactly_once_insert(Words& words, const BlockMasks& masks, unsigned missing) {
  if (missing == 0) return false;
  const auto first = static_cast<unsigned>(std::countr_zero(missing));
  for (unsigned w = kWordsPerBlock - 1; w > first; --w) {
    // Words that are complete already are set again: a locked operation costs less than a branch
    // that cannot be foreseen.
    if (masks[w] != 0) words.fetch_or(w, masks[w]);
  }
  const std::uint64_t before = words.fetch_or(first, masks[first]);
  return (before & masks[first]) != masks[first];
}

}  // namespace trawl
