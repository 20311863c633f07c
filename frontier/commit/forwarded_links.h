// ForwardedLinks: which links for other owners were sent lately.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "trawl/fingerprint.h"

#include "base/mix.h"

namespace trawl {

// Most links are on many pages, and each message costs Redis and the owner something. A link that
// was sent before, from no smaller depth, need not be sent again: the owner has it. Asked and
// changed inside the gate, so that N4 holds as for the filter: the earlier message is in the same
// group, or in one before. A table that forgets: each link has one place, which the next one takes.
//
// Thread-safe. Relaxed throughout: a race sends a link twice, or forgets one.
class ForwardedLinks {
 public:
  static constexpr std::size_t kLinks = std::size_t{1} << 21;

  ForwardedLinks() : links_(std::make_unique<std::atomic<std::uint64_t>[]>(kLinks)) {}

  // Whether it must be sent; then it counts as sent.
  bool note(Fingerprint link, std::uint32_t depth) noexcept {
    const std::uint64_t name = mix64(link.high ^ link.low) | kTaken;
    auto& place = links_[link.low % kLinks];
    const std::uint64_t capped = std::min<std::uint64_t>(depth, kDepths - 1);
    const std::uint64_t before = place.load(std::memory_order_relaxed);
    if ((before & ~(kDepths - 1)) == (name & ~(kDepths - 1)) && (before & (kDepths - 1)) <= capped)
      return false;
    place.store((name & ~(kDepths - 1)) | capped, std::memory_order_relaxed);
    return true;
  }
  static constexpr std::size_t memory() noexcept { return kLinks * sizeof(std::uint64_t); }

 private:
  static constexpr std::uint64_t kDepths = 1 << 12;    // a place has 12 bits for the depth
  static constexpr std::uint64_t kTaken = 1ull << 63;  // no link's place looks empty

  const std::unique_ptr<std::atomic<std::uint64_t>[]> links_;
};

}  // namespace trawl
