// CuckooTable: the buckets of a cuckoo filter, for any number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <utility>

#include "base/operation_gate.h"
#include "filter/bits/word_array.h"
#include "filter/cuckoo/bucket_bits.h"
#include "filter/cuckoo/cuckoo_layout.h"
#include "filter/cuckoo/group_locks.h"
#include "filter/cuckoo/path_search.h"

namespace trawl {

// An insert or erase holds the locks of both buckets of its key while it reads and changes them.
// Two keys are indistinguishable only if they have the same tag and the same two buckets: then
// their calls run one after the other, and the order of other calls makes no difference. So the
// answers are those of the calls in the order in which they held their locks.
//
// A tag is also moved under the locks of both its buckets, so it is in one of them whenever the
// locks are free. A lookup reads both buckets and accepts the result only if no change was made
// under either lock meanwhile, so it never misses a tag that is being moved.
//
// An insert that finds both buckets full searches for a path to a free slot without locks, and
// moves the tags along it starting from its end: all tags are stored at every moment, and the free
// slot comes nearer with each step. If a step is no longer possible, the insert starts again.
class CuckooTable {
 public:
  CuckooTable(const CuckooLayout& layout, WordArray words)
      : layout_(layout),
        lanes_(layout.tag_bits),
        bucket_bits_(kSlotsPerBucket * layout.tag_bits),
        words_(std::move(words)) {
    assert(words_.size() == layout.words());
  }

  const CuckooLayout& layout() const noexcept { return layout_; }
  const WordArray& words() const noexcept { return words_; }

  enum class Insert { kAdded, kPresent, kFull };
  Insert insert(const TagPlaces& key) noexcept { return insert_into(key, false); }
  // Never returns kPresent.
  Insert insert_copy(const TagPlaces& key) noexcept { return insert_into(key, true); }
  bool erase(const TagPlaces& key) noexcept;
  bool contains(const TagPlaces& key) const noexcept;
  // The slots of both buckets that hold the tag.
  unsigned count(const TagPlaces& key) const noexcept;

  // The addresses of a bucket's first and last word, which may be in two cache lines, for
  // prefetching. (The caller prefetches: GCC drops calls of functions that do nothing else.)
  const void* first_word(std::uint64_t bucket) const noexcept {
    return words_.data() + bucket * bucket_bits_ / 64;
  }
  const void* last_word(std::uint64_t bucket) const noexcept {
    return words_.data() + (bucket * bucket_bits_ + bucket_bits_ - 1) / 64;
  }

  // Reads a bucket. The result is consistent only if the caller holds its lock or verifies its
  // version.
  BucketBits read(std::uint64_t bucket) const noexcept {
    assert(bucket < layout_.buckets());
    const std::uint64_t bit = bucket * bucket_bits_;
    const std::atomic<std::uint64_t>* const word = words_.data() + bit / 64;
    const auto shift = static_cast<unsigned>(bit % 64);
    // A bucket is in up to three words. If in fewer, the last is read again; its bits end up above
    // the bucket's and are ignored.
    const unsigned last = (shift + bucket_bits_ - 1) / 64;
    // acquire: pairs with the release in change(), as GroupLocks requires.
    const Uint128 low = word[0].load(std::memory_order_acquire);
    const Uint128 middle = word[std::min(last, 1U)].load(std::memory_order_acquire);
    const Uint128 high = word[last].load(std::memory_order_acquire);
    return {lanes_, (low | middle << 64) >> shift | (high << 1) << (127 - shift)};
  }

  // The number of slots taken. No other thread may write meanwhile.
  std::uint64_t count_tags() const noexcept;

  // Copies the tags to an empty table of the same layout that no other thread uses. Inserts that
  // have to move a tag wait meanwhile; other inserts, and erases, may or may not be in the copy.
  void copy_to(CuckooTable& other) const noexcept;

 private:
  Insert insert_into(const TagPlaces& key, bool again) noexcept;
  // Calls `look`, which reads both buckets of the key, until no change was made meanwhile.
  template <class Look>
  auto consistently(const TagPlaces& key, const Look& look) const noexcept;
  static std::uint64_t group_of(std::uint64_t bucket) noexcept { return bucket / kBucketsPerGroup; }
  GroupLocks::Guard lock(std::uint64_t bucket1, std::uint64_t bucket2) const noexcept {
    return {locks_, group_of(bucket1), group_of(bucket2)};
  }
  // Changes the bits of a slot by exclusive or. The caller must hold the bucket's lock.
  void change(std::uint64_t bucket, unsigned slot, std::uint32_t difference) noexcept;
  bool make_room(const TagPlaces& key) noexcept;
  bool move(std::uint64_t from, unsigned slot, std::uint64_t to) noexcept;

  CuckooLayout layout_;
  TagLanes lanes_;
  unsigned bucket_bits_;
  WordArray words_;
  mutable GroupLocks locks_;
  mutable OperationGate moves_;  // path walks run inside
};

}  // namespace trawl
