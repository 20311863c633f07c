// ProgressReport: reports the progress of a crawl: a live line on a terminal, else log lines, and a
// summary at the end.
#pragma once

#include <chrono>
#include <string>

#include "crawler/run/crawl.h"

namespace trawl::cli {

std::string progress_line(const CrawlProgress& progress, double pages_per_second);
// Several lines: what was fetched and skipped, and the path of the output.
std::string summary(const Crawl& crawl);

class ProgressReport {
 public:
  ProgressReport();
  // Call often; prints at intervals.
  void update(const Crawl& crawl);
  // Ends the live line, so that later output starts on a new line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  const bool terminal_;
  Clock::time_point last_;
  std::uint64_t last_fetched_ = 0;
  bool line_open_ = false;
};

}  // namespace trawl::cli
