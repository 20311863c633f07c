// What --set means beyond the run it is given to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crawler/config/config.h"

namespace trawl::cli {

// The config that is kept for later runs of the crawl: `file` without the overrides, except those
// of what a crawl is made with (its seeds, rules for keys, filter, ledger, directories). If that is
// no config, since --set gives what must be there: what was kept before, or else `effective`.
CrawlConfig config_to_keep(const std::filesystem::path& file,
                           const std::vector<std::string>& overrides, const CrawlConfig& effective);

// The overrides as arguments of another run in any directory: paths absolute, without
// crawl.state_dir and the seeds, which the state directory has.
std::vector<std::string> overrides_to_repeat(const std::vector<std::string>& overrides,
                                             const CrawlConfig& effective);

}  // namespace trawl::cli
