#include "crawler/tally/crawl_history.h"

#include <algorithm>
#include <utility>

namespace trawl {

namespace {

void halve(std::vector<HistorySample>& samples) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); i += 2)
    samples[kept++] = samples[i];
  samples.resize(kept);
}

}  // namespace

CrawlHistory::CrawlHistory(std::vector<HistorySample> samples, std::chrono::milliseconds interval)
    : samples_(std::move(samples)), interval_(std::max(interval, kFirstInterval)) {
  while (samples_.size() > kMaxSamples)
    halve(samples_);
}

bool CrawlHistory::is_due(SystemTime now) const {
  const MutexLock lock(mutex_);
  // Also if the clock went back.
  return samples_.empty() || now >= samples_.back().time + interval_ ||
         now < samples_.back().time - interval_;
}

void CrawlHistory::add(const HistorySample& sample) {
  const MutexLock lock(mutex_);
  if (samples_.size() >= kMaxSamples) {
    halve(samples_);
    interval_ *= 2;
  }
  samples_.push_back(sample);
}

std::vector<HistorySample> CrawlHistory::samples() const {
  const MutexLock lock(mutex_);
  return samples_;
}

std::chrono::milliseconds CrawlHistory::interval() const {
  const MutexLock lock(mutex_);
  return interval_;
}

}  // namespace trawl
