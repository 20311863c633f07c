// CompiledProfile: a Profile prepared for fast lookups.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trawl/canonical_profile.h"

#include "url/name_matcher.h"

namespace trawl {

// A host name has at most 253 bytes in the DNS. Longer ones match no host's rules.
inline constexpr std::size_t kMaxHostBytes = 253;

struct CompiledRules {
  explicit CompiledRules(const CanonicalRules& rules);

  CanonicalRules on;  // the switches
  NameMatcher parameters;
  NameMatcher session_ids;
  NameMatcher index_names;
};

// Immutable, thread-safe.
class CompiledProfile {
 public:
  explicit CompiledProfile(const Profile& profile);

  // The rules for a URL with `hostname`. If drop_www is on for it, removes every "www." that may be
  // dropped from its front, and returns the rules for the remaining host: the rules must depend on
  // the key's host, or else a key might not be its own key.
  const CompiledRules& rules_for_key(std::string_view& hostname) const;

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Hosts = std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>;

  const CompiledRules& rules_for(std::string_view hostname) const;

  std::vector<CompiledRules> rules_;  // [0] is for hosts without rules of their own
  Hosts hosts_;
  Hosts domains_;  // without the leading dot
};

}  // namespace trawl
