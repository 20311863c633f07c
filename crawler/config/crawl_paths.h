// Where a crawl's files lie.
#pragma once

#include <filesystem>

#include "crawler/config/config.h"

namespace trawl {

std::filesystem::path output_directory(const CrawlConfig& config);
// The config kept in a state directory, from which `resume STATE_DIR` reads.
std::filesystem::path saved_config_path(const std::filesystem::path& state_dir);

}  // namespace trawl
