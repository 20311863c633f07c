// All accesses are relaxed: see DepthTable.
#include "frontier/commit/waiting_depths.h"

#include <algorithm>

#include "frontier/store/url_identity.h"

namespace trawl {

namespace {

constexpr std::uint64_t kMarks = 1u << 17;
constexpr std::uint64_t kMarkDepth = 0xFF;  // stands for this depth and all greater ones
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
constexpr std::size_t mark_place(Fingerprint key) noexcept {
  return UrlIdentity::place_of(key, kMarks);
}

}  // namespace

// Whole pages, if there is memory for two. The small table, of at most 65,536 entries, is in the
// cache of a core, so that looking there first costs little.
WaitingDepths::Sizes WaitingDepths::sizes_for(std::uint64_t max_bytes) noexcept {
  constexpr std::uint64_t kPageBuckets = DepthTable::kPageBuckets;
  constexpr std::uint64_t kMostOfSmall = 64 * kPageBuckets;
  const auto whole_pages = [](std::uint64_t buckets) { return buckets - buckets % kPageBuckets; };
  const std::uint64_t fit = (max_bytes - std::min(max_bytes, kMarks * sizeof(std::uint64_t))) /
                            (DepthTable::kBucketBytes + 1);
  if (fit < 2 * kPageBuckets) return {.small = 1, .table = std::max<std::uint64_t>(1, fit)};
  const std::uint64_t small = whole_pages(std::clamp(fit / 4, kPageBuckets, kMostOfSmall));
  return {.small = small, .table = whole_pages(fit - small)};
}

WaitingDepths::WaitingDepths(std::uint64_t max_bytes) : WaitingDepths(sizes_for(max_bytes)) {}

WaitingDepths::WaitingDepths(Sizes sizes)
    : small_(sizes.small), table_(sizes.table), unknown_(sizes.table), marks_(kMarks) {}

template <class Visit>
void WaitingDepths::visit_entries(Fingerprint key, Visit visit) const noexcept {
  if (small_.visit_entries(key, visit) && uses_table()) table_.visit_entries(key, visit);
}

WaitingDepths::Depths WaitingDepths::find(Fingerprint key) const noexcept {
  Depths depths;
  visit_entries(key, [&](const DepthTable::Entry&, std::uint32_t depth) {
    depths.any = true;
    depths.least = std::min(depths.least, depth);
    depths.greatest = std::max(depths.greatest, depth);
    return true;
  });
  return depths;
}

void WaitingDepths::add(Fingerprint key, std::uint32_t depth) noexcept {
  if (depth == 0) return;
  raise(deepest_, depth);
  if (small_.add(key, depth)) return;
  // Before the entry, so that a thread that must see the entry looks into the table.
  if (touched_.load(std::memory_order_relaxed) < table_.buckets())
    touched_.fetch_add(1, std::memory_order_relaxed);
  if (table_.add(key, depth)) return;
  add_unknown(table_.bucket_of(key), depth);
  overflowed_.fetch_add(1, std::memory_order_relaxed);
}

void WaitingDepths::remove(Fingerprint key, std::uint32_t depth) noexcept {
  const OneAtATime::Use use(removing_);
  if (depth == 0) return;
  // Of several entries, prefer one with this depth.
  DepthTable::Entry* found = nullptr;
  const std::uint32_t wanted = std::min(depth, kMaxDepth);
  visit_entries(key, [&](DepthTable::Entry& entry, std::uint32_t its_depth) {
    found = &entry;
    return its_depth != wanted;
  });
  if (found != nullptr) DepthTable::free(*found);
}

void WaitingDepths::remove_double(Fingerprint key) noexcept {
  const OneAtATime::Use use(removing_);
  int n = 0;
  visit_entries(key, [&](const DepthTable::Entry&, std::uint32_t) { return ++n < 2; });
  if (n == 2) remove(key, kMaxDepth);
}

void WaitingDepths::lower(Fingerprint key, std::uint32_t depth) noexcept {
  const OneAtATime::Use use(removing_);
  if (depth >= kMaxDepth) return;
  visit_entries(key, [&](DepthTable::Entry& entry, std::uint32_t its_depth) {
    // Only the committer changes an entry that is in use.
    if (its_depth > depth) DepthTable::set_depth(entry, depth);
    return true;
  });
}

void WaitingDepths::assume_others(std::uint32_t depth) noexcept {
  if (depth == 0) return;
  raise(deepest_, depth);
  for (std::size_t i = 0; i < unknown_.size(); ++i)
    add_unknown(i, depth);
}

void WaitingDepths::add_unknown(std::size_t bucket, std::uint32_t depth) noexcept {
  const auto capped = static_cast<std::uint8_t>(std::min(depth, kMaxDepth));
  raise(deepest_unknown_, capped);
  raise(unknown_[bucket], capped);
}

std::uint32_t WaitingDepths::greatest_unknown(Fingerprint key) const noexcept {
  if (deepest_unknown_.load(std::memory_order_relaxed) == 0) return 0;
  return unknown_[table_.bucket_of(key)].load(std::memory_order_relaxed);
}

bool WaitingDepths::is_deeper(Fingerprint key, std::uint32_t depth,
                              bool noted_lately) const noexcept {
  const Depths depths = find(key);
  if (!depths.any && noted_lately) return false;
  const std::uint32_t greatest = depths.any ? depths.greatest : greatest_unknown(key);
  return greatest > depth || greatest == kMaxDepth;
}

bool WaitingDepths::may_be_noted(Fingerprint key, std::uint32_t depth) const noexcept {
  if (depth == 0 || !has_notes()) return false;
  const Depths depths = find(key);
  return !depths.any || depth >= kMaxDepth || depths.least < depth;
}

bool WaitingDepths::may_wait(Fingerprint key) const noexcept {
  return find(key).any || greatest_unknown(key) > 0;
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
  if (uses_table()) table_.prefetch(key);
}

// At most one page for each bucket; marks are left only if any depth is above 0.
std::uint64_t WaitingDepths::memory() const noexcept {
  if (!any_deeper(0)) return 0;
  const std::uint64_t table = table_.bytes() + unknown_.bytes();
  return marks_.bytes() + small_.bytes() +
         std::min(table, kPage * touched_.load(std::memory_order_relaxed));
}

}  // namespace trawl
