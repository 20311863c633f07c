// glob_match: the patterns of KEYS and SCAN.
#pragma once

#include <cstdint>
#include <string_view>

namespace trawl::resp {

// Whether `text` matches `pattern`: * any bytes, ? one, [abc] [^a-z] one of a set, \ before a
// character that stands for itself. Takes at most time proportional to the product of the lengths;
// adds the bytes of the pattern that it looked at to `work`.
bool glob_match(std::string_view pattern, std::string_view text, std::uint64_t& work);

}  // namespace trawl::resp
