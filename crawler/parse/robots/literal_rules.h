// LiteralRules: rules without wildcards, sorted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crawler/parse/robots/rule_rank.h"

namespace trawl {

// Rules that match what starts with their text, or what equals it. Finding the best takes one
// binary search, and for prefixes one step per rule whose text starts the found one.
class LiteralRules {
 public:
  enum class Match { kPrefix, kWhole };

  void add(std::string_view text, RuleRank rank);
  void finish(Match match);  // once, after the last add()

  // The best rank of those whose text `target` starts with. Only after finish(kPrefix).
  RuleRank find_prefix(std::string_view target) const;
  // The best rank of those whose text is `target`. Only after finish(kWhole).
  RuleRank find_whole(std::string_view target) const;

  std::size_t memory() const noexcept {  // allocated, in bytes
    return texts_.capacity() + rules_.capacity() * sizeof(Rule);
  }

 private:
  static constexpr std::uint32_t kNoParent = UINT32_MAX;

  struct Rule {
    std::uint64_t key;    // robots_sort_key(text)
    std::uint32_t begin;  // of the text in texts_
    std::uint32_t size;
    RuleRank best;         // its own; for prefixes, of those that start it too
    std::uint32_t parent;  // the longest other rule that starts this one
  };

  std::string_view text(const Rule& rule) const {
    return std::string_view(texts_).substr(rule.begin, rule.size);
  }
  void link_prefixes();
  // The last rule whose text is not above `target`, or null.
  const Rule* last_up_to(std::string_view target) const;

  std::string texts_;
  std::vector<Rule> rules_;  // sorted by text, each text once
};

}  // namespace trawl
