// exactly_once_insert: sets the bits of a key so that at most one of many threads is told it was
// the first.
#pragma once

#include <array>
#include <cstdint>

#include "filter/block_layout.h"

namespace trawl {

// A key's bits, word by word.
using BlockMasks = std::array<std::uint64_t, kWordsPerBlock>;

// Inserts the bits `masks` into a block and returns true iff this call is the one that added them.
// `Words` gives load(w), an acquire load, and fetch_or(w, bits), an acquire-release RMW; it is a
// parameter so that the tests can run this very function under every interleaving.
//
// The algorithm: read the words in ascending order; j is the first that misses some of the key's
// bits. Set the bits in the words after j, in descending order, and in j last. New iff the RMW on
// j set one of the bits.
//
// At most one winner per key. Bits are never cleared, so each word becomes complete for the key at
// one moment; whoever wins at a word is the one whose RMW made it complete, and it had seen or
// made every later word complete before. Suppose two callers win, at words a <= b.
//  - a == b: a word becomes complete only once.
//  - a < b: the winner at b read word a complete, hence after the winner at a had completed it,
//    hence after b was complete; and it read b after a, yet found b incomplete: a contradiction.
// No winner at all is possible only if other keys set the last missing bits between the read and
// the RMW: then the key would have been called seen a moment later as well, a false positive like
// any other.
template <class Words>
bool exactly_once_insert(Words& words, const BlockMasks& masks) {
  BlockMasks seen{};
  unsigned first_missing = kWordsPerBlock;
  for (unsigned w = 0; w < kWordsPerBlock; ++w) {
    if (masks[w] == 0) continue;
    seen[w] = words.load(w);
    if (first_missing == kWordsPerBlock && (seen[w] & masks[w]) != masks[w]) first_missing = w;
  }
  if (first_missing == kWordsPerBlock) return false;
  for (unsigned w = kWordsPerBlock - 1; w > first_missing; --w) {
    // A word read complete stays complete: skipping it saves the locked operation.
    if ((seen[w] & masks[w]) != masks[w]) words.fetch_or(w, masks[w]);
  }
  const std::uint64_t before = words.fetch_or(first_missing, masks[first_missing]);
  return (before & masks[first_missing]) != masks[first_missing];
}

}  // namespace trawl
