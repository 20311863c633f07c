// The memory of this process.
#pragma once

#include <cstdint>

namespace trawl {

std::uint64_t resident_memory();  // bytes now; 0 if unknown
std::uint64_t peak_memory();      // the most it ever was

}  // namespace trawl
