// Settings that a resumed crawl keeps from earlier runs, whatever its config says now.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trawl/embedded_options.h"
#include "trawl/result.h"

#include "crawler/config/crawl_config.h"

namespace trawl {

struct ResumedConfig {
  CrawlConfig config;                 // for this run
  CrawlConfig saved;                  // for later runs: crawl.toml
  std::vector<std::string> warnings;  // settings that have no effect, one sentence each
  // The last run may have trusted certificates that this run refuses: it had another fetch.ca_file,
  // or did not verify certificates.
  bool trusts_less = false;
};

// `config`: the config of this run; `saved`: the config to store for later runs. An existing crawl
// keeps the size and rate of its filter, its ledger or the lack of one, and its output directory,
// unless that was moved away; the stored config keeps the original values of these keys.
ResumedConfig resolve_resumed_config(const CrawlConfig& config, const CrawlConfig& saved,
                                     OpenMode mode);

// A file next to crawl.toml: the config of the last run, if it differed. A crash may have left WARC
// files open where that config says.
std::filesystem::path last_run_path(const std::filesystem::path& state_dir);
// Writes crawl.toml and, if the configs differ, the file of last_run_path().
Result<void> save_configs(const CrawlConfig& config, const CrawlConfig& saved);

}  // namespace trawl
