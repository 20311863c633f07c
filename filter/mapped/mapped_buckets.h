// MappedBuckets: a cuckoo filter in its mapped file.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trawl/filter.h"

#include "filter/cuckoo/bucket_bits.h"
#include "filter/cuckoo/cuckoo_layout.h"
#include "filter/mapped/mapped_snapshot.h"

namespace trawl {

class MappedBuckets {
 public:
  // Errors: kCorrupt if the parameters are not possible for a cuckoo filter.
  static Result<MappedBuckets> of_section(const MappedSnapshot& snapshot, std::size_t number) {
    const SnapshotSection& parameters = snapshot.header().sections[number];
    const auto layout = cuckoo_layout_of(parameters);
    if (!layout) return damaged_snapshot(snapshot.path(), "its parameters are impossible");
    return MappedBuckets(snapshot.section(number), parameters, *layout);
  }

  // Sets found[i] to true if keys[i] is present, and leaves it unchanged otherwise.
  void find(std::span<const Fingerprint> keys, std::span<bool> found) const noexcept {
    assert(keys.size() == found.size());
    constexpr std::size_t kAhead = 16;
    std::array<TagPlaces, kAhead> coming;
    const auto fetch = [&](std::size_t i) {
      coming[i % kAhead] = layout_.places(keys[i]);
      for (const std::uint64_t bucket : coming[i % kAhead].bucket) {
        const Place at = place_of(bucket);
        __builtin_prefetch(section_.find(at.first));
        __builtin_prefetch(section_.find(at.last));
      }
    };
    for (std::size_t i = 0; i < std::min(kAhead, keys.size()); ++i)
      fetch(i);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const TagPlaces& key = coming[i % kAhead];
      if (read(key.bucket[0]).has(key.tag) || read(key.bucket[1]).has(key.tag)) found[i] = true;
      if (i + kAhead < keys.size()) fetch(i + kAhead);
    }
  }

  FilterStats stats() const {
    // A damaged file may claim more keys than slots.
    const std::uint64_t in = std::min(parameters_.inserted, layout_.slots());
    const auto keys = static_cast<double>(in);
    return {.capacity = parameters_.capacity,
            .target_rate = parameters_.target_rate,
            .inserted = in,
            .memory_bytes = parameters_.words * sizeof(std::uint64_t),
            .hashes = kBucketsOfKey,
            .fill = fill(),
            .current_rate = layout_.rate_with(keys),
            .expected_false_positives = layout_.losses_with(keys)};
  }

 private:
  MappedBuckets(MappedSection section, const SnapshotSection& parameters,
                const CuckooLayout& layout)
      : section_(section), parameters_(parameters), layout_(layout), lanes_(layout.tag_bits) {}

  // The first and last word of a bucket, and its first bit in the first word.
  struct Place {
    std::uint64_t first;
    std::uint64_t last;
    unsigned shift;
  };
  Place place_of(std::uint64_t bucket) const noexcept {
    assert(bucket < layout_.buckets());
    // Computed by groups: the number of the table's bits may not fit 64 bits.
    const std::uint64_t group = bucket / kBucketsPerGroup * layout_.tag_bits;
    const unsigned bits = kSlotsPerBucket * layout_.tag_bits;
    const auto bit = static_cast<unsigned>(bucket % kBucketsPerGroup) * bits;
    return {group + bit / 64, group + (bit + bits - 1) / 64, bit % 64};
  }

  BucketBits read(std::uint64_t bucket) const noexcept {
    // In up to three words, as in CuckooTable::read(). Each is looked up, since the next word may
    // be in another chunk, which is elsewhere in the file or left out.
    const Place at = place_of(bucket);
    const Uint128 low = section_.load(at.first);
    const Uint128 middle = section_.load(std::min(at.first + 1, at.last));
    const Uint128 high = section_.load(at.last);
    return {lanes_, (low | middle << 64) >> at.shift | (high << 1) << (127 - at.shift)};
  }

  // The share of the slots that are taken, from a sample of up to 2^12 groups.
  double fill() const noexcept {
    constexpr std::uint64_t kSampledGroups = 1 << 12;  // each may be a page to read
    constexpr unsigned kSlots = kBucketsPerGroup * kSlotsPerBucket;
    const std::uint64_t sampled = std::min(layout_.groups, kSampledGroups);
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < sampled; ++i) {
      const auto group =
          static_cast<std::uint64_t>(static_cast<Uint128>(i) * layout_.groups / sampled);
      for (unsigned slot = 0; slot < kSlots; ++slot) {
        const BucketBits bits = read(group * kBucketsPerGroup + slot / kSlotsPerBucket);
        taken += bits.tag(slot % kSlotsPerBucket) != 0 ? 1 : 0;
      }
    }
    return static_cast<double>(taken) / static_cast<double>(sampled * kSlots);
  }

  MappedSection section_;
  SnapshotSection parameters_;
  CuckooLayout layout_;
  TagLanes lanes_;
};

}  // namespace trawl
