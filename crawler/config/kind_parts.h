// What several kinds are made of.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace trawl::config_kind
