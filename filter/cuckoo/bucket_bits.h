// BucketBits: the four tags of a bucket in one number, compared in parallel.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

#include "base/mix.h"
#include "filter/cuckoo/cuckoo_layout.h"

namespace trawl {

// Constants of the tag's width: lanes of `bits` bits, four of them.
struct TagLanes {
  unsigned bits;
  Uint128 ones;  // the lowest bit of each lane
  Uint128 tops;  // the highest bit of each lane

  explicit constexpr TagLanes(unsigned tag_bits) : bits(tag_bits), ones(0), tops(0) {
    assert(tag_bits >= kMinTagBits && tag_bits <= kMaxTagBits);
    for (unsigned slot = 0; slot < kSlotsPerBucket; ++slot)
      ones |= Uint128{1} << (slot * bits);
    tops = ones << (bits - 1);
  }
};

class BucketBits {
 public:
  static constexpr unsigned kNoSlot = kSlotsPerBucket;

  // Bits above the four lanes are ignored.
  BucketBits(const TagLanes& lanes, Uint128 bits) : lanes_(lanes), bits_(bits) {}

  bool has(std::uint32_t tag) const noexcept { return matches(tag) != 0; }

  // The slots with the tag.
  unsigned count(std::uint32_t wanted) const noexcept {
    unsigned slots = 0;
    for (unsigned slot = 0; slot < kSlotsPerBucket; ++slot)
      slots += tag(slot) == wanted ? 1 : 0;
    return slots;
  }

  // The first slot with the tag, or kNoSlot; tag 0 finds a free slot.
  unsigned slot_of(std::uint32_t tag) const noexcept {
    const Uint128 found = matches(tag);
    if (found == 0) return kNoSlot;
    const auto low = static_cast<std::uint64_t>(found);
    const auto top = static_cast<unsigned>(
        low != 0 ? std::countr_zero(low)
                 : 64 + std::countr_zero(static_cast<std::uint64_t>(found >> 64)));
    return (top >= lanes_.bits ? 1 : 0) + (top >= 2 * lanes_.bits ? 1 : 0) +
           (top >= 3 * lanes_.bits ? 1 : 0);
  }

  std::uint32_t tag(unsigned slot) const noexcept {
    assert(slot < kSlotsPerBucket);
    const std::uint64_t mask = (std::uint64_t{1} << lanes_.bits) - 1;
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(bits_ >> (slot * lanes_.bits)) &
                                      mask);
  }

 private:
  // Sets the top bit of the lowest lane that holds the tag, and none in the lanes below it; 0 if no
  // lane holds it. Higher lanes are undefined. (Subtracting 1 from every lane borrows only from
  // lanes that are 0.)
  Uint128 matches(std::uint32_t tag) const noexcept {
    const Uint128 differing = bits_ ^ (lanes_.ones * tag);
    return (differing - lanes_.ones) & ~differing & lanes_.tops;
  }

  const TagLanes& lanes_;
  Uint128 bits_;
};

}  // namespace trawl
