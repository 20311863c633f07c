// The length of a text's ASCII prefix, at memory speed.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace trawl {

inline constexpr std::uint64_t kNonAsciiBits = 0x8080808080808080;

inline std::uint64_t load_8_bytes(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// The number of ASCII bytes before the first other one in `word`, eight loaded bytes that are not
// all ASCII.
inline std::size_t ascii_bytes_before(std::uint64_t word) {
  const std::uint64_t found = word & kNonAsciiBits;
  assert(found != 0);
  const int bits = std::endian::native == std::endian::little ? std::countr_zero(found)
                                                              : std::countl_zero(found);
  return static_cast<std::size_t>(bits) / 8;
}

// Length of the longest prefix of `bytes` that is ASCII.
inline std::size_t ascii_prefix_length(std::string_view bytes) {
  const char* const start = bytes.data();
  std::size_t at = 0;
  for (; bytes.size() - at >= 64; at += 64) {
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < 64; i += 8)
      any |= load_8_bytes(start + at + i);
    if ((any & kNonAsciiBits) != 0) break;
  }
  for (; bytes.size() - at >= 8; at += 8) {
    const std::uint64_t word = load_8_bytes(start + at);
    if ((word & kNonAsciiBits) != 0) return at + ascii_bytes_before(word);
  }
  while (at < bytes.size() && static_cast<unsigned char>(start[at]) < 0x80)
    ++at;
  return at;
}

}  // namespace trawl
