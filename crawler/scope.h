// Scope: which links a crawl follows.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/url.h"

#include "crawler/config/config.h"

namespace trawl {

// Why a link was not offered to the frontier.
enum class SkipReason : std::uint8_t {
  kInvalidUrl,   // the reference is no URL
  kOtherScheme,  // mailto:, javascript:, ...
  kOutOfScope,
  kTooDeep,  // beyond scope.max_depth
  kTooLong,  // beyond scope.max_url_length
  kTooManyRedirects,
  kRobots,  // robots.txt forbids it; found when its turn came
  kReasons,
};
std::string_view to_string(SkipReason reason);

// How many links were skipped, by reason. Thread-safe.
class SkipCounts {
 public:
  void add(SkipReason reason, std::uint64_t n = 1) {
    counts_[static_cast<std::size_t>(reason)].fetch_add(n, std::memory_order_relaxed);
  }
  std::uint64_t operator[](SkipReason reason) const {
    return counts_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(SkipReason::kReasons)> counts_{};
};

// Immutable, thread-safe.
class Scope {
 public:
  Scope(const CrawlConfig::Scope& config, const std::vector<Url>& seeds);

  // kReasons if the link is in scope. `depth` is the link's own.
  SkipReason check(const Url& url, std::uint32_t depth) const;

 private:
  bool covers(const Url& url) const;

  const CrawlConfig::Scope config_;
  std::set<std::string, std::less<>> hosts_;  // kHost: politeness groups; kDomain: domains
  std::vector<std::string> prefixes_;         // kPrefix: without scheme
};

}  // namespace trawl
