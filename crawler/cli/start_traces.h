// StartTraces: removes what the start of a crawl left behind when it failed.
#pragma once

#include <filesystem>
#include <vector>

#include "trawl/result.h"

#include "crawler/config/crawl_config.h"

namespace trawl::cli {

// Made before anything is created. Directories that did not exist then, and the state of a crawl
// that never began in them, are removed by remove_after(). What existed before stays.
class StartTraces {
 public:
  explicit StartTraces(const CrawlConfig& config);

  // Call after the failed crawl is closed. Does nothing if another process may use the directory.
  void remove_after(const Error& failure) const;

 private:
  std::filesystem::path state_;
  std::filesystem::path output_;
  bool is_shared_ = false;  // the frontier is in Redis
  bool state_is_new_ = false;
  std::vector<std::filesystem::path> new_directories_;  // the innermost first
};

}  // namespace trawl::cli
