// The memory that a process may still take.
#pragma once

#include <cstdint>
#include <string>

namespace trawl {

// Bytes available without swapping: the kernel's estimate, but at most what each control group of
// the process has left. A group's file cache counts as free, since the kernel can drop it. All
// memory of the machine if the kernel gives no estimate. `root` is a prefix of /proc and /sys, for
// tests.
std::uint64_t free_memory(const std::string& root = {});

}  // namespace trawl
