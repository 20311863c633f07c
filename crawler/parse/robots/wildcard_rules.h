// WildcardRules: rules with a '*' inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crawler/parse/robots/robots_path.h"
#include "crawler/parse/robots/rule_rank.h"

namespace trawl {

// The cost of finding a rule: limit and count.
struct RobotsMatchCost {
  // Steps of direct search before the index is used: far more than ordinary files need, and well
  // under a millisecond.
  std::uint64_t direct_steps = 50'000;
  std::uint64_t steps = 0;  // total so far; a step takes a nanosecond or two
};

// Rules sorted by rank, so that the first match is the best. The URL's bytes, start and end rule
// out nearly all rules that do not match. The pieces of the others are searched for directly, which
// is fastest for ordinary files; after too many steps, the remaining rules use an index of the URL
// (TextIndex), in which finding a piece needs no scan.
class WildcardRules {
 public:
  // `pattern` must be normalised and have a '*', but no two adjacent ones and none at its end.
  void add(std::string_view pattern, bool anchored, RuleRank rank);
  void finish();  // call once, after the last add()

  // The best rank above `least` of a matching rule, or 0.
  RuleRank find(const RobotsPath& target, RuleRank least, RobotsMatchCost& work) const;

  std::size_t memory() const noexcept {  // allocated, in bytes
    return patterns_.capacity() + rules_.capacity() * sizeof(Rule);
  }

 private:
  struct Rule {
    RuleRank rank;
    std::uint64_t bytes;       // robots_byte_set() of the literals
    std::uint64_t start;       // robots_sort_key() of the part before the first '*'
    std::uint64_t start_mask;  // mask of the bytes to compare
    std::uint64_t end;         // with a '$': the last bytes of the part after the last '*'
    std::uint64_t end_mask;    // mask of the bytes to compare
    std::uint32_t begin;       // position of the pattern in patterns_
    std::uint32_t size;
    std::uint32_t literals;  // octets other than '*': shorter URLs cannot match
    bool anchored;
  };

  // Facts about a URL that rule out rules.
  struct Seen {
    std::uint64_t missing;  // complement of its robots_byte_set()
    std::uint64_t start;    // its first eight bytes
    std::uint64_t end;      // its last eight bytes
    std::size_t size;
  };

  static const Rule* next_candidate(const Rule* rule, const Rule* end, const Seen& seen,
                                    RuleRank least);
  template <class Search>
  bool matches(const Rule& rule, std::string_view target, Search& search) const;

  std::string patterns_;
  std::vector<Rule> rules_;
  bool finished_ = false;
};

}  // namespace trawl
