// A table like a cuckoo filter's (Fan et al. 2014), but without moving entries: an entry goes into
// the emptier of two buckets, and if both are full it is only counted in unknown_. Two choices keep
// the loads of buckets close together, so that both are full only when nearly all are. All accesses
// are relaxed: an entry is a single word, and WaitingDepths::full_fence() orders what another
// thread must see.
#include "frontier/commit/waiting_depths.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

#include <sys/mman.h>

#include "base/mix.h"
#include "frontier/store/url_identity.h"

namespace trawl {

namespace {

constexpr std::uint64_t kMarks = 1u << 17;
constexpr std::uint64_t kMarkDepth = 0xFF;  // stands for this depth and all greater ones
constexpr unsigned kDepthBits = 8;
constexpr std::uint64_t kPage = 4096;

template <class T>
void raise(std::atomic<T>& value, T to) noexcept {
  T now = value.load(std::memory_order_relaxed);
  while (now < to && !value.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
  }
}

constexpr std::uint64_t mark_of(Fingerprint key, std::uint32_t depth) noexcept {
  return (key.low & ~kMarkDepth) | std::min<std::uint64_t>(depth, kMarkDepth);
}
constexpr bool is_of(std::uint64_t mark, Fingerprint key) noexcept {
  return mark != 0 && ((mark ^ key.low) & ~kMarkDepth) == 0;
}
// Those bits of `high` first that differ within a bucket: see UrlIdentity.
constexpr std::size_t place_of(Fingerprint key, std::size_t n) noexcept {
  return static_cast<std::size_t>(scale_to(std::rotl(key.high, UrlIdentity::kBucketBits), n));
}
constexpr std::size_t mark_place(Fingerprint key) noexcept {
  return place_of(key, kMarks);
}

}  // namespace

template <class T>
WaitingDepths::Pages<T>::Pages(std::size_t n) : size_(n) {
  // MAP_NORESERVE: the table may be larger than the machine's memory; what is used, takes some.
  void* memory = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<T*>(memory);
}

template <class T>
void WaitingDepths::Pages<T>::unmap(void* data, std::size_t bytes) noexcept {
  ::munmap(data, bytes);
}

// Whole pages, if there is memory for one.
std::size_t WaitingDepths::buckets_for(std::uint64_t max_bytes) noexcept {
  const std::uint64_t fit =
      (max_bytes - std::min(max_bytes, kMarks * sizeof(std::uint64_t))) / (sizeof(Bucket) + 1);
  return fit < kPageBuckets ? std::max<std::uint64_t>(1, fit) : fit - fit % kPageBuckets;
}

WaitingDepths::WaitingDepths(std::uint64_t max_bytes)
    : buckets_(buckets_for(max_bytes)), unknown_(buckets_.size()), marks_(kMarks) {}

WaitingDepths::~WaitingDepths() = default;

// The upper half and a part of the lower one choose the buckets; the rest is the tag. Both buckets
// are on one page, so that a URL costs one page fault and one entry of the TLB. A page of 1,024
// entries is full before all are only when nearly all are.
WaitingDepths::Places WaitingDepths::places_of(Fingerprint key) const noexcept {
  const auto tag = static_cast<std::uint32_t>(key.low >> kDepthBits & 0xFFFFFF);
  const std::size_t first = place_of(key, buckets_.size());
  const std::size_t page = first - first % kPageBuckets;
  // Never 0, since an entry of 0 is free.
  return {.first = first,
          .second = page + static_cast<std::size_t>(
                               scale_to(key.low, std::min(kPageBuckets, buckets_.size() - page))),
          .tag = std::max<std::uint32_t>(tag, 1) << kDepthBits};
}

template <class Visit>
void WaitingDepths::visit_entries(const Places& places, Visit visit) const noexcept {
  const auto visit_bucket = [&](std::size_t bucket) {
    for (Entry& entry : buckets_[bucket].entries) {
      const std::uint32_t value = entry.load(std::memory_order_relaxed);
      if ((value & ~kMaxDepth) == places.tag && !visit(entry, value)) return false;
    }
    return true;
  };
  if (visit_bucket(places.first) && places.second != places.first) visit_bucket(places.second);
}

WaitingDepths::Depths WaitingDepths::find(const Places& places) const noexcept {
  Depths depths;
  visit_entries(places, [&](const Entry&, std::uint32_t value) {
    depths.any = true;
    depths.least = std::min(depths.least, value & kMaxDepth);
    depths.greatest = std::max(depths.greatest, value & kMaxDepth);
    return true;
  });
  return depths;
}

bool WaitingDepths::add_to(std::size_t bucket, std::uint32_t entry) noexcept {
  assert(entry != 0);
  for (Entry& place : buckets_[bucket].entries) {
    std::uint32_t free = 0;
    // Relaxed: see the head of this file.
    if (place.load(std::memory_order_relaxed) == 0 &&
        place.compare_exchange_strong(free, entry, std::memory_order_relaxed))
      return true;
  }
  return false;
}

void WaitingDepths::add(Fingerprint key, std::uint32_t depth) noexcept {
  if (depth == 0) return;
  raise(deepest_, depth);
  const Places places = places_of(key);
  const std::uint32_t entry = places.tag | std::min(depth, kMaxDepth);
  // Writes, but changes nothing: a page that is read first costs two page faults.
  std::uint32_t none = 0;
  buckets_[places.first].entries[0].compare_exchange_strong(none, 0, std::memory_order_relaxed);
  const auto free_in = [&](std::size_t bucket) {
    return std::ranges::count_if(buckets_[bucket].entries, [](const Entry& place) {
      return place.load(std::memory_order_relaxed) == 0;
    });
  };
  // The emptier bucket first.
  const bool swap = free_in(places.second) > free_in(places.first);
  if (add_to(swap ? places.second : places.first, entry) ||
      add_to(swap ? places.first : places.second, entry)) {
    if (touched_.load(std::memory_order_relaxed) < buckets_.size())
      touched_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  raise(unknown_[places.first], static_cast<std::uint8_t>(std::min(depth, kMaxDepth)));
  overflowed_.fetch_add(1, std::memory_order_relaxed);
}

void WaitingDepths::remove(Fingerprint key, std::uint32_t depth) noexcept {
  const OneAtATime::Use use(removing_);
  if (depth == 0) return;
  // Of several entries, prefer one with this depth.
  Entry* found = nullptr;
  const std::uint32_t wanted = std::min(depth, kMaxDepth);
  visit_entries(places_of(key), [&](Entry& entry, std::uint32_t value) {
    found = &entry;
    return (value & kMaxDepth) != wanted;
  });
  if (found != nullptr) found->store(0, std::memory_order_relaxed);
}

void WaitingDepths::remove_double(Fingerprint key) noexcept {
  const OneAtATime::Use use(removing_);
  int n = 0;
  visit_entries(places_of(key), [&](const Entry&, std::uint32_t) { return ++n < 2; });
  if (n == 2) remove(key, kMaxDepth);
}

void WaitingDepths::lower(Fingerprint key, std::uint32_t depth) noexcept {
  const OneAtATime::Use use(removing_);
  if (depth >= kMaxDepth) return;
  visit_entries(places_of(key), [&](Entry& entry, std::uint32_t value) {
    // Only the committer changes an entry that is in use.
    if ((value & kMaxDepth) > depth)
      entry.store((value & ~kMaxDepth) | depth, std::memory_order_relaxed);
    return true;
  });
}

void WaitingDepths::assume_others(std::uint32_t depth) noexcept {
  if (depth == 0) return;
  raise(deepest_, depth);
  for (std::size_t i = 0; i < unknown_.size(); ++i)
    raise(unknown_[i], static_cast<std::uint8_t>(std::min(depth, kMaxDepth)));
}

bool WaitingDepths::is_deeper(Fingerprint key, std::uint32_t depth,
                              bool noted_lately) const noexcept {
  const Places places = places_of(key);
  const Depths depths = find(places);
  if (!depths.any && noted_lately) return false;
  const std::uint32_t greatest =
      depths.any ? depths.greatest : unknown_[places.first].load(std::memory_order_relaxed);
  return greatest > depth || greatest == kMaxDepth;
}

bool WaitingDepths::may_be_noted(Fingerprint key, std::uint32_t depth) const noexcept {
  if (depth == 0 || !has_notes()) return false;
  const Depths depths = find(places_of(key));
  return !depths.any || depth >= kMaxDepth || depths.least < depth;
}

bool WaitingDepths::may_wait(Fingerprint key) const noexcept {
  const Places places = places_of(key);
  return find(places).any || unknown_[places.first].load(std::memory_order_relaxed) > 0;
}

bool WaitingDepths::mark(Fingerprint key, std::uint32_t depth) noexcept {
  auto& place = marks_[mark_place(key)];
  const std::uint64_t before = place.load(std::memory_order_relaxed);
  if (is_of(before, key) && (before & kMarkDepth) <= depth && (before & kMarkDepth) != kMarkDepth)
    return true;
  place.store(mark_of(key, depth), std::memory_order_relaxed);
  return false;
}

std::optional<std::uint32_t> WaitingDepths::marked(Fingerprint key) const noexcept {
  const std::uint64_t mark = marks_[mark_place(key)].load(std::memory_order_relaxed);
  if (!is_of(mark, key) || (mark & kMarkDepth) == kMarkDepth) return std::nullopt;
  return static_cast<std::uint32_t>(mark & kMarkDepth);
}

void WaitingDepths::unmark(Fingerprint key) noexcept {
  auto& place = marks_[mark_place(key)];
  if (is_of(place.load(std::memory_order_relaxed), key)) place.store(0, std::memory_order_relaxed);
}

void WaitingDepths::prefetch(Fingerprint key) const noexcept {
  const Places places = places_of(key);
  __builtin_prefetch(&buckets_[places.first]);
  __builtin_prefetch(&buckets_[places.second]);
}

// At most one page for each bucket; marks are left only if any depth is above 0.
std::uint64_t WaitingDepths::memory() const noexcept {
  if (!any_deeper(0)) return 0;
  return marks_.bytes() + std::min(buckets_.bytes() + unknown_.bytes(),
                                   kPage * touched_.load(std::memory_order_relaxed));
}

}  // namespace trawl
