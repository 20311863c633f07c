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

// What finding a rule may cost, and has cost.
struct RobotsWork {
  // Steps of direct search before the index is used: far more than ordinary files take, and well
  // under a millisecond.
  std::uint64_t direct_steps = 50'000;
  std::uint64_t steps = 0;  // added up: about one for each nanosecond or two
};

// The rules stand in the order of their rank, so that the first to match is the best. Nearly all
// that cannot match are told by the bytes the URL has and by its start. Searching for the pieces of
// the others directly is fastest for ordinary files; once a file has cost more steps than those
// do, the rest of its rules is searched for in an index of the URL (TextIndex), where a piece
// costs no scan of the URL.
class WildcardRules {
 public:
  // `pattern` is normalised, has a '*', and no '*' next to another or at its end.
  void add(std::string_view pattern, bool anchored, RuleRank rank);
  void finish();  // once, after the last add()

  // The best rank of those above `least` that match, or 0.
  RuleRank find(const RobotsTarget& target, RuleRank least, RobotsWork& work) const;

  std::size_t memory() const noexcept {  // allocated, in bytes
    return patterns_.capacity() + rules_.capacity() * sizeof(Rule);
  }

 private:
  struct Rule {
    RuleRank rank;
    std::uint64_t bytes;       // robots_byte_set() of the literals
    std::uint64_t start;       // robots_sort_key() of what is before the first '*'
    std::uint64_t start_mask;  // its bytes that count
    std::uint64_t end;         // with a '$': the last bytes of what is behind the last '*'
    std::uint64_t end_mask;    // its bytes that count
    std::uint32_t begin;       // of the pattern in patterns_
    std::uint32_t size;
    std::uint32_t literals;  // octets that are no '*': no shorter URL can match
    bool anchored;
  };

  // What of a URL tells that a rule cannot match.
  struct Seen {
    std::uint64_t missing;  // of robots_byte_set(), the bytes it has not
    std::uint64_t start;    // its first eight bytes
    std::uint64_t end;      // and its last
    std::size_t size;
  };

  static const Rule* next_candidate(const Rule* rule, const Rule* end, const Seen& seen,
                                    RuleRank least);
  template <class Search>
  bool matches(const Rule& rule, std::string_view target, Search& search) const;

  std::string patterns_;
  std::vector<Rule> rules_;
};

}  // namespace trawl
