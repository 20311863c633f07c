#include "crawler/decide/trap_detector.h"

#include <algorithm>
#include <cassert>

#include "crawler/decide/url_shape.h"

namespace trawl {

TrapDetector::TrapDetector(const CrawlConfig::Scope& config, std::size_t max_patterns,
                           std::size_t max_parked)
    : slow_after_(config.slow_pattern_after),
      park_after_(config.park_pattern_after),
      max_patterns_(std::max<std::size_t>(max_patterns, 1)),
      max_parked_(std::max<std::size_t>(max_parked, 1)),
      hash_(KeyedHash::random()) {}

std::uint64_t TrapDetector::key_of(const Url& url) const {
  url_pattern_into(url, text_);
  return hash_(text_).low;
}

PatternState TrapDetector::state(const Url& url) const {
  thread_.check();
  if (slow_now_ == 0 && parked_patterns_.empty()) return PatternState::kOk;
  const std::uint64_t pattern = key_of(url);
  if (parked_patterns_.contains(pattern)) return PatternState::kParked;
  const auto found = entries_.find(pattern);
  return found != entries_.end() && is_slow(*found->second) ? PatternState::kSlow
                                                            : PatternState::kOk;
}

PatternState TrapDetector::on_page(const Url& url, bool new_content) {
  thread_.check();
  if (slow_after_ == 0 && park_after_ == 0) return PatternState::kOk;
  const std::uint64_t pattern = key_of(url);
  if (parked_patterns_.contains(pattern)) return PatternState::kParked;
  Entry& entry = met(pattern);
  const bool was_slow = is_slow(entry);
  // Counts are capped at the limit that parks, or that slows if parking is disabled.
  const std::uint32_t most = std::max(slow_after_, park_after_);
  entry.stale = new_content ? entry.stale / 2 : std::min(entry.stale + 1, most);
  if (park_after_ != 0 && entry.stale >= park_after_) {
    slow_now_ -= was_slow ? 1 : 0;
    park(pattern);
    return PatternState::kParked;
  }
  assert(!was_slow || slow_now_ > 0);
  const bool slow = is_slow(entry);
  if (slow && !was_slow) {
    ++slowed_;
    ++slow_now_;
  } else if (was_slow && !slow) {
    --slow_now_;
  }
  return slow ? PatternState::kSlow : PatternState::kOk;
}

TrapDetector::Entry& TrapDetector::met(std::uint64_t pattern) {
  const auto [found, is_new] = entries_.try_emplace(pattern);
  if (!is_new) {
    order_.splice(order_.begin(), order_, found->second);
    return order_.front();
  }
  order_.push_front({.pattern = pattern, .stale = 0});
  found->second = order_.begin();
  assert(order_.size() == entries_.size());
  if (entries_.size() > max_patterns_) {
    slow_now_ -= is_slow(order_.back()) ? 1 : 0;
    entries_.erase(order_.back().pattern);
    order_.pop_back();
  }
  return order_.front();
}

void TrapDetector::park(std::uint64_t pattern) {
  const auto entry = entries_.find(pattern);
  assert(entry != entries_.end());
  order_.erase(entry->second);
  entries_.erase(entry);
  ++parked_;
  keep_parked(pattern);
}

void TrapDetector::park_again(std::string_view pattern) {
  keep_parked(hash_(pattern).low);
}

void TrapDetector::keep_parked(std::uint64_t pattern) {
  if (!parked_patterns_.insert(pattern).second) return;
  parked_order_.push_front(pattern);
  if (parked_order_.size() > max_parked_) {
    parked_patterns_.erase(parked_order_.back());
    parked_order_.pop_back();
    assert(parked_order_.size() == parked_patterns_.size());
  }
}

}  // namespace trawl
