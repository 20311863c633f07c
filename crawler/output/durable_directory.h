// make_durable_directory: directories whose names survive a power loss.
#pragma once

#include <filesystem>

#include "trawl/result.h"

namespace trawl {

// Creates `directory`, and those above it that are missing, and syncs where they are listed.
Result<void> make_durable_directory(const std::filesystem::path& directory);

}  // namespace trawl
