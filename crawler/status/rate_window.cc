#include "crawler/status/rate_window.h"

#include <algorithm>
#include <vector>

namespace trawl {

namespace {

constexpr std::chrono::seconds kRateWindow(10);
// Questions that come closer together use the same sample.
constexpr std::chrono::milliseconds kSampleGap(500);

double per_second(std::uint64_t now, std::uint64_t before, std::chrono::duration<double> time) {
  return static_cast<double>(now - std::min(now, before)) / std::max(time.count(), 0.001);
}

}  // namespace

RateWindow::Rates RateWindow::rates(std::uint64_t pages, std::uint64_t bytes,
                                    const CrawlHistory& history) {
  const auto now = std::chrono::system_clock::now();
  const MutexLock lock(mutex_);
  while (samples_.size() > 1 && now - samples_[1].time >= kRateWindow)
    samples_.pop_front();
  std::optional<Sample> from;
  if (!samples_.empty()) from = samples_.front();
  if (!from || now - from->time < kRateWindow) {
    // The newest that is old enough; else the oldest there is.
    const std::vector<HistorySample> past = history.samples();
    for (auto it = past.rbegin(); it != past.rend(); ++it) {
      if (!from || it->time < from->time) from = Sample{it->time, it->pages, it->bytes};
      if (now - it->time >= kRateWindow) break;
    }
  }
  if (samples_.empty() || now - samples_.back().time >= kSampleGap)
    samples_.push_back({now, pages, bytes});
  if (!from || from->time >= now) return {};
  return {per_second(pages, from->pages, now - from->time),
          per_second(bytes, from->bytes, now - from->time)};
}

}  // namespace trawl
