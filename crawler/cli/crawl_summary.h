// crawl_summary: what a crawl did, for people.
#pragma once

#include <string>

#include "crawler/cli/verbosity.h"
#include "crawler/run/crawl.h"

namespace trawl::cli {

// Several lines. The numbers of pages are those of CrawlTally, so that they add up to the lines of
// pages.jsonl, over all runs. To be called when the crawl is closed, or has ended.
std::string crawl_summary(const Crawl& crawl, Verbosity verbosity);

}  // namespace trawl::cli
