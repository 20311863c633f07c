// ProgressReport: reports the progress of a crawl: a live line on a terminal, else log lines.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "crawler/cli/verbosity.h"
#include "crawler/run/crawl.h"

namespace trawl::cli {

// What a crawl did lately.
struct CrawlRates {
  double pages = 0;  // a second
  double bytes = 0;
};

// "3 min 20 s  12 pages/s, 1.2 MiB/s, 9231 pages, ...". If all hosts fail, it begins with what the
// crawl waits for. `troubles`: of HostTroubles::first(). `failing`: HostTroubles::count().
std::string progress_line(const CrawlProgress& progress, const TallyTotals& totals,
                          CrawlRates rates, const std::vector<HostTrouble>& troubles,
                          std::size_t failing);

class ProgressReport {
 public:
  explicit ProgressReport(Verbosity verbosity);
  // Call often; prints at intervals.
  void update(const Crawl& crawl);
  // Ends the live line, so that later output starts on a new line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Sample {
    Clock::time_point time;
    std::uint64_t pages;
    std::uint64_t bytes;
  };

  CrawlRates rates_now(Clock::time_point now, const TallyTotals& totals);

  const Verbosity verbosity_;
  const bool live_;  // a terminal that can rewrite a line
  Clock::time_point last_;
  std::deque<Sample> samples_;  // of the last kWindow, the oldest first
  bool line_open_ = false;
};

}  // namespace trawl::cli
