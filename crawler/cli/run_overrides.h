// The effect of --set on later runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crawler/config/crawl_config.h"

namespace trawl::cli {

// Returns the config to store for later runs of the crawl: `file` without the overrides, except
// overrides of keys that a crawl is created with (seeds, rules for keys, filter, ledger,
// directories). If `file` is not valid without the other overrides: the config stored before, or
// else `effective`.
CrawlConfig config_to_keep(const std::filesystem::path& file,
                           const std::vector<std::string>& overrides, const CrawlConfig& effective);

// Returns the overrides as arguments for another run from any directory: with absolute paths, and
// without crawl.state_dir and the seeds, which are in the state directory.
std::vector<std::string> overrides_to_repeat(const std::vector<std::string>& overrides,
                                             const CrawlConfig& effective);

}  // namespace trawl::cli
