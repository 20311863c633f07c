// Paths of a crawl's files.
#pragma once

#include <filesystem>
#include <string>

#include "crawler/config/crawl_config.h"

namespace trawl {

std::filesystem::path output_directory(const CrawlConfig& config);
// What the names of the WARC files begin with: output.warc_prefix, and in a crawl by several
// crawlers the name of this one, so that the files of all can be put together. A name that has
// other characters than those of file names, or is long, is shortened to such characters and a
// number that differs for other names.
std::string warc_prefix(const CrawlConfig& config);
// The config stored in a state directory, which `resume STATE_DIR` reads.
std::filesystem::path saved_config_path(const std::filesystem::path& state_dir);

}  // namespace trawl
