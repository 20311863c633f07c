// UrlVerdict: whether a crawl fetches a URL, and what decided.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace trawl {

// Why a link is not offered to the frontier, or a leased URL is not fetched.
enum class SkipReason : std::uint8_t {
  kInvalidUrl,   // the reference is not a URL
  kOtherScheme,  // mailto:, javascript:, ...
  kOutOfScope,
  kExcluded,           // by a rule of the scope
  kTooDeep,            // beyond scope.max_depth
  kTooLong,            // beyond scope.max_url_length
  kTooManySegments,    // beyond scope.max_path_segments
  kRepeatedSegments,   // beyond scope.max_repeated_segments
  kTooManyParameters,  // beyond scope.max_query_parameters
  kBlocked,            // by scope.blocklist
  kTooManyUrlsOfHost,  // beyond scope.max_urls_per_host
  kPatternParked,      // by scope.park_pattern_after; see TrapDetector
  kNofollow,           // the page, its headers or the link ask for it
  kTooManyRedirects,   // beyond fetch.max_redirects
  kRobots,             // robots.txt disallows it
};
inline constexpr std::size_t kSkipReasons = static_cast<std::size_t>(SkipReason::kRobots) + 1;

// As in the summary and in skipped.jsonl.
std::string_view to_string(SkipReason reason);
// The reason of that name; nothing if there is none.
std::optional<SkipReason> skip_reason_of(std::string_view name);
// The config key that decides: "scope.max_depth". Empty for URLs that no config could let pass.
std::string_view config_key_of(SkipReason reason);

// How many URLs were skipped, by reason (E1). Thread-safe.
class SkipCounts {
 public:
  void add(SkipReason reason, std::uint64_t n = 1) {
    counts_[static_cast<std::size_t>(reason)].fetch_add(n, std::memory_order_relaxed);
  }
  std::uint64_t operator[](SkipReason reason) const {
    return counts_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kSkipReasons> counts_{};
};

struct UrlVerdict {
  std::optional<SkipReason> reason;  // why it is skipped; nothing: it is fetched
  bool off_scope = false;            // fetched by scope.extra_hops alone
  bool slow = false;  // its pattern is slow: it waits behind the other URLs of its host
  // What decided, for people: the rule's name, its pattern if it has none, the blocklist's file, or
  // the same as `key`; empty for what no rule of the scope decides. Lives as long as the Scope.
  std::string_view rule = {};
  std::string_view key = {};  // of the config: "scope.exclude"

  bool is_fetched() const { return !reason; }
};

}  // namespace trawl
