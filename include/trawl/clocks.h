// The two clocks that the frontier's times are of.
#pragma once

#include <chrono>

namespace trawl {

using SteadyTime = std::chrono::steady_clock::time_point;  // delays within a process
using SystemTime = std::chrono::system_clock::time_point;  // times that outlive it

}  // namespace trawl
