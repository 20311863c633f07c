// TrapDetector: finds endless URL patterns without new content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "trawl/fingerprint.h"
#include "trawl/url.h"

#include "base/one_thread.h"
#include "crawler/config/crawl_config.h"

namespace trawl {

enum class PatternState : std::uint8_t {
  kOk,
  kSlow,    // its URLs wait behind all others of the host: see Priorities::kSlow
  kParked,  // its URLs are not fetched
};

// Counts pages of each pattern (see url_pattern_of()) without new content: a page with a body seen
// before adds one, a page with a new body halves the count, so that a pattern with one new page in
// a thousand is still found. At scope.slow_pattern_after a pattern becomes slow, until the count
// falls below; at scope.park_pattern_after it is parked for good. For one thread, which knows the
// patterns of the hosts it fetches. To bound memory, only the 100,000 most recent patterns that
// have a count are kept; a parked one is forgotten after a million others. ParkedPatterns stores
// parked patterns for later runs.
class TrapDetector {
 public:
  static constexpr std::size_t kMaxPatterns = 100'000;
  static constexpr std::size_t kMaxParked = 1'000'000;

  explicit TrapDetector(const CrawlConfig::Scope& config, std::size_t max_patterns = kMaxPatterns,
                        std::size_t max_parked = kMaxParked);

  // Very cheap while no pattern is slow or parked.
  PatternState state(const Url& url) const;
  // Call for each fetched page. `new_content`: its body was not seen before. Returns the new state
  // of its pattern.
  PatternState on_page(const Url& url, bool new_content);

  // Parks a pattern that an earlier run parked. Call before the thread starts.
  void park_again(std::string_view pattern);

  // How often a pattern became slow, and how many were parked.
  std::uint64_t slowed() const { return slowed_; }
  std::uint64_t parked() const { return parked_; }
  std::size_t patterns() const { return entries_.size() + parked_order_.size(); }

 private:
  struct Entry {
    std::uint64_t pattern;
    std::uint32_t stale;
  };
  using Order = std::list<Entry>;  // most recent first; patterns with a count
  using Entries = std::unordered_map<std::uint64_t, Order::iterator>;

  std::uint64_t key_of(const Url& url) const;
  bool is_slow(const Entry& entry) const { return slow_after_ != 0 && entry.stale >= slow_after_; }
  PatternState on_new(std::uint64_t pattern);
  PatternState on_stale(std::uint64_t pattern);
  Entry& met(std::uint64_t pattern);
  void forget(Entries::iterator entry);
  void park(std::uint64_t pattern);
  void keep_parked(std::uint64_t pattern);

  const std::uint32_t slow_after_;  // 0 disables
  const std::uint32_t park_after_;  // 0 disables
  const std::size_t max_patterns_;
  const std::size_t max_parked_;
  const KeyedHash hash_;  // keyed: URLs cannot be crafted to collide with other patterns
  mutable std::string text_;
  Order order_;
  Entries entries_;
  std::size_t slow_now_ = 0;
  std::list<std::uint64_t> parked_order_;  // most recently parked first
  std::unordered_set<std::uint64_t> parked_patterns_;
  std::uint64_t slowed_ = 0;
  std::uint64_t parked_ = 0;
  OneThread thread_;
};

}  // namespace trawl
