// exactly_once_insert: a linearizable insert into a filter of bits: the answers of all calls, by
// any threads and for any keys, are those of some sequential order of the calls.
#pragma once

// The instruction set of a file's kernels, into which this is inlined; see block_batch.h.
#ifndef TRAWL_KERNEL_TARGET
#define TRAWL_KERNEL_TARGET
#endif

namespace trawl {

// Returns true iff this call added the key. `Key` is a key together with its filter. It is a
// parameter so that tests can run this function under every interleaving:
//  - is_in() reads whether all of its bits are set, one after the other, with acquire loads;
//  - lock_and_ask() takes locks, those of all bits that is_in() found missing and maybe more, and
//    reads these bits again, each when its lock is held. Returns whether they are set now. One lock
//    stands for one bit or for several;
//  - add_and_unlock() sets these bits, in any order, with release stores, and gives each lock back
//    once its bits are set.
// Bits are never cleared, and nobody sets one without its lock.
//
// Correctness. The linearization point of a call that returns true is the end of lock_and_ask().
// That of a call that returns false is the moment when the last of its bits was set, or its
// beginning if the bits were set before. Both are within the call. In the order of these points
// every answer is right:
//  - "Seen": every bit of the key was set, by calls that had taken effect, since a call sets bits
//    only after it has.
//  - "New": a bit b was found missing under its lock. No call that took effect before has a key
//    with b. For it either found b set, and then b is set still; or it held the lock of b from
//    before it took effect until it had set b. It had it first, so that this call, which has had
//    the lock since, would have found b set.
// So at most one call returns "new" for a key (A1), and none after it is in (A2), since bits are
// never cleared. A key is never called seen because of its own bits or of bits of later calls, as
// could happen if calls set bits first and decided afterwards who was first. Two calls with the
// same key need no special treatment: the second finds the bits of the first.
//
// A key whose bits are all set costs only loads, and never waits.
template <class Key>
TRAWL_KERNEL_TARGET inline bool exactly_once_insert(Key& key) {
  if (key.is_in()) return false;            // A2
  const bool is_new = !key.lock_and_ask();  // A1: no other thread sets the missing bits
  key.add_and_unlock();
  return is_new;
}

}  // namespace trawl
