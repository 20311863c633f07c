#include "url/compiled_profile.h"

#include "url/registrable_domain.h"

namespace trawl {

namespace {

constexpr std::string_view kWww = "www.";

// The number of bytes of a host that must stay: its registrable domain, or all if it has none
// ("www.com" is a domain itself, and "www.co.uk" has none below it).
std::size_t least_host_bytes(std::string_view hostname) {
  // Without one, registrable_domain() returns the whole host.
  const std::size_t dot = hostname.size() - without_trailing_dot(hostname).size();
  return registrable_domain(hostname).size() + dot;
}

}  // namespace

CompiledRules::CompiledRules(const CanonicalRules& rules)
    : on(rules),
      parameters(normal_names(rules.parameter_names, Rule::kDropParameters)),
      session_ids(normal_names(rules.session_id_names, Rule::kDropSessionIds)),
      index_names(normal_names(rules.index_names, Rule::kDropIndex)) {}

CompiledProfile::CompiledProfile(const Profile& profile) {
  rules_.reserve(1 + profile.hosts.size());
  rules_.emplace_back(profile.rules);
  for (const HostRules& host : profile.hosts) {
    std::string_view name = host.host;
    const bool domain = name.starts_with('.');
    if (domain) name.remove_prefix(1);
    (domain ? domains_ : hosts_).emplace(without_trailing_dot(name), rules_.size());
    rules_.emplace_back(host.rules);
  }
}

const CompiledRules& CompiledProfile::rules_for(std::string_view hostname) const {
  if (rules_.size() == 1) return rules_[0];
  std::string_view name = without_trailing_dot(hostname);
  if (name.size() <= kMaxHostBytes) {
    if (const auto found = hosts_.find(name); found != hosts_.end()) return rules_[found->second];
  } else {
    // Cut to whole labels within the longest valid name.
    const std::size_t dot = name.find('.', name.size() - kMaxHostBytes - 1);
    if (dot == std::string_view::npos) return rules_[0];
    name.remove_prefix(dot + 1);
  }
  if (domains_.empty()) return rules_[0];
  while (true) {
    if (const auto found = domains_.find(name); found != domains_.end())
      return rules_[found->second];
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) return rules_[0];
    name.remove_prefix(dot + 1);
  }
}

const CompiledRules& CompiledProfile::rules_for_key(std::string_view& hostname) const {
  const CompiledRules* rules = &rules_for(hostname);
  if (!hostname.starts_with(kWww)) return *rules;
  std::size_t least = 0;  // not computed yet
  while (rules->on.drop_www && hostname.starts_with(kWww)) {
    if (least == 0) least = least_host_bytes(hostname);
    const std::string_view rest = hostname.substr(kWww.size());
    if (rest.size() < least || rest.starts_with('.')) break;
    hostname = rest;
    // A longer host has the rules of its last labels, which have not changed.
    if (hostname.size() <= kMaxHostBytes + 1) rules = &rules_for(hostname);
  }
  return *rules;
}

}  // namespace trawl
