// The table of rules, and parsing of RulesText.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "trawl/canonical_profile.h"
#include "trawl/url.h"

#include "url/compiled_profile.h"
#include "url/name_matcher.h"
#include "url/registrable_domain.h"

namespace trawl {

namespace {

using Switch = bool CanonicalRules::*;
using Names = std::optional<std::vector<std::string>>;

constexpr Switch kAlwaysOn = nullptr;

constexpr std::array<RuleInfo, 14> kRules = {{
    {Rule::kDropFragment, "drop_fragment", kAlwaysOn,
     "Drop the fragment, which is never sent to a server",  //
     "http://example.com/a#top", "http://example.com/a"},
    {Rule::kUppercaseEscapes, "uppercase_escapes", kAlwaysOn,
     "Write percent-escapes in upper-case hex",  //
     "http://example.com/caf%c3%a9", "http://example.com/caf%C3%A9"},
    {Rule::kDecodeUnreserved, "decode_unreserved", kAlwaysOn,
     "Decode escapes of letters, digits, '-', '.', '_' and '~'",  //
     "http://example.com/%7Ejoe?q=%41", "http://example.com/~joe?q=A"},
    {Rule::kDropTrailingDot, "drop_trailing_dot", kAlwaysOn,
     "Drop the dot at the end of a host name, which names the DNS root",  //
     "http://example.com./a", "http://example.com/a"},
    {Rule::kSortQuery, "sort_query", &CanonicalRules::sort_query,
     "Sort query parameters by name; equal names keep their order",  //
     "http://example.com/?b=1&a=2&a=1", "http://example.com/?a=2&a=1&b=1"},
    {Rule::kDropParameters, "drop_parameters", &CanonicalRules::drop_parameters,
     "Drop query parameters by name: utm_*, gclid, fbclid, ...",
     "http://example.com/?id=7&utm_source=mail", "http://example.com/?id=7"},
    {Rule::kDropSessionIds, "drop_session_ids", &CanonicalRules::drop_session_ids,
     "Drop session ids from path and query: jsessionid, PHPSESSID, sid, ...",
     "http://example.com/a;jsessionid=1A2B?sid=9", "http://example.com/a"},
    {Rule::kDropEmptyQuery, "drop_empty_query", &CanonicalRules::drop_empty_query,
     "Drop a '?' that nothing follows",  //
     "http://example.com/a?", "http://example.com/a"},
    {Rule::kMergeSlashes, "merge_slashes", &CanonicalRules::merge_slashes,
     "Merge consecutive slashes in the path",  //
     "http://example.com//a///b", "http://example.com/a/b"},
    {Rule::kDropTrailingSlash, "drop_trailing_slash", &CanonicalRules::drop_trailing_slash,
     "Drop slashes at the path's end",  //
     "http://example.com/a/", "http://example.com/a"},
    {Rule::kDropIndex, "drop_index", &CanonicalRules::drop_index,
     "Drop the name of a directory's page: index.html, default.aspx, ...",
     "http://example.com/a/index.html", "http://example.com/a/"},
    {Rule::kDropWww, "drop_www", &CanonicalRules::drop_www,
     "Drop \"www.\" before a registrable domain or its subdomains",  //
     "http://www.example.com/", "http://example.com/"},
    {Rule::kIgnoreScheme, "ignore_scheme", &CanonicalRules::ignore_scheme,
     "Treat https as http, except on the other scheme's default port",  //
     "https://example.com/", "http://example.com/"},
    {Rule::kLowercasePath, "lowercase_path", &CanonicalRules::lowercase_path,
     "Convert the path to lower case",  //
     "http://example.com/About/Us", "http://example.com/about/us"},
}};

tl::unexpected<Error> invalid(std::string message) {
  return error(ErrorCode::kInvalidArgument, std::move(message));
}

// Removes the sign of `item` and returns it: '+', '-', or 0 for none.
char take_sign(std::string_view& item) {
  if (item.empty() || (item[0] != '+' && item[0] != '-')) return 0;
  const char sign = item[0];
  item.remove_prefix(1);
  return sign;
}

bool begins_with_sign(const std::vector<std::string>& items) {
  std::string_view first = items.empty() ? std::string_view() : items.front();
  return take_sign(first) != 0;
}

void set_all(CanonicalRules& rules, bool on) {
  for (const RuleInfo& info : kRules) {
    if (info.enabled != kAlwaysOn) rules.*info.enabled = on;
  }
}

std::string known_rules() {
  std::string names;
  for (const RuleInfo& info : kRules) {
    if (info.enabled == kAlwaysOn) continue;
    if (!names.empty()) names += ", ";
    names += info.name;
  }
  return names;
}

Result<void> apply_rule(std::string_view item, CanonicalRules& rules) {
  const std::string_view whole = item;
  const bool on = take_sign(item) != '-';
  if (item == "all" || item == "none") {
    if (item.size() != whole.size()) {
      return invalid(fmt::format("the rule \"{}\": \"{}\" cannot have a sign", whole, item));
    }
    set_all(rules, item == "all");
    return {};
  }
  const auto info = std::find_if(kRules.begin(), kRules.end(),
                                 [&](const RuleInfo& rule) { return rule.name == item; });
  if (info == kRules.end()) {
    return invalid(fmt::format("\"{}\" is not a rule; the rules are: {}, all, none",
                               item.substr(0, 80), known_rules()));
  }
  if (info->enabled == kAlwaysOn) {
    return invalid(fmt::format("the rule {} is always on and must not be listed", item));
  }
  rules.*info->enabled = on;
  return {};
}

Result<void> apply_names(const Names& items, Rule rule, Names& names) {
  if (!items) return {};
  std::vector<std::string> list;
  if (begins_with_sign(*items)) list = normal_names(names, rule);
  for (std::string_view item : *items) {
    const bool add = take_sign(item) != '-';
    auto name = normal_name(item);
    if (!name) return tl::unexpected(std::move(name).error());
    const auto found = std::find(list.begin(), list.end(), *name);
    if (add && found == list.end()) list.push_back(*std::move(name));
    if (!add) {
      if (found == list.end()) {
        return invalid(fmt::format("\"-{}\" removes a name that is not in the list of {}", item,
                                   rule_info(rule).name));
      }
      list.erase(found);
    }
  }
  names = std::move(list);
  return {};
}

Result<CanonicalRules> apply(const RulesText& text, CanonicalRules rules) {
  if (text.rules) {
    if (!begins_with_sign(*text.rules)) set_all(rules, false);
    for (const std::string& item : *text.rules) {
      if (auto done = apply_rule(item, rules); !done) return tl::unexpected(done.error());
    }
  }
  const std::array<Result<void>, 3> lists = {
      apply_names(text.parameter_names, Rule::kDropParameters, rules.parameter_names),
      apply_names(text.session_id_names, Rule::kDropSessionIds, rules.session_id_names),
      apply_names(text.index_names, Rule::kDropIndex, rules.index_names)};
  for (const auto& list : lists) {
    if (!list) return tl::unexpected(list.error());
  }
  return rules;
}

// The normal form of a host pattern: its name in the form of Url::hostname(), without a trailing
// dot.
Result<std::string> normal_host(std::string_view pattern) {
  const bool domain = pattern.starts_with('.');
  const std::string_view name = pattern.substr(domain ? 1 : 0);
  const auto wrong = [&](std::string_view why) {
    return invalid(
        fmt::format("\"{}\" is neither a host (example.com) nor a domain (.example.com): {}",
                    pattern.substr(0, 80), why));
  };
  if (name.empty() || name.starts_with('.')) return wrong("the name is empty");
  if (name.find_first_of("/\\?#@*") != std::string_view::npos ||
      (name.find(':') != std::string_view::npos && !(name[0] == '[' && name.back() == ']'))) {
    return wrong("give the name alone, without scheme, port, path or '*'");
  }
  const auto url = Url::parse(fmt::format("http://{}/", name));
  if (!url) return wrong("it cannot be a URL's host");
  if (domain && url->host_is_ip()) return wrong("an IP address has no subdomains");
  const std::string_view host = without_trailing_dot(url->hostname());
  if (host.size() > kMaxHostBytes)
    return wrong("it is longer than 253 bytes, the limit of host names");
  return fmt::format("{}{}", domain ? "." : "", host);
}

Result<void> check_names(const CanonicalRules& rules) {
  for (const Names* names : {&rules.parameter_names, &rules.session_id_names, &rules.index_names}) {
    if (!*names) continue;
    for (const std::string& name : **names) {
      if (auto normal = normal_name(name); !normal) return tl::unexpected(normal.error());
    }
  }
  return {};
}

}  // namespace

std::span<const RuleInfo> rule_infos() {
  return kRules;
}

std::vector<std::string_view> RuleSet::names() const {
  std::vector<std::string_view> names;
  for (const RuleInfo& info : kRules) {
    if (contains(info.rule)) names.push_back(info.name);
  }
  return names;
}

Result<Profile> Profile::from_text(const RulesText& text, std::span<const HostRulesText> hosts) {
  auto rules = apply(text, CanonicalRules{});
  if (!rules) return tl::unexpected(std::move(rules).error());
  Profile profile{.rules = *std::move(rules), .hosts = {}};
  std::set<std::string> seen;
  for (const HostRulesText& host : hosts) {
    auto name = normal_host(host.host);
    if (!name) return tl::unexpected(std::move(name).error());
    if (!seen.insert(*name).second)
      return invalid(fmt::format("the host {} is named twice", *name));
    auto host_rules = apply(host.text, profile.rules);
    if (!host_rules) {
      return invalid(fmt::format("rules for {}: {}", *name, host_rules.error().message));
    }
    profile.hosts.push_back({*std::move(name), *std::move(host_rules)});
  }
  return profile;
}

Result<void> Profile::validate() const {
  if (auto good = check_names(rules); !good) return good;
  std::set<std::string_view> seen;
  for (const HostRules& host : hosts) {
    const auto name = normal_host(host.host);
    if (!name) return tl::unexpected(name.error());
    if (*name != host.host) {
      return invalid(fmt::format("the host \"{}\" must be written {}", host.host, *name));
    }
    if (!seen.insert(host.host).second) {
      return invalid(fmt::format("the host {} is named twice", host.host));
    }
    if (auto good = check_names(host.rules); !good) return good;
  }
  return {};
}

}  // namespace trawl
