// RobotsRuleSet: the compiled rules for one agent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "crawler/parse/robots/literal_rules.h"
#include "crawler/parse/robots/robots_file.h"
#include "crawler/parse/robots/robots_path.h"
#include "crawler/parse/robots/wildcard_rules.h"

namespace trawl {

// Rules without a '*' inside are looked up in sorted arrays; the others are tried one after the
// other, in order of rank.
class RobotsRuleSet {
 public:
  // Compiles the rules of the groups of `agents`.
  RobotsRuleSet(const RobotsFile& file, std::span<const RobotsAgent> agents);

  // The index into RobotsFile::rules of the deciding rule, or kNone.
  static constexpr std::size_t kNone = SIZE_MAX;
  std::size_t find(const RobotsPath& target, RobotsMatchCost& work) const;

  std::size_t memory() const noexcept {  // including this object, in bytes
    return sizeof(*this) + prefixes_.memory() + wholes_.memory() + wildcards_.memory();
  }

 private:
  void add(std::string_view value, bool allow, std::size_t index);

  LiteralRules prefixes_;  // match paths that start with them
  LiteralRules wholes_;    // match paths that equal them: rules with a '$'
  WildcardRules wildcards_;
};

}  // namespace trawl
