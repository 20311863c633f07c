// UrlVerdict: whether a crawl fetches a URL, and which rule decided.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "crawler/config/crawl_config.h"
#include "crawler/decide/limit_by_host.h"

namespace trawl {

// Why a link is not offered to the frontier, or a leased URL is not fetched. A new reason is a line
// here and one in kSkipReasonRows.
enum class SkipReason : std::uint8_t {
  kInvalidUrl,   // the reference is not a URL
  kOtherScheme,  // mailto:, javascript:, ...
  kOutOfScope,
  kExcluded,  // by scope.rules or scope.exclude
  kTooDeep,
  kTooLong,
  kTooManySegments,
  kRepeatedSegments,
  kTooManyParameters,
  kBlocked,
  kTooManyUrlsOfHost,
  kPatternParked,  // see TrapDetector
  kNofollow,       // page, headers or link say nofollow
  kTooManyRedirects,
  kRobots,
};

struct SkipReasonRow {
  SkipReason reason;
  std::string_view name;  // in the summary and in skipped.jsonl
  std::string_view key;   // the config key that decides; empty: no config lets the URL pass
  // Whether a link is held for a later run, whose config or circumstances may let it pass. Other
  // links would be skipped again, or there may be endlessly many of them.
  bool is_held = false;
  // The setting that decides, as a number, for reasons that UrlDecider::decide() cannot check again
  // for a held URL; null: the URL is decided again in each run.
  std::uint64_t (*setting)(const CrawlConfig&) = nullptr;
};

// In the order of the enum.
inline constexpr SkipReasonRow kSkipReasonRows[] = {
    {SkipReason::kInvalidUrl, "invalid URL", ""},
    {SkipReason::kOtherScheme, "other scheme", ""},
    {SkipReason::kOutOfScope, "out of scope", "scope.type", true},
    {SkipReason::kExcluded, "excluded by rule", "scope.exclude"},
    {SkipReason::kTooDeep, "too deep", "scope.max_depth", true},
    {SkipReason::kTooLong, "URL too long", "scope.max_url_length"},
    {SkipReason::kTooManySegments, "too many path segments", "scope.max_path_segments"},
    {SkipReason::kRepeatedSegments, "repeated path segments", "scope.max_repeated_segments"},
    {SkipReason::kTooManyParameters, "too many query parameters", "scope.max_query_parameters"},
    {SkipReason::kBlocked, "blocked", "scope.blocklist"},
    {SkipReason::kTooManyUrlsOfHost, "too many URLs of the host", "scope.max_urls_per_host", true,
     [](const CrawlConfig& config) { return LimitByHost::urls(config).number(); }},
    {SkipReason::kPatternParked, "pattern parked", "scope.park_pattern_after", false,
     [](const CrawlConfig& config) { return std::uint64_t{config.scope.park_pattern_after}; }},
    {SkipReason::kNofollow, "nofollow", "links.respect_nofollow", true,
     [](const CrawlConfig& config) { return std::uint64_t{config.links.respect_nofollow}; }},
    {SkipReason::kTooManyRedirects, "too many redirects", "fetch.max_redirects", true,
     [](const CrawlConfig& config) { return std::uint64_t{config.fetch.max_redirects}; }},
    {SkipReason::kRobots, "robots.txt", "politeness.respect_robots"},
};
inline constexpr std::size_t kSkipReasons = std::size(kSkipReasonRows);

consteval bool skip_reasons_are_in_order() {
  for (std::size_t i = 0; i < kSkipReasons; ++i) {
    if (kSkipReasonRows[i].reason != static_cast<SkipReason>(i)) return false;
  }
  return true;
}
static_assert(skip_reasons_are_in_order());

constexpr const SkipReasonRow& row_of(SkipReason reason) {
  return kSkipReasonRows[static_cast<std::size_t>(reason)];
}
constexpr std::string_view to_string(SkipReason reason) {
  return row_of(reason).name;
}
constexpr std::string_view config_key_of(SkipReason reason) {
  return row_of(reason).key;
}
// The reason with that name; nothing for an unknown name.
constexpr std::optional<SkipReason> skip_reason_of(std::string_view name) {
  for (const SkipReasonRow& row : kSkipReasonRows) {
    if (row.name == name) return row.reason;
  }
  return std::nullopt;
}

// Counts skipped URLs by reason (E1). Thread-safe.
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
  std::optional<SkipReason> reason;  // why it is skipped; absent: it is fetched
  bool off_scope = false;            // fetched only because of scope.extra_hops
  bool slow = false;  // its pattern is slow: it waits behind all other URLs of its host
  // What decided, for reports: the rule's name, else its pattern, the blocklist's file, or the same
  // as `key`; empty if no rule of the scope decided. Valid as long as the Scope.
  std::string_view rule = {};
  std::string_view key = {};  // the config key: "scope.exclude"

  bool is_fetched() const { return !reason; }
};

}  // namespace trawl
