#include "frontier/shared/noted_depths.h"

namespace trawl {

bool NotedDepths::lower(Fingerprint fingerprint, std::uint32_t depth) {
  const MutexLock lock(mutex_);
  const auto noted = depths_.find(fingerprint);
  if (noted == depths_.end() && depths_.size() == kMost) return false;
  if (noted != depths_.end() && noted->second <= depth) return false;
  depths_[fingerprint] = depth;
  return true;
}

bool NotedDepths::forget(Fingerprint fingerprint) {
  const MutexLock lock(mutex_);
  return depths_.erase(fingerprint) > 0;
}

std::optional<std::uint32_t> NotedDepths::find(Fingerprint fingerprint) const {
  const MutexLock lock(mutex_);
  const auto found = depths_.find(fingerprint);
  return found == depths_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::pair<Fingerprint, std::uint32_t>> NotedDepths::next(
    const std::optional<Fingerprint>& after) const {
  const MutexLock lock(mutex_);
  const auto next = after ? depths_.upper_bound(*after) : depths_.begin();
  if (next == depths_.end()) return std::nullopt;
  return std::pair(next->first, next->second);
}

std::uint64_t NotedDepths::memory() const {
  constexpr std::uint64_t kNote = 48 + sizeof(Fingerprint);  // with the map's node
  const MutexLock lock(mutex_);
  return depths_.size() * kNote;
}

}  // namespace trawl
