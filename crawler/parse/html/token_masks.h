// TokenMasks: bit masks of the bytes that end parts of a tag, for a block of a page.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

// One bit per byte, the lowest for the first.
struct TokenMasks {
  std::uint64_t opens;                // '<'
  std::uint64_t ends_name;            // white space, '/', '>'
  std::uint64_t ends_attribute_name;  // these and '='
  std::uint64_t quote;                // '"'

  friend bool operator==(const TokenMasks&, const TokenMasks&) = default;
};

}  // namespace trawl
