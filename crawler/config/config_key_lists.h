// Keys whose value is an array: of texts, each checked by itself, or of small tables such as
// { match = "...", interval = "1d" }. Each element that is wrong is named with its place.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trawl/result.h"

#include "crawler/config/config_key_types.h"
#include "crawler/config/config_keys.h"
#include "crawler/config/config_values.h"

namespace trawl::config_key {

// As one line, or if there are many as a line each.
inline std::string toml_array(const std::vector<std::string>& elements) {
  std::size_t length = 0;
  for (const std::string& element : elements)
    length += element.size() + 2;
  if (length <= 80) return fmt::format("[{}]", fmt::join(elements, ", "));
  return fmt::format("[\n  {},\n]", fmt::join(elements, ",\n  "));
}

// `check(text)` gives what the element means for the field, or fails with an Error that says why
// not; `to_text(element)` writes it, as TOML.
template <class Field, class Check, class ToText>
ConfigKey list(std::string name, std::string type, std::string doc, Field field, Check check,
               ToText to_text) {
  ConfigKey key{std::move(name), std::move(type), {}, std::move(doc), {}, {}};
  key.read = [field, check, type = key.type](const toml::node& node, CrawlConfig& config,
                                             const ConfigComplaint& complain) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return complain(node, mismatch(type, "", node));
    auto& elements = field(config);
    elements.clear();
    for (const toml::node& element : *array) {
      const auto text = element.value_exact<std::string_view>();
      if (!text) {
        complain(element, mismatch(type, "", element));
      } else if (auto value = check(*text)) {
        elements.push_back(std::move(*value));
      } else {
        complain(element, value.error().message);
      }
    }
  };
  key.write = [field, to_text](const CrawlConfig& config) {
    std::vector<std::string> texts;
    for (const auto& element : field(config))
      texts.push_back(to_text(element));
    return toml_array(texts);
  };
  return key;
}

// `read(table, complain)` gives a rule, or complains and gives nothing; `to_text(rule)` writes it,
// as a TOML inline table.
template <class Field, class Read, class ToText>
ConfigKey tables(std::string name, std::string type, std::string doc, Field field, Read read,
                 ToText to_text) {
  ConfigKey key{std::move(name), std::move(type), {}, std::move(doc), {}, {}};
  key.read = [field, read, type = key.type](const toml::node& node, CrawlConfig& config,
                                            const ConfigComplaint& complain) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return complain(node, mismatch(type, "", node));
    auto& rules = field(config);
    rules.clear();
    for (const toml::node& element : *array) {
      const toml::table* table = element.as_table();
      if (table == nullptr) {
        complain(element, mismatch(type, "", element));
      } else if (auto rule = read(*table, complain)) {
        rules.push_back(std::move(*rule));
      }
    }
  };
  key.write = [field, to_text](const CrawlConfig& config) {
    std::string out;
    for (const auto& rule : field(config))
      out += fmt::format("\n  {},", to_text(rule));
    return out.empty() ? std::string("[]") : fmt::format("[{}\n]", out);
  };
  return key;
}

// Complains of each name in `table` that is none of `known`; true if there is none.
bool only_names(const toml::table& table, std::initializer_list<std::string_view> known,
                const ConfigComplaint& complain);

// The text at `name`; complains if there is something else. Nothing if there is nothing, too.
std::optional<std::string> text_at(const toml::table& table, std::string_view name,
                                   const ConfigComplaint& complain);

// A pattern of URLs at `name`, which must be there.
std::optional<std::string> pattern_at(const toml::table& table, std::string_view name,
                                      const ConfigComplaint& complain);

// For list(): an element that is a URL pattern.
Result<std::string> check_pattern(std::string_view text);
// For list(): an element that is a content type; gives it in lower case.
Result<std::string> check_media_type(std::string_view text);

inline constexpr std::string_view kPatternsType =
    "an array of URL patterns such as [\"*/calendar/*\", \"re:[?&]sid=\"]";
inline constexpr std::string_view kMediaTypesType =
    "an array of content types such as [\"text/html\", \"image/*\"]";

}  // namespace trawl::config_key
