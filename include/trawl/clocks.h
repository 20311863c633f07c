// The two clocks of the frontier's times.
#pragma once

#include <chrono>

namespace trawl {

using SteadyTime = std::chrono::steady_clock::time_point;  // delays within a process
using SystemTime = std::chrono::system_clock::time_point;  // times that outlive the process

}  // namespace trawl
