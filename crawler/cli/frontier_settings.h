// frontier_settings: the options to open the frontier of a state directory with.
#pragma once

#include <string>

#include "trawl/embedded_options.h"
#include "trawl/result.h"

namespace trawl::cli {

// Reads the options from `config` if given, else from crawl.toml in the directory. Without either,
// an existing frontier keeps its rules for canonical keys, and a new one gets the defaults. Errors
// are printed, and the exit code returned.
tl::expected<EmbeddedOptions, int> frontier_settings(const std::string& state_dir,
                                                     const std::string& config = {});

}  // namespace trawl::cli
