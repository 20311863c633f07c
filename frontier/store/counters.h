// Counters: the totals of a frontier over all its runs.
#pragma once

#include <cstdint>

#include "trawl/frontier_stats.h"

namespace trawl {

// Totals since the frontier was created, stored with every write.
struct Counters : FrontierCounters {
  std::uint64_t sequence = 0;  // the next QueueOrder::sequence
  std::uint64_t lowered = 0;   // depths ever put into kDepths
  std::uint64_t clock = 0;     // FrontierClock::now() at the last commit

  // Distinct admitted URLs.
  std::uint64_t urls() const noexcept { return admitted - readmitted; }
  std::uint64_t set_aside() const noexcept { return held + set_aside_failed; }
  // True also if nothing differs.
  bool differ_by_offers_alone(Counters others) const noexcept {
    others.seen = seen;
    others.invalid = invalid;
    return others == *this;
  }
  friend bool operator==(const Counters&, const Counters&) = default;
};

}  // namespace trawl
