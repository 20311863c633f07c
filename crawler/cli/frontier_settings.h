// frontier_settings: how the frontier of a state directory is to be opened.
#pragma once

#include <string>

#include "trawl/embedded_options.h"
#include "trawl/result.h"

namespace trawl::cli {

// As the crawl's config says: `config` if it is given, else the effective one that the directory
// holds. Without either, a frontier that is there keeps its rules for canonical keys, and a new one
// gets the defaults. What is wrong is printed, and the exit code returned.
tl::expected<EmbeddedOptions, int> frontier_settings(const std::string& state_dir,
                                                     const std::string& config = {});

}  // namespace trawl::cli
