// Prints the errors of a config.
#pragma once

#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "crawler/cli/exit_codes.h"
#include "crawler/cli/say.h"
#include "crawler/config/crawl_config.h"

namespace trawl::cli {

inline int report_config_errors(const std::vector<ConfigError>& errors) {
  for (const ConfigError& error : errors)
    say(stderr, "{}\n", error.to_string());
  say(stderr, "trawl: {} error{} in the config\n", errors.size(), errors.size() == 1 ? "" : "s");
  return kBadConfig;
}

}  // namespace trawl::cli
