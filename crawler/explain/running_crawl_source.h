// RunningCrawlSource: explains URLs by what a crawl that runs in this process knows.
#pragma once

#include <string>

#include "trawl/result.h"
#include "trawl/url.h"

#include "crawler/explain/url_explainer.h"
#include "crawler/explain/url_knowledge.h"
#include "crawler/run/crawl.h"

namespace trawl {

// Thread-safe.
class RunningCrawlSource {
 public:
  // `crawl` must outlive the object.
  explicit RunningCrawlSource(Crawl& crawl) : crawl_(crawl) {}

  // What `trawl explain --json` prints, by the crawl's rules as they are now.
  std::string explain(const UrlQuestion& question);

 private:
  // Without the URL's key.
  UrlKnowledge look_up(const Url& url);

  Crawl& crawl_;
};

}  // namespace trawl
