// The table of config keys: all that the reader, the writer, the messages and the docs know of
// them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "crawler/config/crawl_config.h"

namespace trawl {

// Reports that the value `where` is not valid for the key; the message follows the key's name.
using ConfigComplaint = std::function<void(const toml::node& where, const std::string& message)>;

// One of the words that a key may be set to.
struct ConfigChoice {
  std::string_view word;
  std::string_view meaning;  // may be empty
};

struct ConfigKey {
  std::string_view name;              // "table.key"
  std::string type;                   // "a duration such as ...", for messages and docs
  std::string range;                  // "1 to 1024"; empty if any value is allowed
  std::vector<ConfigChoice> choices;  // empty if the key is not one of a list of words
  std::string_view text;              // what the key does: whole sentences, for users
  std::string_view example;           // a value as TOML, of a key that is unset by default

  // Sets the key's field from `value`, or reports an error.
  std::function<void(const toml::node& value, CrawlConfig&, const ConfigComplaint&)> read;
  // The field as a TOML value; empty if it is unset.
  std::function<std::string(const CrawlConfig&)> write;

  std::string_view table() const { return name.substr(0, name.find('.')); }
  std::string_view leaf() const { return name.substr(name.find('.') + 1); }
};

// All keys, grouped by table, in the order in which they are written.
std::span<const ConfigKey> config_keys();

// Null if there is no key of this name.
const ConfigKey* find_config_key(std::string_view name);

// True for "crawl", "scope", ...
bool is_config_table(std::string_view name);

}  // namespace trawl
