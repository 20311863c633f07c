// StartRequests: the requests for what a crawl starts from.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "trawl/frontier.h"
#include "trawl/url.h"

#include "crawler/config/crawl_config.h"
#include "crawler/run/crawl_context.h"

namespace trawl {

class StartRequests {
 public:
  // Those for crawl.seeds, then those for crawl.sitemaps, without what `before` has.
  StartRequests(const CrawlRules& rules, const CrawlConfig::Crawl& now,
                const CrawlConfig::Crawl& before = {});
  StartRequests(const StartRequests&) = delete;
  StartRequests& operator=(const StartRequests&) = delete;

  // In the order of the config. Valid as long as the object.
  std::span<const UrlRequest> requests() const { return requests_; }

 private:
  // Storage that the views in the requests point into.
  std::deque<Url> urls_;
  std::deque<std::string> notes_;
  std::vector<UrlRequest> requests_;
};

}  // namespace trawl
