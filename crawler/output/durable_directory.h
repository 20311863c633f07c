// make_durable_directory: creates directories that survive a power loss.
#pragma once

#include <filesystem>

#include "trawl/result.h"

namespace trawl {

// Creates `directory` and its missing parents, and syncs the directories that list them.
Result<void> make_durable_directory(const std::filesystem::path& directory);

}  // namespace trawl
