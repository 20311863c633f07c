// CuckooTable: the buckets of a cuckoo filter, for any number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "base/operation_gate.h"
#include "filter/bits/word_array.h"
#include "filter/cuckoo/bucket_bits.h"
#include "filter/cuckoo/cuckoo_layout.h"
#include "filter/cuckoo/group_locks.h"
#include "filter/cuckoo/path_search.h"

namespace trawl {

// Whatever decides on a key (insert, erase) holds the locks of both of its buckets while it reads
// and changes them. Two keys are taken for each other only if they have one tag and both buckets in
// common: then one is decided after the other, and of other keys the order makes no difference. So
// the answers are those of the calls in the order in which they had their locks.
//
// A tag is moved under the locks of both of its buckets too, and so it is in one of them whenever
// nobody holds these locks. Hence a lookup, which reads both buckets and accepts the answer only if
// neither lock was taken and used meanwhile, never misses a tag that is being moved.
//
// An insert that finds both buckets full searches a path to a free slot without locks, and moves
// the tags along it from its end, so that at every moment all tags are stored and the free slot
// only comes nearer. A step that has become impossible since ends the walk, and the insert starts
// again.
class CuckooTable {
 public:
  CuckooTable(const CuckooLayout& layout, WordArray words)
      : layout_(layout),
        lanes_(layout.tag_bits),
        bucket_bits_(kSlotsPerBucket * layout.tag_bits),
        words_(std::move(words)) {}

  const CuckooLayout& layout() const noexcept { return layout_; }
  const WordArray& words() const noexcept { return words_; }

  enum class Insert { kAdded, kPresent, kFull };
  Insert insert(const TagPlaces& key) noexcept;
  bool erase(const TagPlaces& key) noexcept;
  bool contains(const TagPlaces& key) const noexcept;

  // Where a bucket begins and ends, which may be in two cache lines: for prefetching. (Not done
  // here: GCC drops calls of functions that do nothing but prefetch.)
  const void* first_word(std::uint64_t bucket) const noexcept {
    return words_.data() + bucket * bucket_bits_ / 64;
  }
  const void* last_word(std::uint64_t bucket) const noexcept {
    return words_.data() + (bucket * bucket_bits_ + bucket_bits_ - 1) / 64;
  }

  // A bucket as it is now, which is as it was at one moment only if its lock is held or its version
  // is verified.
  BucketBits read(std::uint64_t bucket) const noexcept {
    const std::uint64_t bit = bucket * bucket_bits_;
    const std::atomic<std::uint64_t>* const word = words_.data() + bit / 64;
    const auto shift = static_cast<unsigned>(bit % 64);
    // It lies in up to three words. Where it has fewer the last is read again, for what is then
    // above the bucket's bits and ignored.
    const unsigned last = (shift + bucket_bits_ - 1) / 64;
    // acquire: pairs with the release in change(), as GroupLocks wants it.
    const Uint128 low = word[0].load(std::memory_order_acquire);
    const Uint128 middle = word[std::min(last, 1U)].load(std::memory_order_acquire);
    const Uint128 high = word[last].load(std::memory_order_acquire);
    return {lanes_, (low | middle << 64) >> shift | (high << 1) << (127 - shift)};
  }

  // How many slots are taken. Not while other threads write.
  std::uint64_t count_tags() const noexcept;

  // Copies the tags to an empty table of the same layout that no other thread uses. Inserts that
  // have to move a tag wait meanwhile; others may be in the copy or not, and so may erases.
  void copy_to(CuckooTable& other) const noexcept;

 private:
  static std::uint64_t group_of(std::uint64_t bucket) noexcept { return bucket / kBucketsPerGroup; }
  GroupLocks::Guard lock(std::uint64_t bucket1, std::uint64_t bucket2) const noexcept {
    return {locks_, group_of(bucket1), group_of(bucket2)};
  }
  // The caller holds the bucket's lock. Changes the bits of a slot by exclusive or.
  void change(std::uint64_t bucket, unsigned slot, std::uint32_t difference) noexcept;
  bool make_room(const TagPlaces& key) noexcept;
  bool move(std::uint64_t from, unsigned slot, std::uint64_t to) noexcept;

  CuckooLayout layout_;
  TagLanes lanes_;
  unsigned bucket_bits_;
  WordArray words_;
  mutable GroupLocks locks_;
  mutable OperationGate moves_;  // walks along a path are inside
};

}  // namespace trawl
