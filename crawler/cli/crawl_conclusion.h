// CrawlConclusion: how a crawl ended, and what to type next.
#pragma once

#include <string>

#include "crawler/cli/next_command.h"
#include "crawler/run/crawl.h"

namespace trawl::cli {

struct CrawlConclusion {
  int exit_code = 0;
  std::string text = {};     // lines for standard output
  std::string warning = {};  // for standard error

  // Of a crawl whose state is closed. `interrupted`: by a signal.
  static CrawlConclusion of(const Crawl& crawl, EndReason end, bool interrupted,
                            const NextCommand& next);
  // Of one that an error stopped; the error itself is reported elsewhere.
  static CrawlConclusion of_failed(int exit_code, const NextCommand& next);
};

}  // namespace trawl::cli
