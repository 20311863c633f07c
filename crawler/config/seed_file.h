// read_seed_file: reads the seeds of a text file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "crawler/config/crawl_config.h"

namespace trawl {

// Returns the serialised URLs in order. The file has one URL per line; blank lines, and comments
// from a '#' at the beginning of a line or after a blank, are ignored. The file may have at most
// 256 MiB. Errors: lines that are not a single http(s) URL of at most `max_url_length` bytes,
// of which 1000 are listed.
tl::expected<std::vector<std::string>, FileErrors> read_seed_file(const std::filesystem::path& file,
                                                                  std::size_t max_url_length);

}  // namespace trawl
