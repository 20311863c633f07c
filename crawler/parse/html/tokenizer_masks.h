// TokenMasks: where in a few dozen bytes of a page there is what ends the parts of a tag.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

// One bit a byte, the first byte's lowest.
struct TokenMasks {
  std::uint64_t opens;                // '<'
  std::uint64_t ends_name;            // white space, '/', '>'
  std::uint64_t ends_attribute_name;  // those and '='
  std::uint64_t quote;                // '"'

  friend bool operator==(const TokenMasks&, const TokenMasks&) = default;
};

}  // namespace trawl
