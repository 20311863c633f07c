// RuleRank: decides which of two matching rules applies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

// The rule with the higher rank applies: the pattern with more octets, then Allow before Disallow,
// then the earlier line. 0: no rule.
using RuleRank = std::uint64_t;

constexpr RuleRank rule_rank(std::size_t octets, bool allow, std::size_t index) {
  return RuleRank{octets} << 33 | RuleRank{allow} << 32 | (UINT32_MAX - index);
}

constexpr std::size_t rule_index(RuleRank rank) {
  return UINT32_MAX - static_cast<std::uint32_t>(rank);
}

}  // namespace trawl
