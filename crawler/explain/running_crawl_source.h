// RunningCrawlSource: what a crawl that runs in this process knows of a URL.
#pragma once

#include "base/mutex.h"
#include "crawler/explain/url_explainer.h"
#include "crawler/explain/url_knowledge.h"
#include "crawler/run/crawl.h"

namespace trawl {

// Thread-safe.
class RunningCrawlSource final : public UrlKnowledgeSource {
 public:
  // `crawl` must outlive the object.
  explicit RunningCrawlSource(Crawl& crawl) : crawl_(crawl) {}
  UrlKnowledge look_up(const Url& url, const Profile& profile) override;

  // What `trawl explain --json` prints, by the crawl's config as it is now. Errors: those of
  // UrlExplainer::create().
  Result<std::string> explain(const UrlQuestion& question);

 private:
  Crawl& crawl_;
  // Made of the config whose text is `made_of_`, so that lists are read once.
  Mutex mutex_;
  std::optional<UrlExplainer> explainer_ TRAWL_GUARDED_BY(mutex_);
  std::string made_of_ TRAWL_GUARDED_BY(mutex_);
};

}  // namespace trawl
