// The names that rules look for: parameters, session ids, index files.
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

// The one spelling of a name: lower case, with escapes where they are needed. Errors:
// kInvalidArgument if it is empty or too long, or if a '*' stands elsewhere than at its end.
Result<std::string> normal_name(std::string_view name);

// The names in their one spelling, sorted, each once; those of default_names(rule) if there is no
// list. Names that cannot be are left out.
std::vector<std::string> normal_names(const std::optional<std::vector<std::string>>& names,
                                      Rule rule);

// A list of names compiled for looking them up. Takes no memory and time bounded by the list for
// each look-up, however long what is looked up.
class NameMatcher {
 public:
  NameMatcher() = default;
  explicit NameMatcher(std::span<const std::string> normal_names);

  // True if `text`, percent-decoded, is one of the names.
  bool matches(std::string_view text) const;

 private:
  std::vector<std::string> exact_;     // sorted
  std::vector<std::string> prefixes_;  // of names that end in '*'
  std::array<bool, 256> starts_{};     // bytes that some name starts with
  bool all_ = false;                   // "*"
};

}  // namespace trawl
