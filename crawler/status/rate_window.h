// RateWindow: pages and bytes per second over about the last ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

#include "trawl/clocks.h"

#include "base/mutex.h"

namespace trawl {

// Of this process alone: what earlier runs fetched is in the first sample. Thread-safe.
class RateWindow {
 public:
  struct Rates {
    double pages = 0;
    double bytes = 0;
  };
  // Whether the next sample is due; then call add() with the totals. Ask often, so that the window
  // has samples of its whole time, whether or not anybody asks for rates.
  bool is_due(SteadyTime now) const;
  void add(SteadyTime now, std::uint64_t pages, std::uint64_t bytes);
  // The rates up to now, with the totals of now; 0 before the first sample.
  Rates rates(SteadyTime now, std::uint64_t pages, std::uint64_t bytes) const;

 private:
  struct Sample {
    SteadyTime time;
    std::uint64_t pages;
    std::uint64_t bytes;
  };
  mutable Mutex mutex_;
  std::deque<Sample> samples_ TRAWL_GUARDED_BY(mutex_);  // the newest last
};

}  // namespace trawl
