// read_text_file: a whole file, but no more than asked for.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "trawl/result.h"

namespace trawl {

// The bytes of `file`, which may be a pipe. The error says in the system's words why it cannot be
// read, or that it has more than `max_bytes`.
tl::expected<std::string, std::string> read_text_file(const std::filesystem::path& file,
                                                      std::size_t max_bytes);

}  // namespace trawl
