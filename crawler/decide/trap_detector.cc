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
  // So it is as long as all pages are new: no pattern has a count.
  if (new_content && entries_.empty() && parked_patterns_.empty()) return PatternState::kOk;
  const std::uint64_t pattern = key_of(url);
  if (parked_patterns_.contains(pattern)) return PatternState::kParked;
  return new_content ? on_new(pattern) : on_stale(pattern);
}

PatternState TrapDetector::on_new(std::uint64_t pattern) {
  const auto found = entries_.find(pattern);
  if (found == entries_.end()) return PatternState::kOk;
  Entry& entry = *found->second;
  const bool was_slow = is_slow(entry);
  entry.stale /= 2;
  const bool slow = is_slow(entry);
  assert(!was_slow || slow_now_ > 0);
  slow_now_ -= was_slow && !slow ? 1 : 0;
  if (entry.stale == 0) {
    forget(found);
  } else {
    order_.splice(order_.begin(), order_, found->second);
  }
  return slow ? PatternState::kSlow : PatternState::kOk;
}

PatternState TrapDetector::on_stale(std::uint64_t pattern) {
  Entry& entry = met(pattern);
  const bool was_slow = is_slow(entry);
  // Counts are capped at the limit that parks, or that slows if parking is disabled.
  entry.stale = std::min(entry.stale + 1, std::max(slow_after_, park_after_));
  if (park_after_ != 0 && entry.stale >= park_after_) {
    slow_now_ -= was_slow ? 1 : 0;
    park(pattern);
    return PatternState::kParked;
  }
  if (!is_slow(entry)) return PatternState::kOk;
  if (!was_slow) {
    ++slowed_;
    ++slow_now_;
  }
  return PatternState::kSlow;
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
    forget(entries_.find(order_.back().pattern));
  }
  return order_.front();
}

void TrapDetector::forget(Entries::iterator entry) {
  order_.erase(entry->second);
  entries_.erase(entry);
}

void TrapDetector::park(std::uint64_t pattern) {
  const auto entry = entries_.find(pattern);
  assert(entry != entries_.end());
  forget(entry);
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
