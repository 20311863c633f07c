// NH, the universal hash of UMAC (Black, Halevi, Krawczyk, Krovetz, Rogaway: "UMAC: fast and secure
// message authentication", 1999) with words of 64 bits, as in VMAC (Krovetz, Dai, 2007), twice
// over.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/little_endian.h"
#include "filter/hash/expanded_key.h"

namespace trawl {

// Two chains of NH over the same words. The second uses the key words two further on (the paper's
// "Toeplitz" construction), so that both collide with the product of their chances.
struct NhSums {
  Uint128 first = 0;
  Uint128 second = 0;

  void add(std::uint64_t x, std::uint64_t y, const std::uint64_t* key) noexcept {
    first += static_cast<Uint128>(x + key[0]) * (y + key[1]);
    second += static_cast<Uint128>(x + key[2]) * (y + key[3]);
  }
};

// Adds fewer than 16 bytes as one pair of words, which for a given length tell every byte.
inline void add_few_bytes(NhSums& sums, std::string_view bytes, const std::uint64_t* key) noexcept {
  const char* const p = bytes.data();
  const std::size_t n = bytes.size();
  const auto byte = [p](std::size_t i) -> std::uint64_t {
    return static_cast<unsigned char>(p[i]);
  };
  if (n >= 8) {
    sums.add(load_le64(p), load_le64(p + n - 8), key);
  } else if (n >= 4) {
    sums.add(load_le32(p), load_le32(p + n - 4), key);
  } else if (n > 0) {
    sums.add(byte(0) | byte(n / 2) << 8 | byte(n - 1) << 16, 0, key);
  } else {
    sums.add(0, 0, key);
  }
}

// Adds at most kHashBlockBytes bytes: the last 16, then 16 by 16 what is before them. The last may
// overlap those before, which for a given length loses nothing; they come first since then nothing
// is left to be worked out after the loop.
inline void add_block(NhSums& sums, std::string_view bytes, const std::uint64_t* key) noexcept {
  if (bytes.size() < 16) [[unlikely]]
    return add_few_bytes(sums, bytes, key);
  const char* p = bytes.data();
  const char* const last = p + bytes.size() - 16;
  sums.add(load_le64(last), load_le64(last + 8), key);
  for (; p < last; p += 16)
    sums.add(load_le64(p), load_le64(p + 8), key += 2);
}

}  // namespace trawl
