// DepthTable: entries of URLs and their depths, four bytes each.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trawl/fingerprint.h"

#include "base/zeroed_pages.h"

namespace trawl {

// A table of fixed size like a cuckoo filter's (Fan et al. 2014), but without moving entries: an
// entry goes into the emptier of two buckets of 16, each a cache line, or nowhere if both are full.
// Two choices keep the loads of buckets close together, so that both are full only when nearly all
// are. Both are on one page, so that a URL costs one page fault and one entry of the TLB; a page of
// 1,024 entries is full before all are only when nearly all are.
//
// An entry has 24 bits of the fingerprint. Two URLs with the same bits in the same buckets (a
// probability of 2 in a million) pass for one; fingerprints are keyed, so that nobody can
// fill chosen buckets.
//
// Thread-safe. All accesses are relaxed: an entry is a single word, and
// WaitingDepths::full_fence() orders what another thread must see.
class DepthTable {
 public:
  using Entry = std::atomic<std::uint32_t>;  // 0: free
  static constexpr std::size_t kBucketBytes = 64;
  static constexpr std::size_t kWays = kBucketBytes / sizeof(Entry);
  static constexpr std::size_t kPageBuckets = 4096 / kBucketBytes;
  static constexpr std::uint32_t kMaxDepth = 0xFF;  // stands for this depth and all greater ones

  explicit DepthTable(std::size_t buckets) : buckets_(buckets) {}

  std::size_t buckets() const noexcept { return buckets_.size(); }
  std::size_t bytes() const noexcept { return buckets_.bytes(); }
  // The first of the URL's two buckets.
  std::size_t bucket_of(Fingerprint key) const noexcept;

  // Returns false if there is no room.
  bool add(Fingerprint key, std::uint32_t depth) noexcept;
  // Calls `visit` with each entry of the URL and its depth, until it returns false; returns whether
  // it never did.
  template <class Visit>
  bool visit_entries(Fingerprint key, Visit visit) const noexcept {
    const Places places = places_of(key);
    const auto visit_bucket = [&](std::size_t bucket) {
      for (Entry& entry : buckets_[bucket].entries) {
        const std::uint32_t value = entry.load(std::memory_order_relaxed);
        if ((value & ~kMaxDepth) == places.tag && !visit(entry, value & kMaxDepth)) return false;
      }
      return true;
    };
    return visit_bucket(places.first) &&
           (places.second == places.first || visit_bucket(places.second));
  }
  // Of an entry in use, by the only thread that changes those.
  static void free(Entry& entry) noexcept { entry.store(0, std::memory_order_relaxed); }
  static void set_depth(Entry& entry, std::uint32_t depth) noexcept;

  void prefetch(Fingerprint key) const noexcept;

 private:
  struct alignas(kBucketBytes) Bucket {
    Entry entries[kWays];
  };
  struct Places {
    std::size_t first;
    std::size_t second;
    std::uint32_t tag;
  };
  Places places_of(Fingerprint key) const noexcept;
  bool add_to(std::size_t bucket, std::uint32_t entry) noexcept;

  const ZeroedPages<Bucket> buckets_;
};

}  // namespace trawl
