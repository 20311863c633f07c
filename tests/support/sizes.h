// Sizes in bytes.
#pragma once

#include <cstdint>

namespace trawl::test {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace trawl::test
