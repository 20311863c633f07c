// expand_home: "~" in the paths of a config, which no shell has read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "trawl/result.h"

namespace trawl {

// "~" and "~/x" are in the home directory of the user (HOME, or what the system has for them),
// "~name" and "~name/x" in that of the user of that name; any other path stays as it is, "./~"
// too. The error says that there is no such user, or directory.
tl::expected<std::filesystem::path, std::string> expand_home(std::string_view path);

}  // namespace trawl
