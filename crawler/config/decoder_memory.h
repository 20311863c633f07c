// What undoing a Content-Encoding may take, for budgets of memory.
#pragma once

#include <cstddef>

namespace trawl {

// Of one body's coding: brotli may have a window of 16 MiB, and its tables.
inline constexpr std::size_t kMostDecoderMemory = 20u << 20;

}  // namespace trawl
