// LiteralRules: rules without wildcards.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crawler/parse/robots/rule_rank.h"

namespace trawl {

// Rules that match paths that start with their text, or that equal it. Finding the best takes one
// binary search, and for prefixes one step per rule that is a prefix of the found one.
class LiteralRules {
 public:
  enum class Match { kPrefix, kWhole };

  void add(std::string_view text, RuleRank rank);
  void finish(Match match);  // call once, after the last add()

  // The best rank of the rules that are prefixes of `target`. After finish(kPrefix).
  RuleRank find_prefix(std::string_view target) const;
  // The best rank of the rules that equal `target`. After finish(kWhole).
  RuleRank find_whole(std::string_view target) const;

  std::size_t memory() const noexcept {  // allocated, in bytes
    return texts_.capacity() + rules_.capacity() * sizeof(Rule);
  }

 private:
  static constexpr std::uint32_t kNoParent = UINT32_MAX;

  struct Rule {
    std::uint64_t key;    // robots_sort_key(text)
    std::uint32_t begin;  // position of the text in texts_
    std::uint32_t size;
    RuleRank best;         // its own rank, or for prefixes the best of it and its prefixes
    std::uint32_t parent;  // the longest other rule that is a prefix of this one
  };

  std::string_view text(const Rule& rule) const {
    return std::string_view(texts_).substr(rule.begin, rule.size);
  }
  void link_prefixes();
  // The last rule whose text is not greater than `target`, or null.
  const Rule* last_up_to(std::string_view target) const;

  std::string texts_;
  std::vector<Rule> rules_;        // once finished sorted by text, each text once
  std::optional<Match> finished_;  // for which
};

}  // namespace trawl
