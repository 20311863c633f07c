// The keyed hash's 16 bytes of key, expanded to the key words of its parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "trawl/fingerprint.h"

#include "base/mix.h"

namespace trawl {

// Bytes hashed with one set of key words; longer inputs are cut into blocks of this size.
inline constexpr std::size_t kHashBlockBytes = 1024;
// A key word for each word of a block, and two more for the second chain, which is shifted by two.
inline constexpr std::size_t kNhKeyWords = kHashBlockBytes / 8 + 2;

struct ExpandedKey {
  std::array<Uint128, 2> offsets;  // one a chain: what its sum starts from
  std::array<std::uint64_t, kNhKeyWords> nh;
  std::array<Uint128, 2> multipliers;  // one a chain, below 2^126: joins blocks
  KeyedHash::Key key;
};

// SipHash-2-4 with 128 bits of output, keyed with `key`, of the eight bytes of 0, 1, 2 ...: a
// pseudo-random function in counter mode. In this order: the NH words, the two offsets, the two
// multipliers; of each output the low half comes first.
ExpandedKey expand_key(const KeyedHash::Key& key) noexcept;

}  // namespace trawl
