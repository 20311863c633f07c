// The keys of [url]: the rules for canonical keys.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trawl/canonical_profile.h"

#include "crawler/config/config_key_types.h"
#include "crawler/config/config_values.h"
#include "crawler/config/key_tables.h"
#include "crawler/config/nearest_name.h"

namespace trawl {

namespace {

using Names = std::optional<std::vector<std::string>>;

// A list of [url], the same for all hosts and for one.
struct NameList {
  std::string_view leaf;
  Names RulesText::*field;
  std::string_view type;
  std::string_view doc;
};
constexpr NameList kLists[] = {
    {"rules", &RulesText::rules, "an array of rules such as [\"sort_query\"]",
     "which guesses about URLs decide what is the same page: names as `trawl normalize "
     "--list-rules` prints them, \"all\" or \"none\"; see canonical-keys.md"},
    {"parameter_names", &RulesText::parameter_names, "an array of names such as [\"+ref\"]",
     "what the rule drop_parameters drops; with a + before the first, beside the default names"},
    {"session_id_names", &RulesText::session_id_names, "an array of names such as [\"+token\"]",
     "what the rule drop_session_ids drops; likewise"},
    {"index_names", &RulesText::index_names, "an array of names such as [\"+home.html\"]",
     "what the rule drop_index drops; likewise"},
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

// Each name is checked by itself, so that each bad one is named with its place.
void read_names(const toml::node& node, const NameList& list, RulesText& into,
                const ConfigComplaint& complain) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return complain(node, config_key::mismatch(list.type, "", node));
  auto& names = (into.*list.field).emplace();
  for (const toml::node& element : *array) {
    const auto text = element.value_exact<std::string_view>();
    if (!text) {
      complain(element, config_key::mismatch(list.type, "", element));
      continue;
    }
    RulesText alone;
    alone.*list.field = std::vector{std::string(*text)};
    const auto profile = Profile::from_text(alone);
    if (profile) {
      names.emplace_back(*text);
    } else {
      complain(element, profile.error().message + did_you_mean(*text, list.leaf));
    }
  }
}

std::string to_toml(const std::vector<std::string>& names) {
  std::string out = "[";
  for (const std::string& name : names)
    out += (out.size() > 1 ? ", " : "") + toml_string(name);
  return out + "]";
}

ConfigKey names_key(const NameList& list) {
  ConfigKey key{.name = fmt::format("url.{}", list.leaf),
                .type = std::string(list.type),
                .range = "",
                .doc = std::string(list.doc),
                .read = {},
                .write = {}};
  key.read = [&list](const toml::node& node, CrawlConfig& config, const ConfigComplaint& complain) {
    read_names(node, list, config.url.text, complain);
  };
  key.write = [&list](const CrawlConfig& config) {
    const Names& names = config.url.text.*list.field;
    return names ? to_toml(*names) : std::string();
  };
  return key;
}

void read_host(const toml::node& node, CrawlConfig& config, const ConfigComplaint& complain) {
  const toml::table* table = node.as_table();
  if (table == nullptr)
    return complain(node, config_key::mismatch("a table, [[url.host]]", "", node));
  HostRulesText rules;
  for (auto&& [name, value] : *table) {
    const auto* list = std::ranges::find(kLists, name.str(), &NameList::leaf);
    if (list != std::end(kLists)) {
      read_names(value, *list, rules.text, complain);
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
  if (const auto valid = Profile::from_text({}, {&rules, 1}); !valid)
    return complain(node, valid.error().message);
  const bool again = std::ranges::any_of(
      config.url.hosts, [&](const HostRulesText& other) { return other.host == rules.host; });
  if (again)
    return complain(node, fmt::format("there are rules for {} already", shown(rules.host)));
  config.url.hosts.push_back(std::move(rules));
}

ConfigKey hosts_key() {
  ConfigKey key{.name = "url.host",
                .type = "tables [[url.host]] with a host and any of the keys above",
                .range = "",
                .doc = "other rules for a host, or for \".example.com\" and its subdomains",
                .read = {},
                .write = {}};
  key.read = [type = key.type](const toml::node& node, CrawlConfig& config,
                               const ConfigComplaint& complain) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return complain(node, config_key::mismatch(type, "", node));
    config.url.hosts.clear();
    for (const toml::node& element : *array)
      read_host(element, config, complain);
  };
  key.write = [](const CrawlConfig& config) {
    std::string out;
    for (const HostRulesText& rules : config.url.hosts) {
      out += out.empty() ? "[" : ",";
      out += "\n  { host = " + toml_string(rules.host);
      for (const NameList& list : kLists) {
        if (const Names& names = rules.text.*list.field)
          out += fmt::format(", {} = {}", list.leaf, to_toml(*names));
      }
      out += " }";
    }
    return out.empty() ? out : out + "\n]";
  };
  return key;
}

}  // namespace

void add_url_keys(std::vector<ConfigKey>& keys) {
  for (const NameList& list : kLists)
    keys.push_back(names_key(list));
  keys.push_back(hosts_key());
}

}  // namespace trawl
