// Replaces invalid UTF-8 as browsers do.
#pragma once

#include <string>
#include <string_view>

namespace trawl {

// Returns `text` with each maximal subpart of an invalid sequence replaced by U+FFFD: a view of
// `text` if it is valid, else of `buffer`, which is overwritten.
std::string_view replace_invalid_utf8(std::string_view text, std::string& buffer);

}  // namespace trawl
