// The memory needed to decode a Content-Encoding, for memory budgets.
#pragma once

#include <cstddef>

namespace trawl {

// The maximum for one coding: brotli's window of 16 MiB, and its tables.
inline constexpr std::size_t kMostDecoderMemory = 20u << 20;

}  // namespace trawl
