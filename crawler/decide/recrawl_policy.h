// RecrawlPolicy: decides when a page is fetched again.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "trawl/canonicalizer.h"

#include "crawler/config/crawl_config.h"
#include "crawler/patterns/url_pattern.h"

namespace trawl {

// Immutable, thread-safe.
class RecrawlPolicy {
 public:
  using Interval = std::optional<std::chrono::milliseconds>;
  // The result of a fetch, compared with the previous fetch of the page.
  enum class Change { kNew, kChanged, kUnchanged, kFailed };

  // A rule with an invalid pattern matches nothing; validated configs have none.
  explicit RecrawlPolicy(const CrawlConfig::Recrawl& config);

  bool enabled() const { return enabled_; }
  // Whether pages are fetched again, not only failed URLs.
  bool recrawls_pages() const { return interval_ || !rules_.empty(); }

  // How long after a fetch the page is fetched again; nothing: never. A new page gets the interval
  // of the first rule that matches, else recrawl.interval. With recrawl.adaptive, `last_interval`
  // is halved if the page changed and doubled if it did not; after a failed fetch it is unchanged.
  // `listed`: the interval of a sitemap, which takes the place of recrawl.interval.
  Interval next_interval(std::string_view href, Change change, Interval last_interval,
                         Interval listed = std::nullopt) const;

  // The same for URLs that were never a page: they failed, were missing, or redirected.
  Interval failed_interval() const { return failed_; }
  // Whether a rule says that the page is never fetched again.
  bool says_never(std::string_view href) const;

  // Classifies a successful fetch by its status, the digest of its body, and the digest of the
  // previous fetch (empty: none).
  static Change compare(int status, std::string_view digest, std::string_view last_digest);

 private:
  struct Rule {
    UrlPattern pattern;
    Interval interval;
  };

  const Rule* find_rule(std::string_view href) const;
  Interval first_interval(std::string_view href, Interval listed) const;
  std::chrono::milliseconds within_bounds(std::chrono::milliseconds interval) const;

  bool enabled_;
  Canonicalizer spelling_;  // normalises URLs for patterns, as in Scope
  std::vector<Rule> rules_;
  Interval interval_;
  Interval failed_;
  bool adaptive_;
  std::chrono::milliseconds min_interval_;
  std::chrono::milliseconds max_interval_;
};

}  // namespace trawl
