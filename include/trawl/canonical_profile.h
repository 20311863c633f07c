// Profile: which rules canonical keys are made by, for all hosts and for single ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

namespace trawl {

// What can happen to a URL on its way to its key. The first four are lossless and always on; the
// others are guesses about how sites are made, each off until a Profile switches it on.
enum class Rule : std::uint8_t {
  kDropFragment,
  kUppercaseEscapes,
  kDecodeUnreserved,
  kDropTrailingDot,
  kSortQuery,
  kDropParameters,
  kDropSessionIds,
  kDropEmptyQuery,
  kMergeSlashes,
  kDropTrailingSlash,
  kDropIndex,
  kDropWww,
  kIgnoreScheme,
  kLowercasePath,
};

// A set of rules, such as those that changed a URL. A value of 32 bits.
class RuleSet {
 public:
  constexpr void insert(Rule rule) noexcept { bits_ |= bit(rule); }
  constexpr bool contains(Rule rule) const noexcept { return (bits_ & bit(rule)) != 0; }
  constexpr bool empty() const noexcept { return bits_ == 0; }
  // In the order of the enumeration.
  std::vector<std::string_view> names() const;

  friend constexpr bool operator==(RuleSet, RuleSet) = default;

 private:
  static constexpr std::uint32_t bit(Rule rule) {
    return std::uint32_t{1} << static_cast<int>(rule);
  }

  std::uint32_t bits_ = 0;
};

// The opt-in rules and the names they look for. All off: the lossless rules alone.
//
// Each list of names, if absent, is the default one (see default_names()). Names are compared
// percent-decoded and ignoring ASCII case. A '*' at the end stands for any ending; any other '*' in
// a name is written "%2A", a '+' or '-' it begins with "%2B" or "%2D".
struct CanonicalRules {
  bool sort_query = false;
  bool drop_parameters = false;
  bool drop_session_ids = false;
  bool drop_empty_query = false;
  bool merge_slashes = false;
  bool drop_trailing_slash = false;
  bool drop_index = false;
  bool drop_www = false;
  bool ignore_scheme = false;
  bool lowercase_path = false;

  std::optional<std::vector<std::string>> parameter_names = std::nullopt;   // for drop_parameters
  std::optional<std::vector<std::string>> session_id_names = std::nullopt;  // for drop_session_ids
  std::optional<std::vector<std::string>> index_names = std::nullopt;       // for drop_index

  // Equal rules make equal keys: the names of a rule that is off do not count, nor does the order
  // or the spelling of names.
  friend bool operator==(const CanonicalRules& a, const CanonicalRules& b);
};

// What one rule is, in words; `before` becomes `after` by this rule alone.
struct RuleInfo {
  Rule rule;
  std::string_view name;          // "sort_query", the same in configs and on command lines
  bool CanonicalRules::*enabled;  // nullptr for the lossless rules
  std::string_view what;
  std::string_view before;
  std::string_view after;
};
// One for each rule, in the order of the enumeration.
std::span<const RuleInfo> rule_infos();
inline const RuleInfo& rule_info(Rule rule) {
  return rule_infos()[static_cast<std::size_t>(rule)];
}

// The names a rule looks for unless told otherwise; empty for rules that look for none.
std::span<const std::string_view> default_names(Rule rule);

// Rules for some hosts instead of those for all.
struct HostRules {
  // A host name, or ".example.com" for example.com and all its subdomains. Of several that match a
  // host the exact one counts, else the longest.
  std::string host;
  CanonicalRules rules = {};
};

// Rules as people write them. Absent is not the same as empty.
struct RulesText {
  // Names of rules, "all" or "none". A name with '+' or '-' before it is added or taken away. If
  // the first has such a sign the list changes what was there before (nothing, or for a host the
  // rules for all hosts), else it starts from nothing.
  std::optional<std::vector<std::string>> rules = std::nullopt;
  // Names to look for instead of those before (the default ones, or for a host those for all
  // hosts); added to or taken away from those if the first has a '+' or '-' before it.
  std::optional<std::vector<std::string>> parameter_names = std::nullopt;
  std::optional<std::vector<std::string>> session_id_names = std::nullopt;
  std::optional<std::vector<std::string>> index_names = std::nullopt;
  friend bool operator==(const RulesText&, const RulesText&) = default;
};
struct HostRulesText {
  std::string host;
  RulesText text = {};
  friend bool operator==(const HostRulesText&, const HostRulesText&) = default;
};

// The rules canonical keys are made by. Two crawls can share their "seen" only if their profiles
// are equal.
struct Profile {
  CanonicalRules rules = {};
  std::vector<HostRules> hosts = {};

  // Makes a profile of what a config or a command line says. Errors: kInvalidArgument for a rule,
  // a name or a host that cannot be, or a host named twice; the message quotes it.
  static Result<Profile> from_text(const RulesText& text,
                                   std::span<const HostRulesText> hosts = {});

  // The profile of a name(). Errors: kUnsupportedVersion if it has rules this version of Trawl does
  // not know, kCorrupt if it is no profile's name.
  static Result<Profile> from_name(std::string_view name);

  // Checks a profile made by hand; the two above make no other. Errors: kInvalidArgument for a name
  // that cannot be, a host that is not written as Url::hostname() writes it (without trailing dot),
  // or one named twice. A Canonicalizer passes over such names and hosts.
  Result<void> validate() const;

  // All of the profile in one line of ASCII, "lossless-2" if it has no rules:
  //   lossless-2 sort_query drop_index=default.*,index.* host=.example.com merge_slashes
  // Equal names mean equal keys, now and in later versions. What is stored with a crawl's state.
  std::string name() const;

  friend bool operator==(const Profile& a, const Profile& b) { return a.name() == b.name(); }
};

// What changes from one profile to another, a line for each change:
//   sort_query is off now
//   drop_parameters no longer drops: gclid
//   for .example.com: merge_slashes is on now
// Empty if they are equal.
std::string profile_changes(const Profile& before, const Profile& after);
// The same for a stored name(), whatever it is.
std::string profile_changes(std::string_view before_name, const Profile& after);

}  // namespace trawl
