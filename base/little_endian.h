// Little-endian loads, so that hashes are the same on every machine.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace trawl {

inline std::uint64_t load_le64(const void* from) noexcept {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

}  // namespace trawl
