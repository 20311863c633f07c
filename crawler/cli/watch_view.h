// The views of `trawl status`.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "crawler/cli/control_target.h"

namespace trawl::cli {

// The summary of an answer of GET /api/v1/status, as wide as the terminal.
std::vector<std::string> status_lines(const RunningCrawl& crawl, const std::string& status);

// Shows the crawl at each interval, full-screen on a terminal, until a key or a signal ends the
// view or the crawl ends. Returns an exit code.
int watch_crawl(const RunningCrawl& crawl, std::chrono::milliseconds interval);

}  // namespace trawl::cli
