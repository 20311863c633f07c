// What a crawl that goes on keeps of the runs before, whatever its config says now.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trawl/embedded_options.h"
#include "trawl/result.h"

#include "crawler/config/config.h"

namespace trawl {

struct SettledConfig {
  CrawlConfig config;                 // of this run
  CrawlConfig saved;                  // of later ones: crawl.toml
  std::vector<std::string> warnings;  // settings that have no effect, a sentence each
  // The last run trusted certificates that this one may not: it had another fetch.ca_file, or did
  // not verify them.
  bool trusts_less = false;
};

// `config` is what this run was told, `saved` what is to hold for later runs, too. In a crawl that
// is there already the filter keeps its size and rate, a ledger is there or not, and the output
// goes on where it is, unless it was moved away; what was saved of these stays.
SettledConfig settle_with_former_run(const CrawlConfig& config, const CrawlConfig& saved,
                                     OpenMode mode);

// Beside crawl.toml: the config of the last run, if that was another. A crash may have left WARC
// files open where it says.
std::filesystem::path last_run_path(const std::filesystem::path& state_dir);
// Writes crawl.toml and, if need be, the other.
Result<void> save_configs(const CrawlConfig& config, const CrawlConfig& saved);

}  // namespace trawl
