// Priorities: in which order the URLs of a host are fetched.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/config/config.h"
#include "crawler/patterns/url_pattern_set.h"

namespace trawl {

// UrlRequest::priority for a URL, by crawl.order. Immutable, thread-safe.
class Priorities {
 public:
  // Added to the priority of a URL whose pattern is slow (see TrapDetector): it waits behind all
  // others of its host.
  static constexpr std::int32_t kSlow = -1'000'000;

  // Errors: kInvalidArgument for a pattern that is none.
  static Result<Priorities> create(const CrawlConfig::Crawl& config);

  // "bfs": the less deep, the higher; "dfs": the deeper, the higher; "priority": that of the first
  // rule that matches, else from -10 to 10 by the priority in the sitemap, else 0.
  std::int32_t of(const Url& url, std::uint32_t depth,
                  std::optional<double> sitemap_priority = std::nullopt) const;

 private:
  CrawlOrder order_ = CrawlOrder::kBreadthFirst;
  Canonicalizer spelling_;  // of what patterns are matched with, as in Scope
  UrlPatternSet patterns_;
  std::vector<std::int32_t> priorities_;  // of each pattern
};

}  // namespace trawl
