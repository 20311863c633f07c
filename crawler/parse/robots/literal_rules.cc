// Most rules have no '*', or only one at their end, and are prefixes. In a sorted array, one binary
// search finds the longest prefix of a path. Each rule stores the best rank among itself and its
// own prefixes, since a shorter prefix may have more octets in the file ("/a***"). Rules with a '$'
// and no '*' are found in a second array.
#include "crawler/parse/robots/literal_rules.h"

#include <algorithm>
#include <cassert>

#include "crawler/parse/robots/robots_path.h"

namespace trawl {
namespace {

std::size_t common_prefix(std::string_view a, std::string_view b) {
  const auto [end, unused] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(end - a.begin());
}

}  // namespace

void LiteralRules::add(std::string_view text, RuleRank rank) {
  assert(!finished_);
  rules_.push_back({.key = robots_sort_key(text),
                    .begin = static_cast<std::uint32_t>(texts_.size()),
                    .size = static_cast<std::uint32_t>(text.size()),
                    .best = rank,
                    .parent = kNoParent});
  texts_ += text;
}

void LiteralRules::finish(Match match) {
  assert(!finished_);
  finished_ = match;
  std::sort(rules_.begin(), rules_.end(), [&](const Rule& a, const Rule& b) {
    if (a.key != b.key) return a.key < b.key;
    const int order = text(a).compare(text(b));
    return order != 0 ? order < 0 : a.best > b.best;
  });
  // Of equal texts, the first has the best rank and is kept.
  rules_.erase(std::unique(rules_.begin(), rules_.end(),
                           [&](const Rule& a, const Rule& b) {
                             return a.key == b.key && text(a) == text(b);
                           }),
               rules_.end());
  rules_.shrink_to_fit();
  texts_.shrink_to_fit();
  if (match == Match::kPrefix) link_prefixes();
}

void LiteralRules::link_prefixes() {
  for (std::uint32_t i = 1; i < rules_.size(); ++i) {
    Rule& rule = rules_[i];
    // A rule that is a prefix of the second of two neighbours is the first one, or a prefix of it.
    std::uint32_t parent = i - 1;
    while (parent != kNoParent && !text(rule).starts_with(text(rules_[parent]))) {
      parent = rules_[parent].parent;
    }
    rule.parent = parent;
    if (parent != kNoParent) rule.best = std::max(rule.best, rules_[parent].best);
  }
}

const LiteralRules::Rule* LiteralRules::last_up_to(std::string_view target) const {
  const std::uint64_t key = robots_sort_key(target);
  const auto end = std::partition_point(rules_.begin(), rules_.end(), [&](const Rule& rule) {
    return rule.key != key ? rule.key < key : text(rule) <= target;
  });
  return end == rules_.begin() ? nullptr : &*(end - 1);
}

RuleRank LiteralRules::find_prefix(std::string_view target) const {
  assert(finished_ == Match::kPrefix);
  const Rule* rule = last_up_to(target);
  if (rule == nullptr) return 0;
  const std::size_t common = common_prefix(text(*rule), target);
  while (rule->size > common) {
    if (rule->parent == kNoParent) return 0;
    rule = &rules_[rule->parent];
  }
  return rule->best;
}

RuleRank LiteralRules::find_whole(std::string_view target) const {
  assert(finished_ == Match::kWhole);
  const Rule* rule = last_up_to(target);
  return rule != nullptr && text(*rule) == target ? rule->best : 0;
}

}  // namespace trawl
