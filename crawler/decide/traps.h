// TrapDetector: finds patterns of URLs that go on forever and bring nothing new.
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
#include "crawler/config/config.h"

namespace trawl {

enum class PatternState : std::uint8_t {
  kOk,
  kSlow,    // its URLs wait behind all others of the host: see Priorities::kSlow
  kParked,  // its URLs are left alone
};

// Counts the pages of each pattern (see url_pattern_of()) that brought nothing new: a page with a
// body seen before adds one, a page with a new one halves the count, so that a pattern of which one
// page in a thousand is new is found all the same. At scope.slow_pattern_after the pattern is slow
// until the count is below it again; at scope.park_pattern_after it is parked for good.
//
// Of one thread, which knows the patterns of the hosts it fetches and, for a limit on memory, the
// 100,000 last met of them; a parked one is forgotten after a million others. ParkedPatterns keeps
// those that are parked for the next run.
class TrapDetector {
 public:
  static constexpr std::size_t kMaxPatterns = 100'000;
  static constexpr std::size_t kMaxParked = 1'000'000;

  explicit TrapDetector(const CrawlConfig::Scope& config, std::size_t max_patterns = kMaxPatterns,
                        std::size_t max_parked = kMaxParked);

  // Costs next to nothing as long as no pattern is slow or parked.
  PatternState state(const Url& url) const;
  // A page was fetched; `new_content`: its body is none of those seen before. Returns the state
  // that its pattern has then.
  PatternState on_page(const Url& url, bool new_content);

  // Parks a pattern that an earlier run did: url_pattern_of(). Before its thread begins.
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
  using Order = std::list<Entry>;  // the last met first

  std::uint64_t key_of(const Url& url) const;
  bool is_slow(const Entry& entry) const { return slow_after_ != 0 && entry.stale >= slow_after_; }
  Entry& met(std::uint64_t pattern);
  void park(std::uint64_t pattern);
  void keep_parked(std::uint64_t pattern);

  const std::uint32_t slow_after_;  // 0: never
  const std::uint32_t park_after_;  // 0: never
  const std::size_t max_patterns_;
  const std::size_t max_parked_;
  const KeyedHash hash_;  // nobody may choose URLs whose patterns are taken for others
  mutable std::string text_;
  Order order_;
  std::unordered_map<std::uint64_t, Order::iterator> entries_;
  std::size_t slow_now_ = 0;
  std::list<std::uint64_t> parked_order_;  // the last parked first
  std::unordered_set<std::uint64_t> parked_patterns_;
  std::uint64_t slowed_ = 0;
  std::uint64_t parked_ = 0;
  OneThread thread_;
};

}  // namespace trawl
