// sort_lines: puts the lines of an index in order, however many there are.
#pragma once

#include <cstddef>
#include <string>

#include "trawl/result.h"

namespace trawl {

inline constexpr std::size_t kSortMemory = 32u << 20;

// Writes the lines of `from` to `to`, sorted by their bytes (as `LC_ALL=C sort` does), and syncs
// it. Keeps about `memory` bytes of lines at a time; what is more goes through `to`.runs, which is
// removed in the end. A last line without an end is left out.
Result<void> sort_lines(const std::string& from, const std::string& to,
                        std::size_t memory = kSortMemory);

}  // namespace trawl
