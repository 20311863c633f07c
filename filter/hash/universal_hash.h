// The universal hash under KeyedHash: bytes of any length to two numbers of 128 bits. Of two given
// inputs both numbers are the same with probability at most 2^-125 over the key.
#pragma once

#include <string_view>

#include "filter/hash/nh.h"

namespace trawl {

// The length parts inputs whose words are the same; the offsets make both numbers uniform.
inline NhSums first_sums(const ExpandedKey& key, std::size_t length) noexcept {
  return {.first = key.offsets[0] + length, .second = key.offsets[1]};
}

// Of at most kHashBlockBytes.
inline NhSums hash_one_block(const ExpandedKey& key, std::string_view bytes) noexcept {
  NhSums sums = first_sums(key, bytes.size());
  add_block(sums, bytes, key.nh.data());
  return sums;
}

// Of more: NH of each block, joined by a polynomial for each chain modulo 2^127 - 1, whose
// coefficients are the halves of the blocks' sums.
NhSums hash_many_blocks(const ExpandedKey& key, std::string_view bytes) noexcept;

}  // namespace trawl
