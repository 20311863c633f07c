// Scope: which links a crawl follows.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/config/config.h"
#include "crawler/decide/blocklist.h"
#include "crawler/patterns/url_pattern_set.h"

namespace trawl {

// Why a link was not offered to the frontier, or what was offered not fetched.
enum class SkipReason : std::uint8_t {
  kInvalidUrl,   // the reference is no URL
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
  kPatternParked,      // see TrapDetector
  kNofollow,           // the page, its headers or the link ask for it
  kTooManyRedirects,
  kRobots,  // robots.txt forbids it; found when its turn came
  kReasons,
};
// As in the summary and in skipped.jsonl.
std::string_view to_string(SkipReason reason);

// How many links were skipped, by reason (E1). Thread-safe.
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

struct ScopeVerdict {
  SkipReason reason = SkipReason::kReasons;  // kReasons: it is in scope
  bool off_scope = false;                    // in scope by scope.extra_hops alone
  // What decided, for people: the rule's name, its pattern if it has none, the blocklist's file;
  // elsewhere as `key`. Lives as long as the Scope.
  std::string_view rule = {};
  std::string_view key = {};  // of the config: "scope.exclude", "scope.max_depth"

  bool in() const { return reason == SkipReason::kReasons; }
};

// Immutable, thread-safe.
class Scope {
 public:
  // Reads the blocklists. `canonicalizer` makes the keys that they are asked for. Errors:
  // kInvalidArgument for a pattern that is none, and those of Blocklist::open().
  static Result<std::unique_ptr<Scope>> create(
      const CrawlConfig::Scope& config, const std::vector<Url>& seeds,
      const Canonicalizer& canonicalizer = Canonicalizer());

  // `depth` is the link's own; `hops_off_scope` of the page it is on: 0 if that is in scope, else
  // how many pages in a row, itself included, are out of it. A link that is in with `off_scope` is
  // one hop further than its page, any other that is in has 0.
  ScopeVerdict check(const Url& url, std::uint32_t depth, std::uint32_t hops_off_scope = 0) const;

  const std::vector<Blocklist>& blocklists() const { return blocklists_; }

 private:
  struct Rule {
    bool include;
    std::string name;
    std::string_view key;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using TextSet = std::unordered_set<std::string, TextHash, std::equal_to<>>;

  Scope(const CrawlConfig::Scope& config, const Canonicalizer& canonicalizer)
      : config_(config), canonicalizer_(canonicalizer) {}

  Result<void> add_rules();
  void add_seeds(const std::vector<Url>& seeds);
  // The limits on a URL by itself; kReasons if it keeps to them.
  SkipReason check_shape(const Url& url, std::uint32_t depth) const;
  bool covers(const Url& url) const;
  ScopeVerdict check_rules(const Url& url, std::uint32_t hops_off_scope) const;

  const CrawlConfig::Scope config_;
  const Canonicalizer canonicalizer_;
  const Canonicalizer spelling_;  // of what patterns and prefixes are matched with
  std::vector<Blocklist> blocklists_;
  UrlPatternSet patterns_;
  std::vector<Rule> rules_;            // one for each pattern
  TextSet members_;                    // kPage: pages, kHost: politeness groups, kDomain: domains
  std::vector<std::string> prefixes_;  // kPrefix: sorted, none the beginning of another
};

}  // namespace trawl
