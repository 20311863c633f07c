// Warnings about settings without effect.
#pragma once

#include <string>
#include <vector>

#include "crawler/config/crawl_config.h"

namespace trawl {

// Settings that have no effect because of others, one sentence each. They are not errors, so that a
// user can disable a feature without removing its other settings.
std::vector<std::string> config_warnings(const CrawlConfig& config);

}  // namespace trawl
