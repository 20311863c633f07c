// RateWindow: pages and bytes per second over about the last ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/mutex.h"
#include "crawler/tally/crawl_history.h"

namespace trawl {

// Thread-safe. Its samples are what it was asked about, and the history's.
class RateWindow {
 public:
  struct Rates {
    double pages = 0;
    double bytes = 0;
  };
  // The rates up to now, with the totals of now.
  Rates rates(std::uint64_t pages, std::uint64_t bytes, const CrawlHistory& history);

 private:
  struct Sample {
    SystemTime time;
    std::uint64_t pages;
    std::uint64_t bytes;
  };
  Mutex mutex_;
  std::deque<Sample> samples_ TRAWL_GUARDED_BY(mutex_);  // the newest last
};

}  // namespace trawl
