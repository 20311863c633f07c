// Scope: which links a crawl follows.
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

#include "crawler/config/config.h"
#include "crawler/decide/blocklist.h"
#include "crawler/decide/url_verdict.h"
#include "crawler/patterns/url_pattern_set.h"

namespace trawl {

// A limit on single URLs. A new one is a line in url_limits(), which the scope checks from the top
// and `trawl explain` prints.
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
  // Reads the blocklists. `canonicalizer` makes the keys that they are asked for. Errors:
  // kInvalidArgument for a pattern that is none, and those of Blocklist::open().
  static Result<std::unique_ptr<Scope>> create(
      const CrawlConfig::Scope& config, const std::vector<Url>& seeds,
      const Canonicalizer& canonicalizer = Canonicalizer());

  // `depth` is the link's own; `hops_off_scope` of the page it is on: 0 if that is in scope, else
  // how many pages in a row, itself included, are out of it. A link that is in with `off_scope` is
  // one hop further than its page, any other that is in has 0.
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
  // The limit on single URLs that it exceeds, if any.
  std::optional<SkipReason> check_shape(const Url& url) const;
  bool covers(const Url& url) const;
  UrlVerdict check_rules(const Url& url, std::uint32_t depth, std::uint32_t hops_off_scope) const;

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
