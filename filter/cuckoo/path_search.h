// PathSearch: finds a chain of tags whose moves, each into its other bucket, free a slot.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/mix.h"
#include "filter/cuckoo/cuckoo_layout.h"

namespace trawl {

// A breadth-first search from a key's two buckets to those that their tags could move to, and so
// on: the shortest path is the least likely to have changed when it is walked. The search holds no
// lock, and may read stale or torn buckets, so each step must be verified.
class PathSearch {
 public:
  // A bucket that a tag of `parent`'s bucket could move to.
  struct Node {
    std::uint64_t bucket;
    std::uint16_t parent;
    std::uint16_t slot;  // the slot of the parent's bucket with the tag that would move here
  };
  static constexpr std::size_t kMaxNodes = 1024;
  static constexpr std::uint16_t kNone = 0xFFFF;  // the parent of the first two nodes

  // The node of the nearest bucket with a free slot, or kNone if none of the first kMaxNodes has
  // one. `Table` is a CuckooTable.
  template <class Table>
  std::uint16_t run(const Table& table, const TagPlaces& places) noexcept {
    for (const std::uint64_t bucket : places.bucket) {
      if (push(bucket, kNone, 0) && table.read(bucket).has(0)) return last();
    }
    for (std::uint16_t parent = 0; parent < count_ && count_ <= kMaxNodes - kSlotsPerBucket;
         ++parent) {
      const auto bits = table.read(nodes_[parent].bucket);
      std::array<std::uint64_t, kSlotsPerBucket> others;
      for (unsigned slot = 0; slot < kSlotsPerBucket; ++slot) {
        others[slot] = table.layout().alternate(nodes_[parent].bucket, bits.tag(slot));
        __builtin_prefetch(table.first_word(others[slot]));
        __builtin_prefetch(table.last_word(others[slot]));
      }
      for (std::uint16_t slot = 0; slot < kSlotsPerBucket; ++slot) {
        if (push(others[slot], parent, slot) && table.read(others[slot]).has(0)) return last();
      }
    }
    return kNone;
  }

  const Node& node(std::uint16_t i) const noexcept {
    assert(i < count_);
    return nodes_[i];
  }

 private:
  std::uint16_t last() const noexcept { return static_cast<std::uint16_t>(count_ - 1); }

  // Returns false if the bucket already has a node, so that no path visits it twice.
  bool push(std::uint64_t bucket, std::uint16_t parent, std::uint16_t slot) noexcept {
    std::size_t at = mix64(bucket) % seen_.size();
    for (; seen_[at] != 0; at = (at + 1) % seen_.size()) {
      if (nodes_[seen_[at] - 1].bucket == bucket) return false;
    }
    assert(count_ < kMaxNodes && (parent == kNone || parent < count_));
    nodes_[count_] = {bucket, parent, slot};
    seen_[at] = static_cast<std::uint16_t>(++count_);
    return true;
  }

  std::array<Node, kMaxNodes> nodes_;
  std::array<std::uint16_t, 2 * kMaxNodes> seen_{};  // a hash table of node numbers, from 1 on
  std::size_t count_ = 0;
};

}  // namespace trawl
