// A file may name hundreds of agents, and a crawler is one of them. So reading a file only records
// where its lines are, and the rules of an agent are compiled at its first verdict. Agents named by
// the same groups share their compiled rules. The agent of the first verdict is remembered as it
// was written, since most files are used for one agent only.
//
// Compiled rules of all agents together take at most 8 MiB, which is more than those of any one
// agent. A file can name thousands of agents that share one large group and have a small group
// each; rules that no longer fit are compiled again for each verdict.
#include "crawler/parse/robots/robots_rule_set.h"

#include <algorithm>
#include <string>

#include "crawler/parse/robots/rule_rank.h"

namespace trawl {
namespace {

// Consecutive stars are equivalent to one.
void collapse_stars(std::string& pattern) {
  std::size_t size = 0;
  for (const char c : pattern) {
    if (c != '*' || size == 0 || pattern[size - 1] != '*') pattern[size++] = c;
  }
  pattern.resize(size);
}

}  // namespace

RobotsRuleSet::RobotsRuleSet(const RobotsFile& file, std::span<const RobotsAgent> agents) {
  for (const RobotsAgent& agent : agents) {
    for (const RobotsRule& rule : file.rules_of(agent.group)) {
      add(file.view(rule.pattern), rule.allow, static_cast<std::size_t>(&rule - file.rules.data()));
    }
  }
  prefixes_.finish(LiteralRules::Match::kPrefix);
  wholes_.finish(LiteralRules::Match::kWhole);
  wildcards_.finish();
}

void RobotsRuleSet::add(std::string_view value, bool allow, std::size_t index) {
  // Paths start with '/'; a pattern with another start matches none.
  if (value.front() != '/' && value.front() != '*') return;
  bool anchored = value.ends_with('$');
  if (anchored) value.remove_suffix(1);
  std::string pattern;
  append_normalized(value, true, pattern);
  const RuleRank rank = rule_rank(pattern.size() + (anchored ? 1 : 0), allow, index);

  if (pattern.find('*') != std::string::npos) {
    collapse_stars(pattern);
    if (pattern.ends_with('*')) {  // a final '*' makes a '$' irrelevant
      pattern.pop_back();
      anchored = false;
    }
  }
  if (pattern.find('*') != std::string::npos) {
    wildcards_.add(pattern, anchored, rank);
  } else {
    (anchored ? wholes_ : prefixes_).add(pattern, rank);
  }
}

std::size_t RobotsRuleSet::find(const RobotsPath& target, RobotsMatchCost& work) const {
  RuleRank best = prefixes_.find_prefix(target.text());
  best = std::max(best, wholes_.find_whole(target.text()));
  best = std::max(best, wildcards_.find(target, best, work));
  return best == 0 ? kNone : rule_index(best);
}

}  // namespace trawl
