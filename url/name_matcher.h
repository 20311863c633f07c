// The names that rules match: parameters, session ids, index files.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/canonical_profile.h"

namespace trawl {

inline constexpr std::size_t kMaxNameBytes = 256;  // decoded

// The normal form of a name: lower case, with only the necessary escapes. Errors: kInvalidArgument
// if it is empty or too long, or has a '*' before its end.
Result<std::string> normal_name(std::string_view name);

// The names in normal form, sorted, without duplicates; default_names(rule) if there is no list.
// Omits invalid names.
std::vector<std::string> normal_names(const std::optional<std::vector<std::string>>& names,
                                      Rule rule);

// A list of names compiled for lookups. A lookup takes no memory, and time bounded by the list for
// a text of any length.
class NameMatcher {
 public:
  NameMatcher() = default;
  explicit NameMatcher(std::span<const std::string> normal_names);

  // True if `text`, percent-decoded, is one of the names.
  bool matches(std::string_view text) const;

 private:
  std::vector<std::string> exact_;     // sorted
  std::vector<std::string> prefixes_;  // of names with a final '*'
  std::array<bool, 256> starts_{};     // first bytes of names
  bool all_ = false;                   // "*"
};

}  // namespace trawl
