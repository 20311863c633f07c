// The kinds of values that config keys have: what a value may be, how it is read from TOML, and how
// it is written. A row of config_keys.cc binds a kind to a field of CrawlConfig.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "crawler/config/config_keys.h"

namespace trawl::config_kind {

using std::chrono::milliseconds;
using Strings = std::vector<std::string>;

template <class V>
struct Kind {
  std::string type;
  std::string range;
  // Nothing if the value is wrong, after a complaint.
  std::function<std::optional<V>(const toml::node&, const ConfigComplaint&)> read;
  // Empty for a value that stands for "unset".
  std::function<std::string(const V&)> write;
  std::vector<ConfigChoice> choices = {};
};

// Single values. `unit`: "pages". Without `most`, any number from `least` on.
Kind<std::int64_t> integer(std::string_view unit, std::int64_t least,
                           std::int64_t most = std::numeric_limits<std::int64_t>::max());
Kind<double> probability();        // above 0 and below 1
Kind<double> factor(double most);  // from 0
Kind<bool> boolean();
Kind<milliseconds> duration(milliseconds least, milliseconds most);
Kind<std::uint64_t> size(std::uint64_t least, std::uint64_t most);  // bytes
Kind<std::string> text(std::size_t least, std::size_t most);        // bytes, of one line
Kind<std::filesystem::path> path();                                 // an empty string unsets it
Kind<std::optional<milliseconds>> interval();                       // a duration or "never"

// Single values of one key.
Kind<ScopeType> scope_type();
Kind<std::filesystem::path> seed_file();
Kind<std::string> robots_token();
Kind<std::string> proxy();
Kind<std::string> warc_prefix();
Kind<std::string> listen_address();  // empty unsets it

// Arrays, whose elements are checked one by one: each bad one is named with its place.
Kind<Strings> seeds();
Kind<Strings> sitemap_urls();
Kind<Strings> patterns();
Kind<Strings> media_types();
Kind<Strings> headers();
Kind<Strings> header_names();
Kind<Strings> dns_servers();
Kind<std::vector<std::filesystem::path>> paths();
Kind<Strings> file_patterns();
Kind<LinkKinds> link_kinds();
Kind<GuessSources> guess_sources();

// Arrays of small tables.
Kind<std::vector<SeedText>> seed_settings();
Kind<std::vector<PriorityRuleText>> priorities();
Kind<std::vector<ScopeRuleText>> scope_rules();
Kind<std::vector<ResponseRuleText>> response_rules();
Kind<std::vector<RecrawlRuleText>> recrawl_rules();
Kind<std::vector<HostRequestsText>> host_requests();
Kind<std::vector<LoginText>> logins();
Kind<std::vector<HostPolitenessText>> host_politeness();

// [log]
Kind<std::string> log_level();
Kind<std::vector<LogRoomLevel>> log_levels();

// [cluster]
Kind<Strings> redis_nodes();
Kind<std::string> crawl_name();
Kind<std::string> short_text(std::size_t most);  // empty unsets it

// [url]: a list of names, by its key; and [[url.host]].
Kind<std::optional<Strings>> url_names(std::string_view leaf);
Kind<std::vector<HostRulesText>> url_hosts();

template <class Enum>
struct Word {
  std::string_view text;
  Enum value;
  std::string_view meaning = {};
};

std::string type_of_choices(const std::vector<ConfigChoice>& choices);
// `did you mean "host"?`, or nothing if no word is near.
std::string nearest_choice(const std::vector<ConfigChoice>& choices, const toml::node& node);
// "expected <type>, <range>; found <node> (<why>)".
std::string mismatch(std::string_view type, std::string_view range, const toml::node& node,
                     std::string_view why = {});

// One of a list of words, each standing for a value of the field.
template <class Enum>
Kind<Enum> one_of(std::initializer_list<Word<Enum>> words) {
  Kind<Enum> kind;
  for (const Word<Enum>& word : words)
    kind.choices.push_back({word.text, word.meaning});
  kind.type = type_of_choices(kind.choices);
  const std::vector<Word<Enum>> all(words);
  kind.read = [all, type = kind.type, choices = kind.choices](
                  const toml::node& node, const ConfigComplaint& complain) -> std::optional<Enum> {
    const auto text = node.value_exact<std::string_view>();
    for (const Word<Enum>& word : all) {
      if (text && equal_in_any_case(*text, word.text)) return word.value;
    }
    complain(node, mismatch(type, "", node, nearest_choice(choices, node)));
    return std::nullopt;
  };
  kind.write = [all](const Enum& value) -> std::string {
    for (const Word<Enum>& word : all) {
      if (word.value == value) return '"' + std::string(word.text) + '"';
    }
    return {};
  };
  return kind;
}

// The key `name` with values of this kind in a field, which may be narrower than V or an optional.
template <class V, class T>
ConfigKey row(std::string_view name, T& (*field)(CrawlConfig&), Kind<V> kind, std::string_view text,
              std::string_view example = {}) {
  const auto shared = std::make_shared<const Kind<V>>(std::move(kind));
  ConfigKey key{name, shared->type, shared->range, shared->choices, text, example, {}, {}};
  key.read = [field, shared](const toml::node& node, CrawlConfig& config,
                             const ConfigComplaint& complain) {
    auto value = shared->read(node, complain);
    if (!value) return;
    if constexpr (std::is_same_v<T, V>) {
      field(config) = std::move(*value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      field(config) = static_cast<T>(*value);
    } else {
      field(config) = static_cast<typename T::value_type>(*value);
    }
  };
  key.write = [field, shared](const CrawlConfig& config) -> std::string {
    const T& value = field(const_cast<CrawlConfig&>(config));  // which is only read
    if constexpr (std::is_same_v<T, V>) {
      return shared->write(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return shared->write(static_cast<V>(value));
    } else {
      return value ? shared->write(static_cast<V>(*value)) : std::string();
    }
  };
  return key;
}

}  // namespace trawl::config_kind
