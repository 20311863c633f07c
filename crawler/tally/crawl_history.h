// CrawlHistory: how a crawl went, as samples over time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trawl/clocks.h"

#include "base/mutex.h"

namespace trawl {

// The counters of a crawl at a moment; those of fetches are totals over all runs.
struct HistorySample {
  SystemTime time{};
  std::uint64_t pages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t queued = 0;
  std::uint64_t seen = 0;
  std::uint64_t failed = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t memory = 0;  // bytes of the process
  friend bool operator==(const HistorySample&, const HistorySample&) = default;
};

// At most kMaxSamples: when it is full, every second sample is removed and the interval doubled. So
// it covers all of a crawl, with a resolution of at least 1/300 of its time. Thread-safe.
class CrawlHistory {
 public:
  static constexpr std::size_t kMaxSamples = 600;
  static constexpr std::chrono::milliseconds kFirstInterval{1000};

  CrawlHistory() = default;
  CrawlHistory(std::vector<HistorySample> samples, std::chrono::milliseconds interval);

  // Whether the next sample is due: an interval has passed since the last one.
  bool is_due(SystemTime now) const;
  void add(const HistorySample& sample);

  std::vector<HistorySample> samples() const;  // the oldest first
  std::chrono::milliseconds interval() const;

 private:
  mutable Mutex mutex_;
  std::vector<HistorySample> samples_ TRAWL_GUARDED_BY(mutex_);
  std::chrono::milliseconds interval_ TRAWL_GUARDED_BY(mutex_) = kFirstInterval;
};

}  // namespace trawl
