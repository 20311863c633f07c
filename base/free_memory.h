// How much memory a process may still take.
#pragma once

#include <cstdint>
#include <string>

namespace trawl {

// Bytes that can be had without swapping: what the kernel estimates as available, and no more than
// any control group of the process has left; what such a group holds of files counts as free, since
// the kernel drops it. All memory of the machine where the kernel does not say. `root` stands
// before /proc and /sys.
std::uint64_t free_memory(const std::string& root = {});

}  // namespace trawl
