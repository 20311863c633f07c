// RecrawlPolicy: when a page is fetched again.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "trawl/canonicalizer.h"

#include "crawler/config/config.h"
#include "crawler/patterns/url_pattern.h"

namespace trawl {

// Immutable; for any number of threads.
class RecrawlPolicy {
 public:
  using Interval = std::optional<std::chrono::milliseconds>;
  // What a fetch found, beside the fetch of the page before it.
  enum class Change { kNew, kChanged, kUnchanged, kFailed };

  // A rule whose pattern does not parse, which no config that was read has, matches nothing.
  explicit RecrawlPolicy(const CrawlConfig::Recrawl& config);

  bool enabled() const { return enabled_; }
  // Not only what brought no page.
  bool recrawls_pages() const { return interval_ || !rules_.empty(); }

  // How long after a fetch the page is fetched again; nothing: not again. The first rule that
  // matches gives the interval of a new page, or else recrawl.interval. If it is adaptive,
  // `last_interval` is halved when the page changed and doubled when it did not; after a fetch that
  // failed it stays.
  Interval next_interval(std::string_view href, Change change, Interval last_interval) const;

  // The same of what was never a page: it failed, was missing, or redirected.
  Interval failed_interval() const { return failed_; }

  // By the answer to a request that succeeded: its status, the digest of its body, and the digest
  // of the fetch before, empty if there was none.
  static Change compare(int status, std::string_view digest, std::string_view last_digest);

 private:
  struct Rule {
    UrlPattern pattern;
    Interval interval;
  };

  Interval first_interval(std::string_view href) const;
  std::chrono::milliseconds within_bounds(std::chrono::milliseconds interval) const;

  bool enabled_;
  Canonicalizer spelling_;  // of what patterns are matched with, as in Scope
  std::vector<Rule> rules_;
  Interval interval_;
  Interval failed_;
  bool adaptive_;
  std::chrono::milliseconds min_interval_;
  std::chrono::milliseconds max_interval_;
};

}  // namespace trawl
