#include "crawler/status/rate_window.h"

#include <algorithm>

namespace trawl {

namespace {

constexpr std::chrono::seconds kRateWindow(10);
constexpr std::chrono::milliseconds kSampleGap(500);
// Of a page in the first moment nobody should read hundreds a second.
constexpr double kShortestSeconds = 1;

double per_second(std::uint64_t now, std::uint64_t before, std::chrono::duration<double> time) {
  return static_cast<double>(now - std::min(now, before)) /
         std::max(time.count(), kShortestSeconds);
}

}  // namespace

bool RateWindow::is_due(SteadyTime now) const {
  const MutexLock lock(mutex_);
  return samples_.empty() || now - samples_.back().time >= kSampleGap;
}

void RateWindow::add(SteadyTime now, std::uint64_t pages, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  samples_.push_back({now, pages, bytes});
  // The first stays the newest that is old enough.
  while (samples_.size() > 1 && now - samples_[1].time >= kRateWindow)
    samples_.pop_front();
}

RateWindow::Rates RateWindow::rates(SteadyTime now, std::uint64_t pages,
                                    std::uint64_t bytes) const {
  const MutexLock lock(mutex_);
  if (samples_.empty()) return {};
  Sample from = samples_.front();
  for (const Sample& sample : samples_) {
    if (now - sample.time < kRateWindow) break;
    from = sample;
  }
  return {per_second(pages, from.pages, now - from.time),
          per_second(bytes, from.bytes, now - from.time)};
}

}  // namespace trawl
