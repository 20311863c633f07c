// read_text_file: reads a whole file, up to a limit.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "trawl/result.h"

namespace trawl {

// The bytes of `file`, which may be a pipe. The error has the system's message if it cannot be
// read, or says that it has more than `max_bytes`.
tl::expected<std::string, std::string> read_text_file(const std::filesystem::path& file,
                                                      std::size_t max_bytes);

}  // namespace trawl
