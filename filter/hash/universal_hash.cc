#include "filter/hash/universal_hash.h"

#include "filter/hash/mersenne127.h"

namespace trawl {

namespace {

Uint128 append(Uint128 polynomial, Uint128 multiplier, Uint128 value) noexcept {
  polynomial = multiply_add_127(polynomial, multiplier, static_cast<std::uint64_t>(value));
  return multiply_add_127(polynomial, multiplier, static_cast<std::uint64_t>(value >> 64));
}

}  // namespace

NhSums hash_many_blocks(const ExpandedKey& key, std::string_view bytes) noexcept {
  NhSums joined = first_sums(key, bytes.size());
  // A leading 1 parts inputs with different numbers of blocks.
  Uint128 first = 1, second = 1;
  while (!bytes.empty()) {
    const std::string_view block = bytes.substr(0, kHashBlockBytes);
    bytes.remove_prefix(block.size());
    NhSums sums;
    add_block(sums, block, key.nh.data());
    first = append(first, key.multipliers[0], sums.first);
    second = append(second, key.multipliers[1], sums.second);
  }
  joined.first += first;
  joined.second += second;
  return joined;
}

}  // namespace trawl
