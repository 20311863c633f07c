// One function for each type of config key. Each makes the table's entry from a name, a range, the
// field (a function from a CrawlConfig to a reference into it) and what the key means.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crawler/config/config_keys.h"
#include "crawler/config/config_values.h"
#include "crawler/config/home_path.h"

namespace trawl::config_key {

inline std::string mismatch(std::string_view type, std::string_view range, const toml::node& node,
                            std::string_view why = {}) {
  return fmt::format("expected {}{}{}; found {}{}{}{}", type, range.empty() ? "" : ", ", range,
                     describe(node), why.empty() ? "" : " (", why, why.empty() ? "" : ")");
}

// A key whose value is converted as a whole. `from_node(node, why)` gives an optional value, and
// may say in `why` what is wrong with it; `to_text(value)` the value as TOML, empty for unset.
template <class Field, class FromNode, class ToText>
ConfigKey scalar(std::string name, std::string type, std::string range, Field field,
                 std::string doc, FromNode from_node, ToText to_text) {
  ConfigKey key{std::move(name), std::move(type), std::move(range), std::move(doc), {}, {}};
  key.read = [field, from_node, type = key.type, range = key.range](
                 const toml::node& node, CrawlConfig& config, const ConfigComplaint& complain) {
    std::string why;
    const auto value = from_node(node, why);
    if (!value) return complain(node, mismatch(type, range, node, why));
    using Target = std::remove_cvref_t<decltype(field(config))>;
    if constexpr (std::is_arithmetic_v<Target>) {
      field(config) = static_cast<Target>(*value);
    } else {
      field(config) = *value;
    }
  };
  key.write = [field, to_text](const CrawlConfig& config) -> std::string {
    const auto& value = field(config);
    if constexpr (requires { value.has_value(); }) {
      return value ? to_text(*value) : std::string();
    } else {
      return to_text(value);
    }
  };
  return key;
}

// `unit`: "pages". `most` may be left at its default if any number will do.
template <class Field>
ConfigKey integer(std::string name, const std::string& unit, std::int64_t least, std::int64_t most,
                  Field field, std::string doc) {
  const bool open = most == std::numeric_limits<std::int64_t>::max();
  return scalar(
      std::move(name), "a whole number of " + unit,
      open ? fmt::format("at least {}", least) : fmt::format("{} to {}", least, most), field,
      std::move(doc),
      [least, most](const toml::node& node, std::string&) -> std::optional<std::int64_t> {
        const auto* value = node.as_integer();
        if (value == nullptr || **value < least || **value > most) return std::nullopt;
        return **value;
      },
      [](const auto& value) { return fmt::format("{}", value); });
}

// Above 0 and below 1.
template <class Field>
ConfigKey probability(std::string name, Field field, std::string doc) {
  return scalar(
      std::move(name), "a number such as 1e-6", "above 0 and below 1", field, std::move(doc),
      [](const toml::node& node, std::string&) -> std::optional<double> {
        const auto* value = node.as_floating_point();
        if (value == nullptr || !(**value > 0 && **value < 1)) return std::nullopt;
        return **value;
      },
      [](double value) {
        const std::string text = fmt::format("{}", value);
        // TOML takes a number without a point or an exponent for an integer.
        return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
      });
}

// From 0 to `most`, whole or not.
template <class Field>
ConfigKey factor(std::string name, double most, Field field, std::string doc) {
  return scalar(
      std::move(name), "a number such as 2 or 1.5", fmt::format("0 to {}", most), field,
      std::move(doc),
      [most](const toml::node& node, std::string&) -> std::optional<double> {
        const auto value = node.value<double>();
        if (!node.is_number() || !value || !(*value >= 0 && *value <= most)) return std::nullopt;
        return *value == 0 ? 0 : *value;  // no negative zero
      },
      [](double value) { return fmt::format("{}", value); });
}

template <class Field>
ConfigKey boolean(std::string name, Field field, std::string doc) {
  return scalar(
      std::move(name), "true or false", "", field, std::move(doc),
      [](const toml::node& node, std::string&) { return node.value_exact<bool>(); },
      [](bool value) -> std::string { return value ? "true" : "false"; });
}

template <class Field>
ConfigKey duration(std::string name, std::chrono::milliseconds least,
                   std::chrono::milliseconds most, Field field, std::string doc) {
  return scalar(
      std::move(name), "a duration such as \"500ms\", \"1.5s\" or \"2m\"",
      fmt::format("\"{}\" to \"{}\"", format_duration(least), format_duration(most)), field,
      std::move(doc),
      [least, most](const toml::node& node,
                    std::string& why) -> std::optional<std::chrono::milliseconds> {
        const auto text = node.value_exact<std::string_view>();
        if (!text) return std::nullopt;
        const auto value = parse_duration(*text);
        if (!value) {
          why = value.error();
          return std::nullopt;
        }
        if (*value < least || *value > most) return std::nullopt;
        return *value;
      },
      [](std::chrono::milliseconds value) { return '"' + format_duration(value) + '"'; });
}

// A size in bytes.
template <class Field>
ConfigKey size(std::string name, std::uint64_t least, std::uint64_t most, Field field,
               std::string doc) {
  return scalar(
      std::move(name), "a size such as \"10MiB\", \"1GB\" or a number of bytes",
      fmt::format("\"{}\" to \"{}\"", format_size(least), format_size(most)), field, std::move(doc),
      [least, most](const toml::node& node, std::string& why) -> std::optional<std::uint64_t> {
        std::uint64_t bytes = 0;
        if (const auto text = node.value_exact<std::string_view>()) {
          const auto value = parse_size(*text);
          if (!value) {
            why = value.error();
            return std::nullopt;
          }
          bytes = *value;
        } else if (const auto* number = node.as_integer(); number != nullptr && **number >= 0) {
          bytes = static_cast<std::uint64_t>(**number);
        } else {
          return std::nullopt;
        }
        if (bytes < least || bytes > most) return std::nullopt;
        return bytes;
      },
      [](std::uint64_t value) { return '"' + format_size(value) + '"'; });
}

// True if `text` has a control character, of C0, C1 or DEL; what is not UTF-8 counts as bytes.
bool has_control_character(std::string_view text);

// A text of one line.
template <class Field>
ConfigKey text(std::string name, std::size_t least, std::size_t most, Field field,
               std::string doc) {
  return scalar(
      std::move(name), "a string",
      fmt::format("{} to {} bytes without control characters", least, most), field, std::move(doc),
      [least, most](const toml::node& node, std::string&) -> std::optional<std::string> {
        const auto value = node.value_exact<std::string_view>();
        if (!value || value->size() < least || value->size() > most ||
            has_control_character(*value)) {
          return std::nullopt;
        }
        return std::string(*value);
      },
      [](const std::string& value) { return toml_string(value); });
}

// A path as TOML, made absolute; empty if it is.
inline std::string toml_path(const std::filesystem::path& value) {
  if (value.empty()) return {};
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(value, failed);
  return toml_string((failed ? value : absolute).string());
}

// A file or directory. An empty string unsets it.
template <class Field>
ConfigKey path(std::string name, Field field, std::string doc) {
  return scalar(
      std::move(name), "a path", "", field, std::move(doc),
      [](const toml::node& node, std::string& why) -> std::optional<std::filesystem::path> {
        const auto text = node.value_exact<std::string_view>();
        if (!text) return std::nullopt;
        if (text->find('\0') != std::string_view::npos) {
          why = "a path holds no NUL byte";
          return std::nullopt;
        }
        auto expanded = expand_home(*text);
        if (expanded) return std::move(*expanded);
        why = expanded.error();
        return std::nullopt;
      },
      toml_path);
}

template <class Enum>
struct Word {
  std::string_view text;
  Enum value;
};

// One of a list of words, each standing for a value of the field.
template <class Enum, std::size_t kCount, class Field>
ConfigKey one_of(std::string name, const std::array<Word<Enum>, kCount>& words, Field field,
                 std::string doc) {
  std::array<std::string, kCount> quoted;
  for (std::size_t i = 0; i < kCount; ++i)
    quoted[i] = fmt::format("\"{}\"", words[i].text);
  return scalar(
      std::move(name), fmt::format("one of {}", fmt::join(quoted, ", ")), "", field, std::move(doc),
      [words](const toml::node& node, std::string&) -> std::optional<Enum> {
        const auto text = node.value_exact<std::string_view>();
        for (const auto& word : words) {
          if (text && *text == word.text) return word.value;
        }
        return std::nullopt;
      },
      [words](const Enum& value) -> std::string {
        for (const auto& word : words) {
          if (word.value == value) return fmt::format("\"{}\"", word.text);
        }
        return {};
      });
}

}  // namespace trawl::config_key
