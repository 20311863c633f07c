// ProgressReport: tells how a crawl goes: a live line on a terminal, log lines elsewhere, a
// summary at the end.
#pragma once

#include <chrono>
#include <string>

#include "crawler/run/crawl.h"

namespace trawl::cli {

std::string progress_line(const CrawlProgress& progress, double pages_per_second);
// Several lines: what was fetched and skipped, and where the output is.
std::string summary(const Crawl& crawl);

class ProgressReport {
 public:
  ProgressReport();
  // Call often; prints when it is time to.
  void update(const Crawl& crawl);
  // Ends the live line, so that other output begins on a line of its own.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  const bool terminal_;
  Clock::time_point last_;
  std::uint64_t last_fetched_ = 0;
  bool line_open_ = false;
};

}  // namespace trawl::cli
