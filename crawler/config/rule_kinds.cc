// Kinds of arrays of small tables, such as { match = "*/news/*", interval = "2h" }.
#include <algorithm>
#include <initializer_list>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crawler/config/config_kinds.h"
#include "crawler/config/config_values.h"
#include "crawler/config/host_places.h"
#include "crawler/config/host_requests.h"
#include "crawler/config/kind_parts.h"
#include "crawler/config/nearest_name.h"
#include "crawler/patterns/url_pattern.h"

namespace trawl::config_kind {

bool only_names(const toml::table& table, std::initializer_list<std::string_view> known,
                const ConfigComplaint& complain) {
  bool all_known = true;
  for (auto&& [name, value] : table) {
    if (std::ranges::find(known, name.str()) != known.end()) continue;
    all_known = false;
    const std::string_view nearest = nearest_name(name.str(), {known.begin(), known.size()});
    complain(value, fmt::format("unknown name {}{}; known are {}", shown(name.str()),
                                nearest.empty() ? "" : fmt::format(" (\"{}\"?)", nearest),
                                fmt::join(known, ", ")));
  }
  return all_known;
}

namespace {

constexpr std::size_t kMaxRuleName = 200;  // bytes

// The string at `name`; complains of anything else. Nothing if there is none, too.
std::optional<std::string> text_at(const toml::table& table, std::string_view name,
                                   const ConfigComplaint& complain) {
  const toml::node* node = table.get(name);
  if (node == nullptr) return std::nullopt;
  auto text = node->value_exact<std::string>();
  if (!text) complain(*node, fmt::format("{}: {}", name, mismatch("a string", "", *node)));
  return text;
}

// The kinds at "kind", one or an array of them. False if there is something else, which it
// complains of.
bool read_found_kinds(const toml::table& table, FoundKinds& kinds,
                      const ConfigComplaint& complain) {
  const toml::node* node = table.get("kind");
  if (node == nullptr) return true;
  const auto read_one = [&](const toml::node& element) {
    const auto text = element.value_exact<std::string_view>();
    if (const auto found = text ? find_found_as(*text) : std::nullopt) {
      kinds.add(*found);
      return true;
    }
    const auto nearest = text ? nearest_name(*text, kFoundAsNames) : std::string_view();
    complain(element,
             mismatch(fmt::format("kind: one of {}", fmt::join(kFoundAsNames, ", ")), "", element,
                      nearest.empty() ? "" : fmt::format("did you mean \"{}\"?", nearest)));
    return false;
  };
  if (const toml::array* several = node->as_array(); several != nullptr && several->empty()) {
    complain(*node, "kind: expected at least one kind; leave it out for all");
    return false;
  }
  return read_each(*node, read_one);
}

std::string write_found_kinds(FoundKinds kinds) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kFoundAsNames.size(); ++i) {
    if (kinds.has(static_cast<FoundAs>(i))) names.push_back(toml_string(kFoundAsNames[i]));
  }
  return names.size() == 1 ? names.front() : fmt::format("[{}]", fmt::join(names, ", "));
}

// A URL pattern at `name`, which is required.
std::optional<std::string> pattern_at(const toml::table& table, std::string_view name,
                                      const ConfigComplaint& complain) {
  const toml::node* node = table.get(name);
  if (node == nullptr) {
    complain(table, fmt::format("{} is missing: a URL pattern such as \"*/news/*\"", name));
    return std::nullopt;
  }
  auto text = text_at(table, name, complain);
  if (!text) return std::nullopt;
  const auto pattern = UrlPattern::parse(*text);
  if (pattern) return text;
  complain(*node, fmt::format("{}: {}", name, pattern.error().message));
  return std::nullopt;
}

std::optional<PriorityRuleText> read_priority(const toml::table& table,
                                              const ConfigComplaint& complain) {
  if (!only_names(table, {"match", "priority"}, complain)) return std::nullopt;
  auto pattern = pattern_at(table, "match", complain);
  const toml::node* node = table.get("priority");
  const auto* number = node == nullptr ? nullptr : node->as_integer();
  if (number == nullptr || **number < -kMaxPriority || **number > kMaxPriority) {
    const std::string range = fmt::format("{} to {}", -kMaxPriority, kMaxPriority);
    if (node == nullptr) {
      complain(table, "priority is missing: a whole number, " + range);
    } else {
      complain(*node, "priority: " + mismatch("a whole number", range, *node));
    }
    return std::nullopt;
  }
  if (!pattern) return std::nullopt;
  return PriorityRuleText{std::move(*pattern), static_cast<std::int32_t>(**number)};
}

std::string write_priority(const PriorityRuleText& rule) {
  return fmt::format("{{ match = {}, priority = {} }}", toml_string(rule.pattern), rule.priority);
}

std::optional<ScopeRuleText> read_scope_rule(const toml::table& table,
                                             const ConfigComplaint& complain) {
  if (!only_names(table, {"include", "exclude", "kind", "name"}, complain)) return std::nullopt;
  const bool include = table.contains("include");
  if (include == table.contains("exclude")) {
    complain(table, "expected either include or exclude, a URL pattern such as \"*/news/*\"");
    return std::nullopt;
  }
  auto pattern = pattern_at(table, include ? "include" : "exclude", complain);
  auto name = text_at(table, "name", complain);
  if (name && (name->size() > kMaxRuleName || has_control_character(*name))) {
    complain(*table.get("name"),
             fmt::format("name: expected at most {} bytes without control characters; found {}",
                         kMaxRuleName, describe(*table.get("name"))));
    return std::nullopt;
  }
  FoundKinds kinds;
  const bool good = read_found_kinds(table, kinds, complain);
  if (!good || !pattern || (!name && table.contains("name"))) return std::nullopt;
  return ScopeRuleText{include, std::move(*pattern), std::move(name).value_or(""), kinds};
}

std::string write_scope_rule(const ScopeRuleText& rule) {
  std::string out =
      fmt::format("{{ {} = {}", rule.include ? "include" : "exclude", toml_string(rule.pattern));
  if (!rule.kinds.empty()) out += ", kind = " + write_found_kinds(rule.kinds);
  if (!rule.name.empty()) out += ", name = " + toml_string(rule.name);
  return out + " }";
}

const Kind<std::optional<milliseconds>>& rule_interval() {
  static const auto kind = interval();
  return kind;
}

std::optional<RecrawlRuleText> read_recrawl_rule(const toml::table& table,
                                                 const ConfigComplaint& complain) {
  if (!only_names(table, {"match", "interval"}, complain)) return std::nullopt;
  auto pattern = pattern_at(table, "match", complain);
  const toml::node* node = table.get("interval");
  if (node == nullptr) {
    complain(table, fmt::format("interval is missing: {}", rule_interval().type));
    return std::nullopt;
  }
  const auto interval =
      rule_interval().read(*node, [&complain](const toml::node& where, const std::string& message) {
        complain(where, "interval: " + message);
      });
  if (!pattern || !interval) return std::nullopt;
  return RecrawlRuleText{std::move(*pattern), *interval};
}

std::string write_recrawl_rule(const RecrawlRuleText& rule) {
  return fmt::format("{{ match = {}, interval = {} }}", toml_string(rule.pattern),
                     rule_interval().write(rule.interval));
}

// False if there is something else at `name` than a boolean, which it complains of.
bool read_flag(const toml::table& table, std::string_view name, std::optional<bool>& flag,
               const ConfigComplaint& complain) {
  const toml::node* node = table.get(name);
  if (node == nullptr) return true;
  flag = node->value_exact<bool>();
  if (!flag) complain(*node, fmt::format("{}: expected true or false", name));
  return flag.has_value();
}

// The same for a text. No message shows it: it may be a secret.
bool read_secret(const toml::table& table, std::string_view name, std::string& text,
                 const ConfigComplaint& complain) {
  const toml::node* node = table.get(name);
  if (node == nullptr) return true;
  const auto value = node->value_exact<std::string_view>();
  if (value) {
    text = *value;
  } else {
    complain(*node, fmt::format("{}: expected a string", name));
  }
  return value.has_value();
}

bool read_headers(const toml::table& table, std::vector<std::string>& headers,
                  const ConfigComplaint& complain) {
  const toml::node* node = table.get("headers");
  if (node == nullptr) return true;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    complain(*node, "headers: expected an array of headers such as [\"Accept-Language: en\"]");
    return false;
  }
  bool good = true;
  for (const toml::node& element : *array) {
    const auto text = element.value_exact<std::string_view>();
    const auto valid = text ? HostRequests::check_header(*text)
                            : error(ErrorCode::kInvalidArgument, "expected a string");
    if (valid) {
      headers.emplace_back(*text);
    } else {
      complain(element, "headers: " + valid.error().message);
      good = false;
    }
  }
  return good;
}

std::optional<HostRequestsText> read_host_requests(const toml::table& table,
                                                   const ConfigComplaint& complain) {
  HostRequestsText text;
  std::string proxy;
  bool good = only_names(
      table, {"host", "headers", "basic_auth", "bearer_token", "cookies", "referer", "proxy"},
      complain);
  good &= read_secret(table, "host", text.host, complain);
  good &= read_headers(table, text.headers, complain);
  good &= read_secret(table, "basic_auth", text.basic_auth, complain);
  good &= read_secret(table, "bearer_token", text.bearer_token, complain);
  good &= read_flag(table, "cookies", text.cookies, complain);
  good &= read_flag(table, "referer", text.referer, complain);
  good &= read_secret(table, "proxy", proxy, complain);
  if (table.contains("proxy")) text.proxy = std::move(proxy);
  if (!good) return std::nullopt;
  if (const auto valid = HostRequests::check(text); !valid) {
    complain(table, valid.error().message);
    return std::nullopt;
  }
  return text;
}

std::string write_host_requests(const HostRequestsText& text) {
  std::string out = "{ host = " + toml_string(text.host);
  if (!text.headers.empty()) {
    std::vector<std::string> headers;
    std::ranges::transform(text.headers, std::back_inserter(headers), toml_string);
    out += fmt::format(", headers = [{}]", fmt::join(headers, ", "));
  }
  if (!text.basic_auth.empty()) out += ", basic_auth = " + toml_string(text.basic_auth);
  if (!text.bearer_token.empty()) out += ", bearer_token = " + toml_string(text.bearer_token);
  if (text.cookies) out += fmt::format(", cookies = {}", *text.cookies);
  if (text.referer) out += fmt::format(", referer = {}", *text.referer);
  if (text.proxy) out += ", proxy = " + toml_string(*text.proxy);
  return out + " }";
}

std::optional<HostPolitenessText> read_host_politeness(const toml::table& table,
                                                       const ConfigComplaint& complain) {
  HostPolitenessText text;
  std::optional<bool> own;
  bool good = only_names(
      table, {"host", "delay", "connections", "respect_robots", "max_pages", "max_urls", "own"},
      complain);
  if (auto host = text_at(table, "host", complain)) {
    text.host = std::move(*host);
  } else {
    if (good && !table.contains("host"))
      complain(table, "host is missing: a host, or \".example.com\" for it and its subdomains");
    good = false;
  }
  using namespace std::chrono_literals;
  static const auto delays = duration(0ms, 24h);
  static const auto connections = integer("requests", 1, 1024);
  static const auto pages = integer("fetches", 1);
  static const auto urls = integer("URLs", 1);
  good &= read_optional(table, "delay", delays, text.delay, complain);
  good &= read_optional(table, "connections", connections, text.connections, complain);
  good &= read_flag(table, "respect_robots", text.respect_robots, complain);
  good &= read_optional(table, "max_pages", pages, text.max_pages, complain);
  good &= read_optional(table, "max_urls", urls, text.max_urls, complain);
  good &= read_flag(table, "own", own, complain);
  text.own = own.value_or(false);
  if (!good) return std::nullopt;
  if (const auto host = HostPlaces::normal(text.host); !host) {
    complain(table, host.error().message);
    return std::nullopt;
  }
  return text;
}

std::string write_host_politeness(const HostPolitenessText& text) {
  std::string out = "{ host = " + toml_string(text.host);
  if (text.delay) out += fmt::format(", delay = \"{}\"", format_duration(*text.delay));
  if (text.connections) out += fmt::format(", connections = {}", *text.connections);
  if (text.respect_robots) out += fmt::format(", respect_robots = {}", *text.respect_robots);
  if (text.max_pages) out += fmt::format(", max_pages = {}", *text.max_pages);
  if (text.max_urls) out += fmt::format(", max_urls = {}", *text.max_urls);
  if (text.own) out += ", own = true";
  return out + " }";
}

}  // namespace

Kind<std::vector<HostPolitenessText>> host_politeness() {
  auto kind = tables(
      "tables [[politeness.host]] with a host and any of delay, connections, respect_robots, "
      "max_pages, max_urls, own",
      read_host_politeness, write_host_politeness);
  kind.read = [read = kind.read](const toml::node& node, const ConfigComplaint& complain) {
    auto hosts = read(node, complain);
    HostPlaces seen;
    for (const HostPolitenessText& text : hosts.value_or(std::vector<HostPolitenessText>())) {
      const auto host = HostPlaces::normal(text.host);
      if (host && !seen.add(*host, 0))
        complain(node, fmt::format("the host {} is named twice", *host));
    }
    return hosts;
  };
  return kind;
}

Kind<std::vector<PriorityRuleText>> priorities() {
  return tables("an array of { match = URL pattern, priority = -1000 to 1000 }", read_priority,
                write_priority);
}

Kind<std::vector<ScopeRuleText>> scope_rules() {
  return tables("an array of { include or exclude = URL pattern, kind = \"...\", name = \"...\" }",
                read_scope_rule, write_scope_rule);
}

Kind<std::vector<RecrawlRuleText>> recrawl_rules() {
  return tables("an array of { match = URL pattern, interval = \"1d\" or \"never\" }",
                read_recrawl_rule, write_recrawl_rule);
}

Kind<std::vector<HostRequestsText>> host_requests() {
  auto kind = tables(
      "tables [[fetch.host]] with a host and any of headers, basic_auth (\"user:password\"), "
      "bearer_token, cookies, referer, proxy",
      read_host_requests, write_host_requests);
  kind.read = [read = kind.read](const toml::node& node, const ConfigComplaint& complain) {
    auto hosts = read(node, complain);
    // Each of them is right here: what is left are two for one host.
    if (const auto valid =
            HostRequests::check_hosts(hosts.value_or(std::vector<HostRequestsText>()));
        !valid) {
      complain(node, valid.error().message);
    }
    return hosts;
  };
  return kind;
}

}  // namespace trawl::config_kind
