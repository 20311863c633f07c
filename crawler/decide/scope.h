// Scope: decides which links a crawl follows, by [scope].
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/config/crawl_config.h"
#include "crawler/decide/blocklist.h"
#include "crawler/decide/url_verdict.h"
#include "crawler/patterns/url_pattern_set.h"

namespace trawl {

// A limit on single URLs. A new one is a row of kUrlLimits in scope.cc, which the scope checks
// from the top and `trawl explain` prints.
struct UrlLimit {
  SkipReason reason;
  std::string_view name;  // for `trawl explain`
  std::uint32_t CrawlConfig::Scope::*limit;
  // What the URL has, to be compared with `limit`; if that is exceeded, any larger number.
  std::uint64_t (*measure)(const Url& url, std::uint32_t limit);
};
std::span<const UrlLimit> url_limits();

// Immutable, thread-safe.
class Scope {
 public:
  // Reads the blocklists. `canonicalizer` makes the keys to search them for. Errors:
  // kInvalidArgument for an invalid pattern, and those of Blocklist::open().
  static Result<std::unique_ptr<Scope>> create(
      const CrawlConfig::Scope& config, const std::vector<Url>& seeds,
      const Canonicalizer& canonicalizer = Canonicalizer());

  // `depth`: of the link; `hops_off_scope`: of the page with the link: 0 if the page is in scope,
  // else the number of pages in a row, including it, that are out of scope. A link accepted with
  // `off_scope` is one hop further than its page; other accepted links have 0 hops.
  UrlVerdict check(const Url& url, std::uint32_t depth, std::uint32_t hops_off_scope = 0) const;

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
  // The limit on URLs that the URL exceeds, if any.
  std::optional<SkipReason> check_shape(const Url& url) const;
  bool covers(const Url& url) const;
  UrlVerdict check_rules(const Url& url, std::uint32_t depth, std::uint32_t hops_off_scope) const;

  const CrawlConfig::Scope config_;
  const Canonicalizer canonicalizer_;
  const Canonicalizer spelling_;  // normalises URLs for patterns and prefixes
  std::vector<Blocklist> blocklists_;
  UrlPatternSet patterns_;
  std::vector<Rule> rules_;            // one per pattern
  TextSet members_;                    // kPage: pages, kHost: politeness groups, kDomain: domains
  std::vector<std::string> prefixes_;  // kPrefix: sorted, none a prefix of another
};

}  // namespace trawl
