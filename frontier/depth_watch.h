// DepthWatch: which "seen" answers may be of a URL that waits with a greater depth.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trawl/fingerprint.h"

#include "filter/mix.h"

namespace trawl {

// In a crawl in breadth-first order hardly any: a URL is offered again with the depth it has or a
// greater one. Nothing here is exact but in one direction: where a depth is to be repaired, it says
// so. Thread-safe; all relaxed, since what it says of a URL admitted at the same moment does not
// matter.
class DepthWatch {
 public:
  // `deepest`: the greatest depth of all URLs admitted so far.
  explicit DepthWatch(std::uint64_t deepest) {
    for (auto& depth : deepest_of_)
      depth.store(clamp(deepest), std::memory_order_relaxed);
    deepest_.store(clamp(deepest), std::memory_order_relaxed);
  }

  void admitted(std::string_view host, std::uint32_t depth) {
    if (depth == 0) return;
    raise(deepest_, depth);
    raise(deepest_of_[place_of(host)], depth);
  }

  // True if the depth of a URL that was offered again is to be noted. At most once for each
  // depth, as long as the URL is among those looked at lately.
  bool is_worth_noting(std::string_view host, Fingerprint key, std::uint32_t depth) {
    if (depth >= deepest_.load(std::memory_order_relaxed)) return false;
    if (depth >= deepest_of_[place_of(host)].load(std::memory_order_relaxed)) return false;
    auto& noted = noted_[scale_to(key.high, kNoted)];
    const std::uint64_t known = noted.load(std::memory_order_relaxed);
    const std::uint64_t mark = (key.low & ~kDepthMask) | std::min<std::uint64_t>(depth, kDepthMask);
    if ((known & ~kDepthMask) == (mark & ~kDepthMask) && (known & kDepthMask) <= depth &&
        (known & kDepthMask) != kDepthMask) {
      return false;
    }
    noted.store(mark, std::memory_order_relaxed);
    return true;
  }

 private:
  // Hosts share places: more is noted than needed, never less.
  static constexpr std::size_t kPlaces = 1 << 14;
  static constexpr std::size_t kNoted = 1 << 18;
  static constexpr std::uint64_t kDepthMask = 0xFF;  // which stands for this depth and greater ones

  static std::uint32_t clamp(std::uint64_t depth) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(depth, UINT32_MAX));
  }
  static std::size_t place_of(std::string_view host) {
    return std::hash<std::string_view>{}(host) % kPlaces;
  }
  static void raise(std::atomic<std::uint32_t>& depth, std::uint32_t to) {
    std::uint32_t now = depth.load(std::memory_order_relaxed);
    while (now < to && !depth.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
    }
  }

  std::atomic<std::uint32_t> deepest_{0};
  std::array<std::atomic<std::uint32_t>, kPlaces> deepest_of_;
  // Of fingerprints: all but the last byte of their lower half, then the depth noted.
  std::vector<std::atomic<std::uint64_t>> noted_ = std::vector<std::atomic<std::uint64_t>>(kNoted);
};

}  // namespace trawl
