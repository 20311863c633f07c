// read_seed_file: the seeds of a text file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crawler/config/config.h"

namespace trawl {

// One URL a line, serialised, in order; blank lines and lines that start with # are skipped. The
// file is at most 256 MiB. Lines that are no http(s) URL are errors, the first 1000 of them listed.
ConfigResult<std::vector<std::string>> read_seed_file(const std::filesystem::path& file);

}  // namespace trawl
