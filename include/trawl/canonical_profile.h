// Profile: the rules that make canonical keys, for all hosts and for single ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trawl/result.h"

namespace trawl {

// The steps that turn a URL into its key. The first four are lossless and always on. The others are
// heuristics about how sites are built; each is off unless a Profile enables it.
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

// A set of rules, for example those that changed a URL. Takes 32 bits.
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

// The opt-in rules and the names they match. With all of them off only the lossless rules apply.
//
// An absent list of names means the default list (see default_names()). Names are compared after
// percent-decoding and ignoring ASCII case. A '*' at the end matches any ending. A literal '*' is
// written "%2A"; a leading literal '+' or '-' is written "%2B" or "%2D".
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

  // Equal if both make the same keys: ignores the names of disabled rules and the order and
  // spelling of names.
  friend bool operator==(const CanonicalRules& a, const CanonicalRules& b);
};

// A rule's description for people. The rule alone turns the example `before` into `after`.
struct RuleInfo {
  Rule rule;
  std::string_view name;          // "sort_query", the same in configs and on command lines
  bool CanonicalRules::*enabled;  // nullptr for the lossless rules
  std::string_view what;
  std::string_view before;
  std::string_view after;
};
// One entry for each rule, in the order of the enumeration.
std::span<const RuleInfo> rule_infos();
inline const RuleInfo& rule_info(Rule rule) {
  return rule_infos()[static_cast<std::size_t>(rule)];
}

// The default names that a rule matches; empty for rules that match no names.
std::span<const std::string_view> default_names(Rule rule);

// Rules for some hosts instead of those for all.
struct HostRules {
  // A host name, or ".example.com" for example.com and all its subdomains. If several entries match
  // a host, the exact one applies, otherwise the longest.
  std::string host;
  CanonicalRules rules = {};
};

// Rules as configs and command lines state them. An absent list differs from an empty one.
struct RulesText {
  // Names of rules, "all" or "none". A leading '+' or '-' adds or removes a rule. If the first item
  // has such a sign, the list modifies the inherited rules (none, or for a host the rules for all
  // hosts); otherwise it replaces them.
  std::optional<std::vector<std::string>> rules = std::nullopt;
  // Names to look for instead of those before (the default ones, or for a host those for all
  // hosts); added to or taken away from those if the first has a '+' or '-' before it.
  std::optional<std::vector<std::string>> parameter_names = std::nullopt;
  std::optional<std::vector<std::string>> session_id_names = std::nullopt;
  std::optional<std::vector<std::string>> index_names = std::nullopt;
  friend bool operator==(const RulesText&, const RulesText&) = default;
};
// The same for one host.
struct HostRulesText {
  std::string host;
  RulesText text = {};
  friend bool operator==(const HostRulesText&, const HostRulesText&) = default;
};

// The rules that make canonical keys. Two crawls can share a seen-filter only if their profiles are
// equal.
struct Profile {
  CanonicalRules rules = {};
  std::vector<HostRules> hosts = {};

  // Makes a profile from the text of a config or command line. Errors: kInvalidArgument for an
  // invalid rule, name or host, or a host given twice; the message quotes it.
  static Result<Profile> from_text(const RulesText& text,
                                   std::span<const HostRulesText> hosts = {});

  // Parses the result of name(). Errors: kUnsupportedVersion if it has rules that this version of
  // Trawl does not know, kCorrupt if it is not a profile's name.
  static Result<Profile> from_name(std::string_view name);

  // Checks a profile whose fields were set directly; from_text() and from_name() return only valid
  // ones. Errors: kInvalidArgument for an invalid name, a host that is not in the form of
  // Url::hostname() (without trailing dot), or a host given twice. A Canonicalizer ignores such
  // names and hosts.
  Result<void> validate() const;

  // The whole profile as one line of ASCII, "lossless-2" if no opt-in rule is on:
  //   lossless-2 sort_query drop_index=default.*,index.* host=.example.com merge_slashes
  // Equal names mean equal keys, now and in later versions. A crawl stores this name with its
  // state.
  std::string name() const;

  friend bool operator==(const Profile& a, const Profile& b) { return a.name() == b.name(); }
};

// The differences between two profiles, one line each:
//   sort_query is off now
//   drop_parameters no longer drops: gclid
//   for .example.com: merge_slashes is on now
// Empty if the profiles are equal.
std::string profile_changes(const Profile& before, const Profile& after);
// The same for a stored name(), which may be any text.
std::string profile_changes(std::string_view before_name, const Profile& after);

}  // namespace trawl
