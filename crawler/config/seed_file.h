// read_seed_file: the seeds of a text file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "crawler/config/config.h"

namespace trawl {

struct SeedFileErrors {
  std::vector<ConfigError> listed;  // the first 1000
  std::size_t unlisted = 0;         // how many more there are
};

// One URL a line, serialised, in order; blank lines, and what follows a # at the beginning of a
// line or behind a blank, are skipped. The file is at most 256 MiB. Errors: lines that are not one
// http(s) URL of at most `max_url_length` bytes.
tl::expected<std::vector<std::string>, SeedFileErrors> read_seed_file(
    const std::filesystem::path& file, std::size_t max_url_length);

}  // namespace trawl
