// The kinds of [url]: the rules for canonical keys.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "trawl/canonical_profile.h"

#include "crawler/config/config_kinds.h"
#include "crawler/config/config_values.h"
#include "crawler/config/kind_parts.h"
#include "crawler/config/nearest_name.h"

namespace trawl::config_kind {

namespace {

using Names = std::optional<Strings>;

// A list of [url], the same for all hosts and for one.
struct NameList {
  std::string_view leaf;
  Names RulesText::*field;
  std::string_view type;
};
constexpr NameList kNameLists[] = {
    {"rules", &RulesText::rules, "an array of rules such as [\"sort_query\"]"},
    {"parameter_names", &RulesText::parameter_names, "an array of names such as [\"+ref\"]"},
    {"session_id_names", &RulesText::session_id_names, "an array of names such as [\"+token\"]"},
    {"index_names", &RulesText::index_names, "an array of names such as [\"+home.html\"]"},
};

std::string did_you_mean(std::string_view text, std::string_view leaf) {
  if (leaf != "rules") return {};
  std::vector<std::string_view> names;
  for (const RuleInfo& info : rule_infos()) {
    if (info.enabled != nullptr) names.push_back(info.name);
  }
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  const std::string_view nearest = nearest_name(text, names);
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

// Checks each name alone, so that each bad one is reported with its place.
Kind<Strings> names_of(const NameList& list) {
  const auto read = [&list](const toml::node& element,
                            const ConfigComplaint& complain) -> std::optional<std::string> {
    const auto text = element.value_exact<std::string>();
    if (!text) {
      complain(element, mismatch(list.type, "", element));
      return std::nullopt;
    }
    RulesText alone;
    alone.*list.field = Strings{*text};
    const auto profile = Profile::from_text(alone);
    if (profile) return text;
    complain(element, profile.error().message + did_you_mean(*text, list.leaf));
    return std::nullopt;
  };
  return array<std::string>(std::string(list.type), read, [](const Strings& names) {
    std::string out = "[";
    for (const std::string& name : names)
      out += (out.size() > 1 ? ", " : "") + toml_string(name);
    return out + "]";
  });
}

std::optional<HostRulesText> read_url_host(const toml::node& node,
                                           const ConfigComplaint& complain) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    complain(node, mismatch("a table, [[url.host]]", "", node));
    return std::nullopt;
  }
  HostRulesText rules;
  for (auto&& [name, value] : *table) {
    const auto* list = std::ranges::find(kNameLists, name.str(), &NameList::leaf);
    if (list != std::end(kNameLists)) {
      rules.text.*list->field = names_of(*list).read(value, complain);
    } else if (name.str() == "host" && value.is_string()) {
      rules.host = value.value_or(std::string());
    } else if (name.str() == "host") {
      complain(value, "host: expected a host name such as \".example.com\"");
    } else {
      complain(value, fmt::format("unknown key {}; a host has host, rules, parameter_names, "
                                  "session_id_names and index_names",
                                  shown(name.str())));
    }
  }
  if (const auto valid = Profile::from_text({}, {&rules, 1}); !valid) {
    complain(node, valid.error().message);
    return std::nullopt;
  }
  return rules;
}

std::string write_url_hosts(const std::vector<HostRulesText>& hosts) {
  std::string out;
  for (const HostRulesText& rules : hosts) {
    out += out.empty() ? "[" : ",";
    out += "\n  { host = " + toml_string(rules.host);
    for (const NameList& list : kNameLists) {
      if (const Names& names = rules.text.*list.field)
        out += fmt::format(", {} = {}", list.leaf, names_of(list).write(*names));
    }
    out += " }";
  }
  return out.empty() ? out : out + "\n]";
}

}  // namespace

Kind<Names> url_names(std::string_view leaf) {
  const NameList& list = *std::ranges::find(kNameLists, leaf, &NameList::leaf);
  const auto names = names_of(list);
  return {names.type,
          {},
          [names](const toml::node& node, const ConfigComplaint& complain) {
            return std::optional<Names>(std::in_place, names.read(node, complain));
          },
          [names](const Names& value) { return value ? names.write(*value) : std::string(); }};
}

Kind<std::vector<HostRulesText>> url_hosts() {
  Kind<std::vector<HostRulesText>> kind;
  kind.type = "tables [[url.host]] with a host and any of the keys above";
  kind.read = [type = kind.type](const toml::node& node, const ConfigComplaint& complain) {
    Strings hosts;
    const auto read_one = [&hosts](const toml::node& element, const ConfigComplaint& complain_of) {
      auto rules = read_url_host(element, complain_of);
      if (rules && std::ranges::find(hosts, rules->host) != hosts.end()) {
        complain_of(element, fmt::format("there are rules for {} already", shown(rules->host)));
        rules.reset();
      }
      if (rules) hosts.push_back(rules->host);
      return rules;
    };
    return array<HostRulesText>(type, read_one, write_url_hosts).read(node, complain);
  };
  kind.write = write_url_hosts;
  return kind;
}

}  // namespace trawl::config_kind
