// Names of states and reasons in the output of commands.
#pragma once

#include <optional>
#include <string_view>

#include "trawl/frontier.h"
#include "trawl/frontier_dump.h"
#include "trawl/robots.h"

namespace trawl {

std::string_view to_string(HostState state);
std::string_view to_string(RobotsReason reason);

std::string_view to_string(WaitingState state);
// Returns nothing for an unknown name.
std::optional<WaitingState> waiting_state_named(std::string_view name);

}  // namespace trawl
