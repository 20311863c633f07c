// glob_match: the patterns of KEYS and SCAN.
#pragma once

#include <string_view>

namespace trawl::resp {

// Whether `text` matches `pattern`: * any bytes, ? one, [abc] [^a-z] one of a set, \ before a
// character that stands for itself. Takes at most time proportional to the product of the lengths.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace trawl::resp
