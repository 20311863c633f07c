// CuckooLayout: the size of a cuckoo filter, the places of its tags, and its false-positive rate.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>

#include "trawl/fingerprint.h"
#include "trawl/result.h"

#include "base/mix.h"
#include "filter/snapshot/snapshot_format.h"

namespace trawl {

inline constexpr unsigned kSlotsPerBucket = 4;
inline constexpr unsigned kBucketsPerGroup = 16;
inline constexpr std::uint32_t kBucketsOfKey = 2;
// With narrower tags a bucket has too few partner buckets, and a large table cannot reach its load.
inline constexpr unsigned kMinTagBits = 8;
inline constexpr unsigned kMaxTagBits = 32;
inline constexpr double kCuckooLoad = 0.95;  // share of the slots taken by `capacity` keys

// The places of a key: its tag, in one of two buckets, which may be equal.
struct TagPlaces {
  std::uint64_t bucket[kBucketsOfKey];
  std::uint32_t tag;
};

// The format of a table with tags of f bits (files depend on it):
//
// Slot s of bucket b is the f bits from bit f (4 b + s) on of the words, counted from the lowest
// bit of the first word; 0 is a free slot. Sixteen buckets form a group of f words, so that groups
// share no word and no bit is wasted.
//
// With n buckets a key has the tag 1 + floor(low (2^f - 1) / 2^64), which is never 0, and the
// buckets floor(high n / 2^64) and alternate() of that. alternate() is its own inverse for any n,
// so n need not be a power of two.
struct CuckooLayout {
  std::uint64_t groups = 0;
  unsigned tag_bits = 0;  // f

  std::uint64_t words() const noexcept { return groups * tag_bits; }
  std::uint64_t buckets() const noexcept { return groups * kBucketsPerGroup; }
  std::uint64_t slots() const noexcept { return buckets() * kSlotsPerBucket; }
  std::uint64_t tags() const noexcept { return (std::uint64_t{1} << tag_bits) - 1; }

  // The other bucket of a tag: (floor(mix64(tag) n / 2^64) - bucket) mod n.
  std::uint64_t alternate(std::uint64_t bucket, std::uint32_t tag) const noexcept {
    assert(bucket < buckets());
    const std::uint64_t sum = scale_to(mix64(tag), buckets());
    return sum >= bucket ? sum - bucket : sum + buckets() - bucket;
  }
  TagPlaces places(Fingerprint key) const noexcept {
    const auto tag = static_cast<std::uint32_t>(1 + scale_to(key.low, tags()));
    const std::uint64_t bucket = scale_to(key.high, buckets());
    return {.bucket = {bucket, alternate(bucket, tag)}, .tag = tag};
  }

  // The rate with `keys` keys inserted. Two keys are indistinguishable iff they have the same tag
  // and pair of buckets; there are n / 2 such pairs for each tag. The table is a set and holds each
  // of these classes at most once, so a new key's class is present with probability keys / (n / 2
  // (2^f - 1)); with a share x of the slots taken that is 8 x / (2^f - 1). (Fan et al. 2014,
  // section 4, give 1 - (1 - 2^-f)^(8 x), for tags that may occur twice.)
  double rate_with(double keys) const noexcept;
  // The expected number of new keys called seen by the time `keys` are admitted: the sum over i <
  // keys of r / (1 - r), with r the rate at i keys.
  double losses_with(double keys) const noexcept;
};

// Chooses the shortest tags whose rate at `capacity` keys, which fill 95 % of the slots, is at most
// `rate`. Errors: kInvalidArgument for a capacity of 0, a rate outside (0, 1) or one that needs
// tags of more than 32 bits, or a size beyond 2^57 words.
Result<CuckooLayout> choose_cuckoo_layout(std::uint64_t capacity, double rate);

// The layout of the table in a file; nothing if the parameters are not possible.
std::optional<CuckooLayout> cuckoo_layout_of(const SnapshotSection& section) noexcept;

}  // namespace trawl
