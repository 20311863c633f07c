// EmbeddedFrontier::revive().
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "trawl/embedded_options.h"

namespace trawl {

Result<ReviveReport> revive_hosts_in(const std::filesystem::path& directory,
                                     std::span<const std::string> hosts);

}  // namespace trawl
