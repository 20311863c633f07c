// exactly_once_insert: inserts a key into a filter of bits, such that the answers of all calls, of
// whatever threads and keys, are those of the same calls one after the other.
#pragma once

// The instruction set of a file's kernels, into which this is inlined; see block_batch.h.
#ifndef TRAWL_KERNEL_TARGET
#define TRAWL_KERNEL_TARGET
#endif

namespace trawl {

// Returns true iff this call is the one that added the key. `Key` is a key and the filter that it
// goes to; a parameter so that the tests can run this very function under every interleaving:
//  - is_in() reads whether all of its bits are set, one after the other, with acquire loads;
//  - lock_and_ask() takes locks, those of all bits that is_in() found missing and maybe more, and
//    reads these bits again, each when its lock is held. Returns whether they are set now. One lock
//    stands for one bit or for several;
//  - add_and_unlock() sets these bits, in any order, with release stores, and gives each lock back
//    once its bits are set.
// Bits are never cleared, and nobody sets one without its lock.
//
// Why it is right. Let a call that returns true take effect when lock_and_ask() has ended, and one
// that returns false when the last of its bits was set, or when it began if that was before. Both
// lie within the call. In the order of these moments every answer is right:
//  - "Seen": every bit of the key was set, by calls that had taken effect, since a call sets bits
//    only after it has.
//  - "New": a bit b was found missing under its lock. No call that took effect before has a key
//    with b. For it either found b set, and then b is set still; or it held the lock of b from
//    before it took effect until it had set b. It had it first, so that this call, which has had
//    the lock since, would have found b set.
// So at most one call is told that a key is new (A1), and none once it is in (A2): bits stay.
// A key is never called seen because of bits of its own, or of calls that come after it, as it
// would be if callers set bits first and asked then who was first. Two calls with one key are no
// special case: the second finds the bits of the first.
//
// A key whose bits are all set costs loads only, and waits for nobody.
template <class Key>
TRAWL_KERNEL_TARGET inline bool exactly_once_insert(Key& key) {
  if (key.is_in()) return false;
  const bool is_new = !key.lock_and_ask();
  key.add_and_unlock();
  return is_new;
}

}  // namespace trawl
