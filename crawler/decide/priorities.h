// Priorities: the order in which the URLs of a host are fetched.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trawl/canonicalizer.h"
#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/config/crawl_config.h"
#include "crawler/decide/seed_settings.h"
#include "crawler/patterns/url_pattern_set.h"

namespace trawl {

// Computes UrlRequest::priority by crawl.order. Immutable, thread-safe.
class Priorities {
 public:
  // Added to the priority of a URL whose pattern is slow (see TrapDetector), so that it waits
  // behind all others of its host.
  static constexpr std::int32_t kSlow = -1'000'000;

  // Errors: kInvalidArgument for an invalid pattern.
  static Result<Priorities> create(const CrawlConfig::Crawl& config);

  // "bfs": higher for smaller depth; "dfs": higher for greater depth; "priority": the priority of
  // the first rule that matches, else that of its seed, else -10 to 10 by the priority in the
  // sitemap, else 0.
  std::int32_t of(const Url& url, std::uint32_t depth,
                  std::optional<double> sitemap_priority = std::nullopt,
                  const SeedSettings::Own* seed = nullptr) const;

 private:
  CrawlOrder order_ = CrawlOrder::kBreadthFirst;
  Canonicalizer spelling_;  // normalises URLs for patterns, as in Scope
  UrlPatternSet patterns_;
  std::vector<std::int32_t> priorities_;  // of each pattern
};

}  // namespace trawl
