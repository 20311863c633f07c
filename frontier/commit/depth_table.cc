#include "frontier/commit/depth_table.h"

#include <algorithm>
#include <cassert>

#include "base/mix.h"
#include "base/take_pages.h"
#include "frontier/store/url_identity.h"

namespace trawl {

namespace {

constexpr unsigned kDepthBits = 8;
constexpr std::uint32_t kTagBits = 0xFFFFFF;

}  // namespace

std::size_t DepthTable::bucket_of(Fingerprint key) const noexcept {
  return UrlIdentity::place_of(key, buckets_.size());
}

// The upper half and a part of the lower one choose the buckets; the rest is the tag.
DepthTable::Places DepthTable::places_of(Fingerprint key) const noexcept {
  const auto tag = static_cast<std::uint32_t>(key.low >> kDepthBits & kTagBits);
  const std::size_t first = bucket_of(key);
  const std::size_t page = first - first % kPageBuckets;
  // Never 0, since an entry of 0 is free.
  return {.first = first,
          .second = page + static_cast<std::size_t>(
                               scale_to(key.low, std::min(kPageBuckets, buckets_.size() - page))),
          .tag = std::max<std::uint32_t>(tag, 1) << kDepthBits};
}

bool DepthTable::add(Fingerprint key, std::uint32_t depth) noexcept {
  const Places places = places_of(key);
  const std::uint32_t entry = places.tag | std::min(depth, kMaxDepth);
  take_page_of(buckets_[places.first].entries[0]);  // before it is read
  const auto free_in = [&](std::size_t bucket) {
    return std::ranges::count_if(buckets_[bucket].entries, [](const Entry& place) {
      return place.load(std::memory_order_relaxed) == 0;
    });
  };
  // The emptier bucket first.
  const bool swap = free_in(places.second) > free_in(places.first);
  return add_to(swap ? places.second : places.first, entry) ||
         add_to(swap ? places.first : places.second, entry);
}

bool DepthTable::add_to(std::size_t bucket, std::uint32_t entry) noexcept {
  assert(entry != 0);
  for (Entry& place : buckets_[bucket].entries) {
    std::uint32_t none = 0;
    if (place.load(std::memory_order_relaxed) == 0 &&
        place.compare_exchange_strong(none, entry, std::memory_order_relaxed))
      return true;
  }
  return false;
}

void DepthTable::set_depth(Entry& entry, std::uint32_t depth) noexcept {
  const std::uint32_t value = entry.load(std::memory_order_relaxed);
  entry.store((value & ~kMaxDepth) | std::min(depth, kMaxDepth), std::memory_order_relaxed);
}

void DepthTable::prefetch(Fingerprint key) const noexcept {
  const Places places = places_of(key);
  __builtin_prefetch(&buckets_[places.first]);
  __builtin_prefetch(&buckets_[places.second]);
}

}  // namespace trawl
