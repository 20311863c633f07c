// Verbosity: how much a crawl prints.
#pragma once

#include <cstdint>

#include "crawler/config/crawl_config.h"

namespace CLI {
class App;
}

namespace trawl::cli {

enum class Verbosity : std::uint8_t {
  kQuiet,  // warnings and errors
  kNormal,
  kVerbose,  // also each page that failed, and more in the summary
};

// Adds -q and -v.
void add_verbosity_flags(CLI::App* command, Verbosity& verbosity);

// The log settings with the level that the flags ask for.
CrawlConfig::Log log_settings_of(Verbosity verbosity, CrawlConfig::Log config);

}  // namespace trawl::cli
