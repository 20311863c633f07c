// What states and reasons are called in the output of commands.
#pragma once

#include <string_view>

#include "trawl/frontier.h"
#include "trawl/robots.h"

namespace trawl::cli {

std::string_view to_string(HostState state);
std::string_view to_string(RobotsReason reason);

}  // namespace trawl::cli
