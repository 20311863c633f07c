// expand_home: expands "~" in paths of a config, since no shell does.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "trawl/result.h"

namespace trawl {

// Expands "~" and "~/x" to the home directory of the user (HOME, or as the system knows it),
// "~name" and "~name/x" to that of the named user; other paths, including "./~", are unchanged. The
// error says that there is no such user or directory.
tl::expected<std::filesystem::path, std::string> expand_home(std::string_view path);

}  // namespace trawl
