// A profile's name: writing, parsing and comparing it.
#include "trawl/canonical_profile.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "url/name_matcher.h"
#include "url/percent_encoding.h"

namespace trawl {

namespace {

using Names = std::optional<std::vector<std::string>>;

constexpr std::string_view kLossless = "lossless-2";
constexpr std::string_view kHost = "host=";
// The bytes of host names that Profile::name() does not escape.
constexpr AsciiSet kPlainInHost =
    AsciiSet().with_range('a', 'z').with_range('0', '9').with("-._~[]:");

// The names that a rule matches; nullptr for rules without names.
template <class Rules>
auto names_of(Rules& rules, Rule rule) -> decltype(&rules.parameter_names) {
  switch (rule) {
    case Rule::kDropParameters:
      return &rules.parameter_names;
    case Rule::kDropSessionIds:
      return &rules.session_id_names;
    case Rule::kDropIndex:
      return &rules.index_names;
    default:
      return nullptr;
  }
}

void append_rules(const CanonicalRules& rules, std::string& out) {
  for (const RuleInfo& info : rule_infos()) {
    if (info.enabled == nullptr || !(rules.*info.enabled)) continue;
    out.append(" ").append(info.name);
    const Names* names = names_of(rules, info.rule);
    if (names == nullptr) continue;
    out += '=';
    for (const std::string& name : normal_names(*names, info.rule))
      out.append(name).append(",");
    if (out.back() == ',') out.pop_back();
  }
}

std::string escaped_host(std::string_view host) {
  std::string out;
  for (const char byte : host) {
    if (kPlainInHost.contains(byte)) {
      out.push_back(byte);
    } else {
      append_escape(byte, out);
    }
  }
  return out;
}

// The hosts in the order of their names. Of two with the same name the first counts.
std::map<std::string_view, const CanonicalRules*> sorted_hosts(const Profile& profile) {
  std::map<std::string_view, const CanonicalRules*> hosts;
  for (const HostRules& host : profile.hosts)
    hosts.emplace(host.host, &host.rules);
  return hosts;
}

// Returns the part of `text` before the first `separator`; `text` keeps the part after it.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

// Parses "sort_query" or "drop_index=index.html,index.php"; returns false on anything else.
bool read_rule(std::string_view token, CanonicalRules& rules) {
  const bool has_names = token.find('=') != std::string_view::npos;
  const std::string_view name = cut(token, '=');
  for (const RuleInfo& info : rule_infos()) {
    if (info.enabled == nullptr || info.name != name) continue;
    Names* names = names_of(rules, info.rule);
    if (has_names != (names != nullptr)) return false;
    rules.*info.enabled = true;
    if (names == nullptr) return true;
    names->emplace();
    while (!token.empty())
      (*names)->emplace_back(cut(token, ','));
    return true;
  }
  return false;
}

// --- profile_changes

class Changes {
 public:
  void compare(const CanonicalRules& before, const CanonicalRules& after, std::string_view host) {
    const std::string where = host.empty() ? "" : fmt::format("for {}: ", host);
    for (const RuleInfo& info : rule_infos()) {
      if (info.enabled == nullptr) continue;
      const bool was = before.*info.enabled;
      const bool is = after.*info.enabled;
      if (was != is) text_ += fmt::format("{}{} is {} now\n", where, info.name, is ? "on" : "off");
      const Names* names = names_of(before, info.rule);
      if (!was || !is || names == nullptr) continue;
      const auto old_names = normal_names(*names, info.rule);
      const auto new_names = normal_names(*names_of(after, info.rule), info.rule);
      list(fmt::format("{}{} no longer drops", where, info.name), old_names, new_names);
      list(fmt::format("{}{} also drops", where, info.name), new_names, old_names);
    }
  }
  std::string text() && {
    if (!text_.empty()) text_.pop_back();
    return std::move(text_);
  }

 private:
  void list(std::string_view what, const std::vector<std::string>& names,
            const std::vector<std::string>& others) {
    std::vector<std::string> only;
    std::set_difference(names.begin(), names.end(), others.begin(), others.end(),
                        std::back_inserter(only));
    if (!only.empty()) text_ += fmt::format("{}: {}\n", what, fmt::join(only, ", "));
  }

  std::string text_;
};

}  // namespace

bool operator==(const CanonicalRules& a, const CanonicalRules& b) {
  std::string a_name;
  std::string b_name;
  append_rules(a, a_name);
  append_rules(b, b_name);
  return a_name == b_name;
}

std::string Profile::name() const {
  std::string out(kLossless);
  append_rules(rules, out);
  for (const auto& [host, host_rules] : sorted_hosts(*this)) {
    out.append(" ").append(kHost).append(escaped_host(host));
    append_rules(*host_rules, out);
  }
  return out;
}

Result<Profile> Profile::from_name(std::string_view name) {
  const std::string_view whole = name;
  const std::string_view version = cut(name, ' ');
  if (version != kLossless) {
    return error(
        version.starts_with("lossless-") ? ErrorCode::kUnsupportedVersion : ErrorCode::kCorrupt,
        fmt::format("\"{}\" is not a profile that this version of Trawl knows; it must begin with "
                    "\"{}\" where {} was expected",
                    whole.substr(0, 200), version.substr(0, 40), kLossless));
  }
  Profile profile;
  CanonicalRules* rules = &profile.rules;
  while (!name.empty()) {
    const std::string_view token = cut(name, ' ');
    if (token.starts_with(kHost)) {
      profile.hosts.push_back({percent_decode(token.substr(kHost.size())), {}});
      rules = &profile.hosts.back().rules;
    } else if (!read_rule(token, *rules)) {
      return error(
          ErrorCode::kUnsupportedVersion,
          fmt::format("the profile has \"{}\", which is not a rule of this version of Trawl",
                      token.substr(0, 80)));
    }
  }
  if (profile.name() != whole || !profile.validate()) {
    return error(ErrorCode::kCorrupt,
                 fmt::format("\"{}\" is not a profile's name in the form that Trawl writes",
                             whole.substr(0, 200)));
  }
  return profile;
}

std::string profile_changes(const Profile& before, const Profile& after) {
  Changes changes;
  changes.compare(before.rules, after.rules, {});
  const auto old_hosts = sorted_hosts(before);
  const auto new_hosts = sorted_hosts(after);
  auto hosts = old_hosts;
  hosts.insert(new_hosts.begin(), new_hosts.end());
  std::string lines;
  for (const auto& [host, unused] : hosts) {
    const auto old_rules = old_hosts.find(host);
    const auto new_rules = new_hosts.find(host);
    if (old_rules == old_hosts.end()) {
      lines += fmt::format("\n{} has rules of its own now", host);
    } else if (new_rules == new_hosts.end()) {
      lines += fmt::format("\n{} has no rules of its own now", host);
    } else {
      changes.compare(*old_rules->second, *new_rules->second, host);
    }
  }
  std::string text = std::move(changes).text() + lines;
  if (text.starts_with('\n')) text.erase(0, 1);
  return text;
}

std::string profile_changes(std::string_view before_name, const Profile& after) {
  const auto before = Profile::from_name(before_name);
  return before ? profile_changes(*before, after) : before.error().message;
}

}  // namespace trawl
