// What several kinds are made of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "crawler/config/config_kinds.h"

namespace trawl::config_kind {

// True if `text` has a control character, of C0, C1 or DEL; what is not UTF-8 counts as bytes.
bool has_control_character(std::string_view text);

// A path as TOML, made absolute; empty if it is.
std::string toml_path(const std::filesystem::path& value);

// An array whose elements are read one by one: `read(element, complain)` gives a value, or
// complains and gives nothing. A single string or table is an array of one. `write_all(values)`
// writes the whole.
template <class E, class Read, class WriteAll>
Kind<std::vector<E>> array(std::string type, Read read, WriteAll write_all) {
  Kind<std::vector<E>> kind{std::move(type), {}, {}, write_all};
  kind.read = [read, type = kind.type](
                  const toml::node& node,
                  const ConfigComplaint& complain) -> std::optional<std::vector<E>> {
    const toml::array* elements = node.as_array();
    std::vector<E> values;
    if (elements == nullptr && (node.is_string() || node.is_table())) {
      auto value = read(node, complain);
      if (!value) return std::nullopt;
      values.push_back(std::move(*value));
      return values;
    }
    if (elements == nullptr) {
      complain(node, mismatch(type, "", node));
      return std::nullopt;
    }
    for (const toml::node& element : *elements) {
      if (auto value = read(element, complain)) values.push_back(std::move(*value));
    }
    return values;
  };
  return kind;
}

// `read(table, complain)` gives a rule, or complains and gives nothing; `to_text(rule)` writes it
// as an inline table.
template <class R>
Kind<std::vector<R>> tables(const std::string& type,
                            std::optional<R> (*read)(const toml::table&, const ConfigComplaint&),
                            std::string (*to_text)(const R&)) {
  const auto read_one = [type, read](const toml::node& element,
                                     const ConfigComplaint& complain) -> std::optional<R> {
    if (const toml::table* table = element.as_table()) return read(*table, complain);
    complain(element, mismatch(type, "", element));
    return std::nullopt;
  };
  return array<R>(type, read_one, [to_text](const std::vector<R>& rules) {
    std::string out;
    for (const R& rule : rules)
      out += fmt::format("\n  {},", to_text(rule));
    return out.empty() ? std::string("[]") : fmt::format("[{}\n]", out);
  });
}

// Calls `read` with each element of an array, or with a single value; whether all of them were
// right.
template <class Read>
bool read_each(const toml::node& node, Read read) {
  const toml::array* several = node.as_array();
  if (several == nullptr) return read(node);
  bool good = true;
  for (const toml::node& element : *several)
    good &= read(element);
  return good;
}

// A value of another kind at `name`. False if it is wrong, after a complaint.
template <class V, class T>
bool read_optional(const toml::table& table, std::string_view name, const Kind<V>& kind,
                   std::optional<T>& value, const ConfigComplaint& complain) {
  const toml::node* node = table.get(name);
  if (node == nullptr) return true;
  const auto read = kind.read(*node, [&](const toml::node& where, const std::string& message) {
    complain(where, fmt::format("{}: {}", name, message));
  });
  if (read) value = static_cast<T>(*read);
  return read.has_value();
}

// Of a rule, and of a seed.
inline constexpr std::int64_t kMaxPriority = 1000;

// Complains of each name in `table` that is not in `known`; true if there is none.
bool only_names(const toml::table& table, std::initializer_list<std::string_view> known,
                const ConfigComplaint& complain);

}  // namespace trawl::config_kind
