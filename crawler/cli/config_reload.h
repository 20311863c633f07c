// ConfigReload: reads the config again when the process gets SIGHUP.
#pragma once

#include <future>
#include <string>
#include <vector>

#include "trawl/result.h"

#include "crawler/run/crawl.h"

namespace trawl::cli {

// The lines that say what a reload did, for the log.
std::vector<std::string> reload_lines(const ReloadReport& report);

// On a thread of its own, since a reload may read all held URLs. Not thread-safe.
class ConfigReload {
 public:
  explicit ConfigReload(Crawl& crawl) : crawl_(crawl) {}
  // A request during a reload begins another one after it.
  void ask() { asked_ = true; }
  // Begins and ends reloads, and logs what they did. Call often.
  void attend();

 private:
  Crawl& crawl_;
  bool asked_ = false;
  std::future<Result<ReloadReport>> running_;  // waits for the thread when it is destroyed
};

}  // namespace trawl::cli
