// Paths of a crawl's files.
#pragma once

#include <filesystem>

#include "crawler/config/crawl_config.h"

namespace trawl {

std::filesystem::path output_directory(const CrawlConfig& config);
// The config stored in a state directory, which `resume STATE_DIR` reads.
std::filesystem::path saved_config_path(const std::filesystem::path& state_dir);

}  // namespace trawl
